// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The media types of bodies.
const (
	typeJSON      = "application/json"
	typeYAML      = "application/yaml"
	typeJSONPatch = "application/json-patch+json"
	typeMerge     = "application/merge-patch+json"
	typeStrategic = "application/strategic-merge-patch+json"
	typeApply     = "application/apply-patch+yaml"
)

// Step is a request. Its texts have marks for what only the server knows.
type Step struct {
	Method string
	// The path names the object or, for a Collection, all objects of the kind in the namespace; Suffix follows.
	Collection bool
	Suffix     string
	// Version and Namespace are others than the case's, if they are not empty.
	Version, Namespace string
	Query              url.Values
	Header             map[string]string
	// Body is nil if Raw is the body, which may be no JSON at all.
	Body *Value
	Raw  string
}

// Case is a number of requests about one object, which has a name of its own each time that the
// case is run.
type Case struct {
	Kind         Kind
	Seed, Number uint64
	Steps        []Step
}

// with returns the step with parameters, given as pairs of names and values.
func (s Step) with(pairs ...string) Step {
	s.Query = maps.Clone(s.Query)
	if s.Query == nil {
		s.Query = url.Values{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Query.Add(pairs[i], pairs[i+1])
	}
	return s
}

// header returns the step with a header field.
func (s Step) header(name, value string) Step {
	s.Header = maps.Clone(s.Header)
	if s.Header == nil {
		s.Header = map[string]string{}
	}
	s.Header[name] = value
	return s
}

func (s Step) at(suffix string) Step {
	s.Suffix = suffix
	return s
}

// in returns the step for a kind in another version.
func (s Step) in(other Kind) Step {
	s.Version = other.Version
	return s
}

// elsewhere returns the step for another namespace, or for all.
func (s Step) elsewhere(namespace string) Step {
	s.Namespace = namespace
	return s
}

// clone returns a copy that shares nothing.
func (s Step) clone() Step {
	s.Query, s.Header, s.Body = maps.Clone(s.Query), maps.Clone(s.Header), s.Body.Clone()
	for name, values := range s.Query {
		s.Query[name] = slices.Clone(values)
	}
	return s
}

func get() Step { return Step{Method: http.MethodGet} }
func list() Step {
	return Step{Method: http.MethodGet, Collection: true}.with("labelSelector", caseLabel+"="+nameMark)
}

func post(body *Value) Step {
	return Step{Method: http.MethodPost, Collection: true, Body: body}.header("Content-Type", typeJSON)
}

func put(body *Value) Step {
	return Step{Method: http.MethodPut, Body: body}.header("Content-Type", typeJSON)
}

func patch(mediaType string, body *Value) Step {
	return Step{Method: http.MethodPatch, Body: body}.header("Content-Type", mediaType)
}

func remove(options *Value) Step {
	s := Step{Method: http.MethodDelete, Body: options}
	if options != nil {
		s = s.header("Content-Type", typeJSON)
	}
	return s
}

// NewCase makes the case of a number. The same seed, number and kind make the same case.
func NewCase(kind Kind, seed, number uint64) Case {
	g := newGenerator(seed, number)
	c := Case{Kind: kind, Seed: seed, Number: number}
	told := stories(kind)
	total := 0
	for _, s := range told {
		total += s.weight
	}
	chosen := g.IntN(total)
	for _, s := range told {
		if chosen -= s.weight; chosen < 0 {
			c.Steps = s.tell(g, kind)
			break
		}
	}
	return c
}

// story makes requests; the weight is how often, compared with others.
type story struct {
	weight int
	tell   func(*generator, Kind) []Step
}

// stories returns those about a kind.
func stories(kind Kind) []story {
	all := []story{
		{10, createStory}, {6, updateStory}, {5, jsonPatchStory}, {5, mergeStory}, {1, strategicStory}, {7, applyStory},
		{4, deleteStory}, {4, readStory}, {4, envelopeStory}, {2, generateNameStory}, {2, subresourceStory}, {1, collectionStory},
	}
	if kind.Namespaced {
		all = append(all, story{2, namespaceStory})
	}
	if kind.Status {
		all = append(all, story{6, statusStory})
	}
	if kind.Scale != nil {
		all = append(all, story{8, scaleStory})
	}
	if len(kind.Selectable) > 0 {
		all = append(all, story{5, selectStory})
	}
	if len(kind.Others) > 0 {
		all = append(all, story{8, versionStory})
	}
	return all
}

// createStory creates an object in one of the ways there are, and reads it.
func createStory(g *generator, kind Kind) []Step {
	return []Step{g.writing(post(g.whole(kind))), get(), g.view(get())}
}

// updateStory replaces an object once or twice.
func updateStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(2) {
		body := g.whole(kind)
		if metadata := body.Get("metadata"); metadata.open == '{' && metadata.Get("resourceVersion") == nil {
			switch g.IntN(5) {
			case 0, 1:
				metadata.Set("resourceVersion", String(versionMark))
			case 2:
				metadata.Set("resourceVersion", String(oldMark))
			case 3:
				metadata.Set("uid", String(pick(g, uidMark, "11111111-2222-3333-4444-555555555555")))
			}
		}
		steps = append(steps, g.writing(put(body)))
	}
	if g.chance(0.1) {
		steps = steps[1:] // There is nothing to replace.
	}
	return append(steps, get(), g.view(get()))
}

