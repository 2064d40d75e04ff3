// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	return testkit.Must(decodeJSON([]byte(text)))(t)
}

func asText(t *testing.T, value any) string {
	t.Helper()
	data := testkit.Must(json.Marshal(value))(t)
	return string(data)
}

const (
	uidA = "0b8a4c3e-6f0f-4d8e-9b57-1f6f6f0f0a01"
	uidB = "0b8a4c3e-6f0f-4d8e-9b57-1f6f6f0f0a02"
)

func TestNormalizeBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"object": {
			`{"kind":"PolicyReport","metadata":{"name":"a","uid":"` + uidA + `","resourceVersion":"70","creationTimestamp":"2026-11-22T07:00:00Z",` +
				`"managedFields":[{"manager":"m","time":"2026-11-22T07:00:00Z","fieldsV1":{"f:metadata":{"k:{\"uid\":\"` + uidB + `\"}":{}}}}]}}`,
			`{"kind":"PolicyReport","metadata":{"creationTimestamp":"$created1","managedFields":[{"fieldsV1":{"f:metadata":{"k:{\"uid\":\"$uid2\"}":{}}},` +
				`"manager":"m","time":"$time"}],"name":"a","resourceVersion":"$rv1","uid":"$uid1"}}`,
		},
		"list": {
			`{"items":[{"metadata":{"name":"a","resourceVersion":"70"}}],"metadata":{"resourceVersion":"70","continue":"abc"}}`,
			`{"items":[{"metadata":{"name":"a","resourceVersion":"$rv1"}}],"metadata":{"continue":"$continue1","resourceVersion":"$listrv1"}}`,
		},
		"generated name": {
			`{"metadata":{"generateName":"report-","name":"report-x1","resourceVersion":"1"},"message":"report-x1"}`,
			`{"message":"$name1","metadata":{"generateName":"report-","name":"$name1","resourceVersion":"$rv1"}}`,
		},
		"numbers":         {`{"a":1.0,"b":12345678901234567890,"c":1e3}`, `{"a":1.0,"b":12345678901234567890,"c":1e3}`},
		"no version":      {`{"metadata":{"name":"a","resourceVersion":"0","creationTimestamp":null}}`, `{"metadata":{"creationTimestamp":null,"name":"a","resourceVersion":"0"}}`},
		"uid in a text":   {`{"message":"conflict with ` + uidA + `","name":"` + uidA + `"}`, `{"message":"conflict with $uid1","name":"$uid1"}`},
		"the same values": {`[{"metadata":{"name":"a","resourceVersion":"5"}},{"metadata":{"name":"a","resourceVersion":"5"}}]`, `[{"metadata":{"name":"a","resourceVersion":"$rv1"}},{"metadata":{"name":"a","resourceVersion":"$rv1"}}]`},
	} {
		n := newNormalizer()
		got := asText(t, n.value(parse(t, c.body)))
		if n.err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, n.err, got, c.want)
		}
	}
}

