// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"cmp"
	"net/http"
	"strings"
)

// jsonPatchStory changes an object by JSON patches.
func jsonPatchStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(2) {
		body := Array()
		for range 1 + g.IntN(3) {
			body.Append(g.operation(kind))
		}
		if g.chance(0.05) {
			body = pick(g, Object(), Null(), Array(), Array(Null()), String("x"))
		}
		steps = append(steps, g.writing(patch(typeJSONPatch, body)))
	}
	return append(steps, get(), g.view(get()))
}

// operation returns one of a JSON patch.
func (g *generator) operation(kind Kind) *Value {
	path, schema := g.pointer(kind.Schema)
	if g.chance(0.2) {
		odd := oddMetadata()
		name := pick(g, sortedKeys(odd)...)
		value := pick(g, odd[name]...)
		if value == "" {
			return Object("op", "remove", "path", "/metadata/"+name)
		}
		return Object("op", pick(g, "add", "replace"), "path", "/metadata/"+name, "value", must(value))
	}
	g.left, g.tries = pick(g, 10, 40), allTries
	operation := Object("op", pick(g, "add", "add", "add", "replace", "replace", "remove", "test", "move", "copy"), "path", path)
	switch operation.Get("op").literal {
	case `"move"`, `"copy"`:
		from, _ := g.pointer(kind.Schema)
		operation.Set("from", String(from))
	case `"remove"`:
	default:
		operation.Set("value", g.value(schema, 1))
	}
	if g.chance(g.wild) {
		switch g.IntN(4) {
		case 0:
			operation.Remove(pick(g, "op", "path", "value"))
		case 1:
			operation.Set("op", String("nonsense"))
		case 2:
			operation.Set("path", pick(g, String(""), String("results"), String("/apiVersion"), String("/kind"), String("/metadata/name"), Null(), String("/~2")))
		default:
			operation.Set("unknown", Null())
		}
	}
	return operation
}

// pointer returns the path of some field as JSON patches write it, and the field's schema.
func (g *generator) pointer(schema *Schema) (string, *Schema) {
	path := ""
	for depth := 0; ; depth++ {
		switch {
		case len(schema.fields) > 0:
			var names []string
			for _, name := range sortedKeys(schema.fields) {
				if depth > 0 || !isEnvelope(name) {
					names = append(names, name)
				}
			}
			if len(names) == 0 {
				return "/" + pick(g, "any", "spec"), schema
			}
			name := pick(g, names...)
			path, schema = path+"/"+name, schema.fields[name]
		case schema.items != nil:
			path, schema = path+"/"+pick(g, "0", "0", "-", "1", "9", "-1", "01"), schema.items
		case schema.values != nil:
			path, schema = path+"/"+pick(g, "a", "b", "app.kubernetes.io~1name", ""), schema.values
		default:
			return cmp.Or(path, "/"+pick(g, "any", "spec")), schema
		}
		if g.chance(0.35) {
			return path, schema
		}
	}
}

// mergeStory changes an object by merge patches.
func mergeStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(2) {
		body := g.part(kind.Schema)
		for i := range body.members {
			if g.chance(0.15) {
				body.members[i].value = Null()
			}
		}
		if g.chance(0.5) {
			body.Set("metadata", Object())
			g.oddMetadata(body.Get("metadata"))
			if g.chance(0.2) {
				body.Get("metadata").Set("resourceVersion", String(pick(g, versionMark, oldMark, "")))
			}
		}
		steps = append(steps, g.writing(patch(typeMerge, body)))
	}
	return append(steps, get(), g.view(get()))
}

// strategicStory tries the patches that custom resources don't have.
func strategicStory(g *generator, kind Kind) []Step {
	return []Step{post(g.plain(kind)), g.writing(patch(typeStrategic, g.part(kind.Schema))), get()}
}