// generateNameStory creates an object whose name the server chooses.
func generateNameStory(g *generator, kind Kind) []Step {
	body := g.plain(kind)
	metadata := body.Get("metadata")
	metadata.Remove("name")
	metadata.Set("generateName", String(pick(g, "made-", "a", "made.", "UPPER-", "made_", "é", "", strings.Repeat("long", 62), strings.Repeat("x", 253))))
	return []Step{g.writing(post(body)), get(), list()}
}

// writing adds to a request what a client that writes may ask for.
func (g *generator) writing(s Step) Step {
	if g.chance(0.15) {
		s = s.with("dryRun", pick(g, "All", "All", "All", "", "None"))
	}
	if g.chance(0.5) {
		s = s.with("fieldValidation", pick(g, "Strict", "Strict", "Warn", "Ignore", "Ignore", "", "Nonsense"))
	}
	if g.chance(0.2) {
		s = s.with("fieldManager", pick(g, "one", "two", "", "with space", strings.Repeat("m", 129), "\x01"))
	}
	if g.chance(0.03) {
		s = s.with("pretty", pick(g, "true", "false", "x"))
	}
	if g.chance(0.02) {
		s = s.with("unknown", "x")
	}
	if g.chance(0.15) && s.Body != nil && s.Header["Content-Type"] == typeJSON {
		s = s.header("Content-Type", pick(g, typeYAML, typeYAML, typeJSON+"; charset=utf-8", ""))
	}
	return s
}

// view asks for one of the ways in which objects are shown.
func (g *generator) view(s Step) Step {
	const meta = "meta.k8s.io"
	return s.header("Accept", pick(g,
		"application/json;as=Table;g="+meta+";v=v1", "application/json;as=Table;g="+meta+";v=v1", "application/json;as=Table;g="+meta+";v=v1beta1",
		"application/json;as=PartialObjectMetadata;g="+meta+";v=v1", "application/yaml", "*/*", "application/json;as=Table;g="+meta+";v=v1,application/json",
		"application/json;as=PartialObjectMetadataList;g="+meta+";v=v1", "application/vnd.kubernetes.protobuf,application/json", "text/html", "application/cbor,application/json", "application/vnd.kubernetes.protobuf"))
}

// envelopeStory sends bodies that are no object of the kind, or no object at all.
func envelopeStory(g *generator, kind Kind) []Step {
	body := g.plain(kind)
	s := post(body)
	existing := g.chance(0.4)
	if existing {
		s = pick(g, put(body), patch(typeMerge, body), patch(typeApply, body).with("fieldManager", "one"))
	}
	switch g.IntN(8) {
	case 0:
		body.Set("apiVersion", pick(g, String("v1"), String(kind.Group+"/v9"), String(""), Null(), Literal("1"), String("other.example.com/"+kind.Version), String("a/b/c")))
	case 1:
		body.Set("kind", pick(g, String("Pod"), String(""), Null(), Literal("1"), String(strings.ToLower(kind.Kind)), String(kind.Kind+"List")))
	case 2:
		body.Remove(pick(g, "apiVersion", "kind", "metadata"))
	case 3:
		body.Set("metadata", pick(g, Null(), String("x"), Array(), Object(), Literal("1")))
	case 4:
		if name := pick(g, "other", "", "UPPER"); existing {
			body.Get("metadata").Set("name", String(name))
		} else {
			body.Get("metadata").Set("namespace", String(pick(g, name, "kube-system")))
		}
	case 5:
		s.Body, s.Raw = nil, pick(g, "", "{", "[]", "null", `"x"`, "1", "{}", "\xff", "a: b: c", strings.TrimSuffix(body.Text(), "}"), body.Text()+"}", body.Text()+body.Text(), "["+body.Text()+"]", "\ufeff"+body.Text())
	case 6:
		s = s.header("Content-Type", pick(g, "text/plain", "application/xml", "application/vnd.kubernetes.protobuf", "application/cbor", "nonsense", "application/json;stream=watch"))
	default:
		g.oddMetadata(body.Get("metadata"))
		g.oddMetadata(body.Get("metadata"))
	}
	steps := []Step{g.writing(s), get()}
	if existing && g.chance(0.9) {
		steps = append([]Step{post(g.plain(kind))}, steps...)
	}
	return steps
}