func TestNormalizeRequests(t *testing.T) {
	t.Parallel()
	n := newNormalizer()
	n.value(parse(t, `{"metadata":{"name":"x-1","generateName":"x-","uid":"`+uidA+`","resourceVersion":"7"}}`))
	n.value(parse(t, `{"items":[],"metadata":{"resourceVersion":"9"}}`))
	got := n.exchange(Exchange{Request: Request{
		Path: "/apis/g/v1/namespaces/x-1/reports/" + uidA,
		Query: map[string][]string{
			"resourceVersion": {"9"}, "timeoutSeconds": {"431"}, "labelSelector": {"uid=" + uidA}, "continue": {"token"},
		},
	}}).Request
	want := Request{
		Path:  "/apis/g/v1/namespaces/$name1/reports/$uid1",
		Query: map[string][]string{"resourceVersion": {"$listrv1"}, "labelSelector": {"uid=$uid1"}, "continue": {"$continue1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := n.version(symbolList, "7"); got != "$rv1" {
		t.Errorf("a watch from an object's version starts from %s, want $rv1", got)
	}
}

// TestNormalizeRefusesSymbols: what looks like a symbol could be taken for one.
func TestNormalizeRefusesSymbols(t *testing.T) {
	t.Parallel()
	n := newNormalizer()
	n.value(parse(t, `{"message":"costs $uid1"}`))
	if n.err == nil {
		t.Error("a text with $uid1 in it was recorded")
	}
}

// TestNumber: a program that takes UUIDs as names gets lists in their order.
func TestNumber(t *testing.T) {
	t.Parallel()
	n := newNormalizer()
	const small, large = "11111111-1111-4111-8111-111111111111", "99999999-9999-4999-8999-999999999999"
	n.number([]Exchange{{Request: Request{Path: "/x/" + large}}, {Request: Request{Body: parse(t, `{"a":"`+small+`"}`)}}})
	if got := n.text(large + " " + small); got != "$uid2 $uid1" || n.err != nil {
		t.Errorf("got %s, %v", got, n.err)
	}
}

func TestReadWhatWasWritten(t *testing.T) {
	t.Parallel()
	want := &Recording{
		Header: Header{Program: "p", Version: "1", Source: "here", Did: "it", Server: "s", Recorded: "2026-11-22"},
		Exchanges: []Exchange{{
			Request:  Request{Method: "POST", Path: "/apis/x/v1/namespaces/b/ys", Body: parse(t, `{"a":1.0,"b":"<&>"}`)},
			Response: Response{Status: 201, Header: map[string]string{"Warning": "w"}, Events: []any{parse(t, `{"type":"ADDED"}`)}, Open: true},
		}, {Request: Request{Method: "GET", Path: "/apis/x/v1/namespaces/a/ys/z"}}},
	}
	var file bytes.Buffer
	testkit.NoError(t, want.Write(&file))
	got := testkit.Must(Read(bytes.NewReader(file.Bytes())))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	testkit.NoDiff(t, cmp.Diff([]string{"a", "b"}, got.Namespaces()), "namespaces")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"nothing":       {"", "no requests"},
		"no requests":   {`{"program":"p"}`, "no requests"},
		"unknown field": {"{\"program\":\"p\"}\n{\"request\":{\"method\":\"GET\",\"wrong\":1}}", "line 2"},
		"cut off":       {"{\"program\":\"p\"}\n{\"request\":{", "line 2"},
	} {
		if _, err := Read(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestDecodeBodyRefuses(t *testing.T) {
	t.Parallel()
	for contentType, body := range map[string]string{
		"application/json": `{"a":1} {"b":2}`, "application/merge-patch+json": `{`, "application/cbor": "x", "application/vnd.kubernetes.protobuf": "k8s\x00?", "": "x",
	} {
		if got, err := decodeBody(contentType, []byte(body)); err == nil {
			t.Errorf("%q of Content-Type %q was read as %v", body, contentType, got)
		}
	}
}

// compared returns where two bodies differ, with symbols free at the beginning.
func compared(t *testing.T, want, got string) []string {
	t.Helper()
	var found []string
	c := comparison{newBindings(), func(where, want, got string) { found = append(found, where+": "+want+", "+got) }}
	c.value("body", parse(t, want), parse(t, got))
	return found
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, got string
		where     []string
	}{
		"equal":                     {`{"a":[1,"b",null,true]}`, `{"a":[1,"b",null,true]}`, nil},
		"a number written in a way": {`{"a":1}`, `{"a":1.0}`, []string{"body.a: 1, 1.0"}},
		"a field less":              {`{"a":1,"b":""}`, `{"a":1}`, []string{`body.b: "", nothing`}},
		"a field more":              {`{"a":1}`, `{"a":1,"b":{}}`, []string{`body.b: nothing, {}`}},
		"null for nothing":          {`{}`, `{"b":null}`, []string{`body.b: nothing, null`}},
		"an item more":              {`[1]`, `[1,2]`, []string{`body: [1], [1,2]`}},
		"another type":              {`{"a":{}}`, `{"a":[]}`, []string{`body.a: an object, []`}},
		"symbols":                   {`["$uid1","$uid2","$uid1"]`, `["a","b","a"]`, nil},
		"one symbol, two values":    {`["$uid1","$uid1"]`, `["a","b"]`, []string{`body[1]: "$uid1", "b"`}},
		"two symbols, one value":    {`["$rv1","$rv2"]`, `["7","7"]`, []string{`body[1]: "$rv2", "7"`}},
		"an empty value":            {`"$rv1"`, `""`, []string{`body: "$rv1", ""`}},
		"lists move on":             {`["$listrv1","$listrv1"]`, `["7","8"]`, nil},
		"any time":                  {`["$time","$time","$created1","$created2"]`, `["2026-01-01T00:00:00Z","2026-01-01T00:00:01Z","2026-01-01T00:00:00Z","2026-01-01T00:00:00Z"]`, nil},
		"no time":                   {`["$time"]`, `["now"]`, []string{`body[0]: "$time", "now"`}},
		"another time of creation":  {`["$created1","$created1"]`, `["2026-01-01T00:00:00Z","2026-01-01T00:00:01Z"]`, []string{`body[1]: "$created1", "2026-01-01T00:00:01Z"`}},
		"in a text":                 {`["$uid1","about $uid1 and $uid2.","$uid2"]`, `["a","about a and b.","b"]`, nil},
		"another text":              {`["$uid1","about $uid1"]`, `["a","about b"]`, []string{`body[1]: "about $uid1", "about b"`}},
		"in a key":                  {`{"metadata":{"uid":"$uid1"},"k:$uid1":{}}`, `{"metadata":{"uid":"a"},"k:a":{}}`, nil},
		"another key":               {`{"metadata":{"uid":"$uid1"},"k:$uid1":{}}`, `{"metadata":{"uid":"a"},"k:b":{}}`, []string{`body.k:$uid1: {}, nothing`, `body.k:b: nothing, {}`}},
	} {
		testkit.NoDiff(t, cmp.Diff(c.where, compared(t, c.want, c.got)), "%s", name)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	b := newBindings()
	b.bind("$rv1", "7")
	got := testkit.Must(b.fill(parse(t, `{"k:$uid1":["$rv1","about $uid1","$time"]}`)))(t)
	const uid = "00000000-0000-4000-8000-000000000001"
	if want := `{"k:` + uid + `":["7","about ` + uid + `","` + someTime + `"]}`; asText(t, got) != want {
		t.Errorf("got %s, want %s", asText(t, got), want)
	}
	if _, err := b.fill("$rv2"); err == nil {
		t.Error("a version that no answer gave was sent")
	}
}
