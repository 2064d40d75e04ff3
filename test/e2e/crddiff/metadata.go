// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import "strings"

// What stands for something that only the server knows, or that is made when the case runs.
const (
	nameMark     = "@name@"     // the object's name
	versionMark  = "@version@"  // its resource version as last seen
	oldMark      = "@old@"      // the resource version that it had before
	uidMark      = "@uid@"      // its UID
	ownerUIDMark = "@owner@"    // the UID of an object that is there
	spaceMark    = "@space@"    // the namespace
	listMark     = "@listed@"   // the resource version of the last list
	nextMark     = "@continue@" // the token of the last list
	groupMark    = "@group@"    // what the names of all objects of a sequence begin with
	caseLabel    = "case"
	ownerName    = "owner"
)

// whole returns an object of a kind, with odd metadata now and then.
func (g *generator) whole(kind Kind) *Value {
	v := g.root(kind.Schema)
	if g.wild > 0 && g.chance(0.5) {
		tame := &generator{Rand: g.Rand}
		v = g.damaged(tame.root(kind.Schema), kind.Schema)
	}
	g.envelope(kind, v)
	if g.chance(0.3) {
		g.oddMetadata(v.Get("metadata"))
	}
	return v
}

// envelope adds what every object has.
func (g *generator) envelope(kind Kind, v *Value) {
	metadata := Object("name", nameMark, "labels", Object(caseLabel, nameMark))
	if kind.Namespaced && g.chance(0.5) {
		metadata.Set("namespace", String(spaceMark))
	}
	v.members = append([]member{
		{quote("apiVersion"), String(kind.APIVersion())}, {quote("kind"), String(kind.Kind)}, {quote("metadata"), metadata},
	}, v.members...)
}

// plain returns an object that every server has to accept, if there is one, with something in it to change.
func (g *generator) plain(kind Kind) *Value {
	tame := &generator{Rand: g.Rand, common: g.common || g.chance(0.5)}
	v := tame.root(kind.Schema)
	tame.envelope(kind, v)
	return v
}

// oddMetadata changes one or two fields of metadata.
func (g *generator) oddMetadata(metadata *Value) {
	odd := oddMetadata()
	names := sortedKeys(odd)
	for range 1 + g.IntN(2) {
		name := pick(g, names...)
		text := pick(g, odd[name]...)
		if text == "" {
			metadata.Remove(name)
			continue
		}
		metadata.Set(name, must(text))
	}
}

// oddMetadata returns texts of values for fields of metadata; an empty one stands for no field.
func oddMetadata() map[string][]string {
	long := strings.Repeat("x", 254)
	label := `"case":"` + nameMark + `"`
	reference := func(more string) string {
		return `[{"apiVersion":"v1","kind":"ConfigMap","name":"` + ownerName + `","uid":"` + ownerUIDMark + `"` + more + `}]`
	}
	return map[string][]string{
		"name":         {"", `""`, `null`, `"UPPER"`, `"a/b"`, `".."`, `"."`, `"a%b"`, `"` + long + `"`, `1`, `{}`, `"ends-"`, `"another-` + nameMark + `"`},
		"namespace":    {"", `""`, `null`, `"other"`, `"kube-system"`, `1`, `"UPPER"`},
		"generateName": {`""`, `"g-"`, `null`, `1`, `"UPPER-"`, `"` + long + `"`, `"a/b"`},
		"labels": {
			"", `null`, `{}`, `[]`, `"x"`, `1`, `{` + label + `,"a":"b"}`, `{` + label + `,"":"x"}`, `{` + label + `,"bad key!":"x"}`, `{` + label + `,"a":"has space"}`,
			`{` + label + `,"a":null}`, `{` + label + `,"a":1}`, `{` + label + `,"a":""}`, `{` + label + `,"a":"` + long + `"}`, `{` + label + `,"a/b/c":"x"}`, `{` + label + `,"UPPER.example.com/a":"x"}`, `{` + label + `,"a":{}}`, `{` + label + `,"a":"ü"}`,
		},
		"annotations": {
			"", `null`, `{}`, `[]`, `"x"`, `{"a":"b"}`, `{"":"x"}`, `{"bad key!":"x"}`, `{"a":null}`, `{"a":1}`, `{"a":""}`, `{"a":true}`, `{"UPPER":"x"}`, `{"A":"x","a":"y"}`, `{"a":"line\nline"}`,
			`{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{"a":"` + strings.Repeat("y", 300000) + `"}`,
		},
		"finalizers": {
			`[]`, `null`, `["example.com/a"]`, `["example.com/a","example.com/a"]`, `["plain"]`, `[""]`, `[null]`, `[1]`, `"x"`, `{}`, `["a b"]`, `["orphan"]`, `["foregroundDeletion"]`,
			`["orphan","foregroundDeletion"]`, `["kubernetes"]`, `["UPPER/x"]`,
		},
		"ownerReferences": {
			`[]`, `null`, `[null]`, `[1]`, `{}`, `"x"`, `[{}]`, `[{"apiVersion":"v1"}]`, reference(""), reference(`,"controller":true`), reference(`,"controller":true,"blockOwnerDeletion":true`),
			reference(`,"controller":null`), reference(`,"unknown":1`), reference(`,"controller":"true"`), strings.Replace(reference(""), ownerName, "", 1), strings.Replace(reference(""), "v1", "a/b/c", 1),
			strings.Replace(reference(""), `"v1"`, `""`, 1), strings.Replace(reference(""), "ConfigMap", "", 1), strings.Replace(reference(""), ownerUIDMark, "", 1), strings.Replace(reference(""), `"v1"`, "null", 1),
			`[` + strings.Trim(reference(`,"controller":true`), "[]") + `,` + strings.Trim(reference(`,"controller":true`), "[]") + `]`, strings.Replace(reference(""), "ConfigMap", "Event", 1),
		},
		"creationTimestamp":          {`null`, `"2020-01-01T00:00:00Z"`, `"yesterday"`, `""`, `1`, `{}`, `"2020-01-01"`, `"2020-01-01T00:00:00.5Z"`},
		"deletionTimestamp":          {`null`, `"2020-01-01T00:00:00Z"`, `"never"`, `1`},
		"deletionGracePeriodSeconds": {`null`, `0`, `5`, `-1`, `"5"`, `1.0`, `1.5`},
		"generation":                 {`null`, `0`, `5`, `-1`, `"5"`, `2.0`, `1.5`, `9223372036854775807`, `1e3`},
		"uid":                        {`null`, `""`, `"made-up"`, `1`, `"11111111-2222-3333-4444-555555555555"`},
		"resourceVersion":            {`null`, `""`, `"0"`, `"1"`, `"x"`, `1`, `"-1"`, `"99999999999999999999"`},
		"selfLink":                   {`null`, `""`, `"/somewhere"`, `1`},
		"clusterName":                {`null`, `"x"`},
		"managedFields": {
			`[]`, `null`, `[{}]`, `[null]`, `"x"`, `{}`, `[{"manager":"m","operation":"Update"}]`, `[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{}}}]`,
			`[{"manager":"m","operation":"Nonsense"}]`, `[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"nonsense":1}}]`, `[{"manager":1}]`, `[{"unknown":1}]`,
		},
		"unknown":     {`null`, `1`, `"x"`, `{}`, `[]`},
		"Name":        {`"x"`},
		"initializer": {`{}`},
	}
}