// applyStory has several managers apply.
func applyStory(g *generator, kind Kind) []Step {
	var steps []Step
	if g.chance(0.4) {
		steps = append(steps, g.writing(post(g.plain(kind))))
	}
	for range 1 + g.IntN(4) {
		body := g.whole(kind)
		if g.chance(0.7) {
			body = g.plain(kind)
		}
		s := patch(typeApply, body).with("fieldManager", pick(g, "one", "two", "three", "one", "two"))
		switch g.IntN(6) {
		case 0, 1, 2:
			s = s.with("force", "true")
		case 3:
			s = s.with("force", pick(g, "false", "", "x"))
		}
		switch g.IntN(12) {
		case 0:
			delete(s.Query, "fieldManager")
		case 1:
			s = s.with("dryRun", "All")
		case 2:
			s = s.with("fieldValidation", pick(g, "Strict", "Warn", "Ignore", "x"))
		}
		if metadata := body.Get("metadata"); metadata != nil && metadata.open == '{' && g.chance(0.1) {
			metadata.Set("resourceVersion", String(pick(g, versionMark, oldMark)))
		}
		steps = append(steps, s)
	}
	if g.chance(0.2) {
		steps = append(steps, put(g.whole(kind)).with("fieldManager", "two"))
	}
	return append(steps, get(), g.view(get()))
}

// subresourceStory asks for any subresources, which most kinds don't have.
func subresourceStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	suffix := pick(g, "/status", "/scale", "/nonsense", "/status/x", "/")
	body := g.plain(kind)
	s := pick(g, get(), put(body), patch(typeMerge, Object("status", Object("a", "b"))), patch(typeApply, body).with("fieldManager", "one"), remove(nil), post(body))
	if s.Method == "POST" {
		s.Collection = false // As if it were pods/binding.
	}
	if suffix == "/" && strings.EqualFold(s.Method, "DELETE") {
		suffix = "/status"
	}
	return append(steps, s.at(suffix), get())
}

// deleteStory deletes an object, with preconditions, finalizers and policies.
func deleteStory(g *generator, kind Kind) []Step {
	body := g.plain(kind)
	if g.chance(0.4) {
		body.Get("metadata").Set("finalizers", must(pick(g, `["example.com/a"]`, `["example.com/a","example.com/b"]`, `["orphan"]`, `["foregroundDeletion"]`)))
	}
	steps := []Step{post(body)}
	collected := body.Get("metadata").Get("finalizers") != nil && strings.Contains(body.Get("metadata").Get("finalizers").Text(), "n\"]")
	for range 1 + g.IntN(2) {
		s := remove(g.deleteOptions())
		if g.chance(0.15) {
			s = s.with("dryRun", "All")
		}
		if g.chance(0.2) {
			s = s.with("propagationPolicy", pick(g, "Background", "Nonsense", "", "Orphan"))
		}
		if g.chance(0.1) {
			s = s.with("gracePeriodSeconds", pick(g, "0", "5", "-1", "x", "1.0"))
		}
		if g.chance(0.05) {
			s = s.with("orphanDependents", pick(g, "true", "false", "x"))
		}
		steps = append(steps, s)
		// The garbage collector finishes the deletion at some time.
		collected = collected || s.Query.Has("orphanDependents") || s.Query.Get("propagationPolicy") == "Orphan" || s.Body != nil && s.Body.Get("orphanDependents") != nil
		if collected {
			return steps
		}
	}
	if g.chance(0.5) {
		// What clients do to an object that is going.
		steps = append(steps, get(), pick(g,
			patch(typeMerge, must(`{"metadata":{"labels":{"late":"x"}}}`)), patch(typeMerge, must(`{"metadata":{"finalizers":["example.com/late"]}}`)),
			patch(typeMerge, must(`{"metadata":{"finalizers":null}}`)), patch(typeMerge, must(`{"metadata":{"finalizers":["example.com/a"]}}`)),
			patch(typeApply, g.plain(kind)).with("fieldManager", "one", "force", "true"), post(g.plain(kind)),
			patch(typeJSONPatch, must(`[{"op":"remove","path":"/metadata/deletionTimestamp"}]`)), put(g.plain(kind))))
	}
	return append(steps, get())
}

func (g *generator) deleteOptions() *Value {
	if g.chance(0.3) {
		return nil
	}
	options := Object("kind", "DeleteOptions", "apiVersion", pick(g, "v1", "meta.k8s.io/v1"))
	for _, field := range []struct{ name, texts string }{
		{"preconditions", `{"uid":"` + uidMark + `"}`},
		{"preconditions", pick(g, `{"uid":"11111111-2222-3333-4444-555555555555"}`, `{"resourceVersion":"`+versionMark+`"}`, `{"resourceVersion":"`+oldMark+`"}`, `{}`, `null`, `{"uid":""}`, `{"uid":1}`, `{"unknown":1}`)},
		{"propagationPolicy", pick(g, `"Background"`, `"Nonsense"`, `""`, `null`, `1`)},
		{"gracePeriodSeconds", pick(g, `0`, `0`, `30`, `-1`, `"x"`, `null`)},
		{"dryRun", pick(g, `["All"]`, `["All","All"]`, `["x"]`, `[]`, `null`, `"All"`)},
		{"orphanDependents", pick(g, `true`, `false`, `null`)},
		{"unknown", pick(g, `1`, `null`)},
		{"kind", pick(g, `"Pod"`, `""`, `null`)},
		{"apiVersion", pick(g, `"v9"`, `""`, `"wgpolicyk8s.io/v1alpha2"`)},
	} {
		if g.chance(0.15) {
			options.Set(field.name, must(field.texts))
		}
	}
	return options
}

// collectionStory deletes all objects that a selector matches.
func collectionStory(g *generator, kind Kind) []Step {
	s := Step{Method: http.MethodDelete, Collection: true, Body: g.deleteOptions()}.with("labelSelector", caseLabel+"="+nameMark+pick(g, "", "", ",none", ",!none"))
	if s.Body != nil {
		s = s.header("Content-Type", typeJSON)
	}
	if g.chance(0.3) {
		s = s.with("fieldSelector", pick(g, "metadata.name="+nameMark, "metadata.name!="+nameMark, "spec.x=y", "nonsense", "metadata.namespace="+spaceMark))
	}
	if g.chance(0.2) {
		s = s.with("dryRun", "All")
	}
	if s.Body != nil && s.Body.Get("orphanDependents") != nil {
		return []Step{post(g.plain(kind)), s} // The garbage collector finishes the deletion.
	}
	return []Step{post(g.plain(kind)), s, list(), get()}
}

// readStory gets and lists in all ways.
func readStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind)), list()}
	for range 2 + g.IntN(3) {
		s := pick(g, get(), list(), list())
		if g.chance(0.6) {
			s = g.view(s)
		}
		if s.Collection {
			s = g.listing(s)
		} else if g.chance(0.3) {
			s = s.with("resourceVersion", pick(g, "0", "1", versionMark, "x", "-1", ""))
		}
		if g.chance(0.2) {
			s = s.with("includeObject", pick(g, "Object", "None", "Metadata", "x"))
		}
		steps = append(steps, s)
	}
	return steps
}

func (g *generator) listing(s Step) Step {
	switch g.IntN(9) {
	case 0:
		return s.with("fieldSelector", pick(g, "metadata.name="+nameMark, "metadata.name!="+nameMark, "metadata.namespace="+spaceMark, "spec.x=y", "nonsense", "metadata.name=", "status.phase=Running", "metadata.name=a,metadata.name=b"))
	case 1:
		s.Query = nil
		return s.with("labelSelector", pick(g, caseLabel+"="+nameMark+",x", caseLabel+" in ("+nameMark+",b)", caseLabel+"="+nameMark+",!x", "a=b=c", "UPPER in", "!"+caseLabel+","+caseLabel, "case==", "a b", caseLabel+"="+nameMark+",x notin (a)"))
	case 2:
		return s.with("limit", pick(g, "1", "0", "-1", "x", "1.0", "100000000000000000000"))
	case 3:
		return s.with("continue", pick(g, "x", "", nextMark, "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"))
	case 4:
		return s.with("resourceVersion", pick(g, "0", "1", listMark, versionMark, "x", "-1", "", "99999999999999999999"))
	case 5:
		return s.with("resourceVersion", pick(g, "0", listMark, "", "x"), "resourceVersionMatch", pick(g, "Exact", "NotOlderThan", "nonsense", ""))
	case 6:
		return s.with("resourceVersion", pick(g, "0", listMark), "limit", "1", "resourceVersionMatch", pick(g, "Exact", "NotOlderThan"))
	case 7:
		return s.with(pick(g, "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds", "watch"), pick(g, "false", "0"))
	default:
		return s
	}
}
