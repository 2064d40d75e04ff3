// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"
)

// TestNormalizeKnows: what Normalize is to decide by itself, and what it leaves to the library. FuzzNormalize shows
// that it is right where it decides.
func TestNormalizeKnows(t *testing.T) {
	t.Parallel()
	const valid, rule, shape = "valid", "a rule is for Validate", "the library decides what is stored"
	all := map[string]*Schema{}
	for _, s := range allSchemas(t) {
		all[s.Kind.Kind] = s
	}
	for _, c := range []struct{ kind, sent, want, body string }{
		{"Scalar", `"spec":{"aShort":"abc","bWord":"a","cPattern":"ab","dTime":"2026-01-02T03:04:05Z","eFormat":"x"}`, valid, ""},
		{"Scalar", `"spec":{"aShort":"ééé"}`, valid, ""},
		{"Scalar", `"spec":{"aShort":"abcd"}`, rule, ""},
		{"Scalar", `"spec":{"cPattern":"x"}`, rule, ""},
		{"Scalar", `"spec":{"dTime":"yesterday"}`, rule, ""},
		{"Scalar", `"spec":{"hInt32":100,"iInt64":1,"lEnum":5,"mNumber":1.5,"nBounded":9,"qBool":true}`, valid, ""},
		{"Scalar", `"spec":{"hInt32":101}`, rule, ""},
		{"Scalar", `"spec":{"iInt64":0}`, rule, ""},
		{"Scalar", `"spec":{"nBounded":10}`, rule, ""},
		{"Scalar", `"spec":{"kMultiple":5}`, rule, ""},
		{"Scalar", `"spec":{"mNumber":2.50}`, valid, `{"spec":{"mNumber":2.5,"yUnder":3}}`},
		{"Scalar", `"spec":{"mNumber":2.0}`, shape, ""},
		{"Scalar", `"spec":{"gInt":"1"}`, shape, ""},
		{"Scalar", `"spec":{"sQuantity":"10Gi","tPort":80}`, valid, ""},
		{"Scalar", `"spec":{"sQuantity":"10"}`, valid, ""},
		{"Scalar", `"spec":{"sQuantity":"ten"}`, rule, ""},
		{"Scalar", `"spec":{"unknown":1}`, shape, ""},
		{"Container", `"spec":{}`, valid, `{"spec":{"name":"none","optionalDefault":"given","replicas":1,"settings":{"level":2,"mode":"quick"}}}`},
		{"Container", `"spec":{"settings":{"inner":{}},"optionalDefault":null,"optional":null,"name":null}`, valid,
			`{"spec":{"name":"none","optional":null,"optionalDefault":null,"replicas":1,"settings":{"inner":{"deep":[{"x":7}]},"level":1,"mode":"quick"}}}`},
		{"Container", ``, rule, "{}"},
		{"Container", `"spec":{"replicas":-1}`, rule, ""},
		{"Container", `"spec":{"tags":["a","b"],"ports":[{"port":1},{"port":1,"protocol":"UDP"}]}`, valid, ""},
		{"Container", `"spec":{"tags":["a","a"]}`, rule, ""},
		{"Container", `"spec":{"ports":[{"port":1},{"port":1,"protocol":"TCP"}]}`, rule, ""},
		{"Container", `"spec":{"few":[1,2]}`, valid, ""},
		{"Container", `"spec":{"few":[]}`, rule, ""},
		{"Container", `"spec":{"labels":{}}`, rule, ""},
		{"Container", `"spec":{"free":{"z":[null,1.5,{}],"a":null}}`, valid, ""},
		{"Container", `"spec":{"freeObject":{"known":{"a":""},"unknown":{"b":1}}}`, valid, ""},
		{"Container", `"spec":{"freeObject":{"known":{"b":""}}}`, shape, ""},
		{"Container", `"spec":{"freeObject":{}}`, rule, ""},
		{"Container", `"spec":{"freeList":[{"x":1}],"freeListOfLists":[[{"x":1}]]}`, valid, ""},
		{"Container", `"spec":{"ruled":{"low":1}}`, rule, ""},
		{"Container", `"spec":{"either":{"a":""}}`, rule, ""},
		{"Container", `"spec":{"embedded":{}}`, shape, ""},
		{"Container", `"spec":{},"status":{"conditions":[{"type":"Ready","status":"True","reason":"Fine","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`, valid, ""},
		{"Open", `"unknown":{"a":[1]},"spec":{"a":"b"}`, valid, ""},
		{"Open", `"other":1`, rule, ""},
		{"Open", `"unknown":0,"typeless":{"x":1}`, valid, `{"typeless":{"a":"b","x":1},"unknown":0}`},
		{"Open", `"unknown":0,"typeless":[{"x":1}]`, valid, `{"typeless":[{"a":"b","x":1}],"unknown":0}`},
		{"Open", `"unknown":0,"typeless":null`, valid, `{"unknown":0}`},
		{"Ruled", ``, rule, "{}"},
		{"Empty", ``, valid, "{}"},
		{"Empty", `"a":1`, shape, ""},
	} {
		version, kind := all[c.kind].Kind.ToAPIVersionAndKind()
		sent := strings.TrimSuffix(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"abc"},%s`, version, kind, c.sent), ",") + "}"
		parts, ok := compareNormalized(t, all[c.kind], []byte(sent))
		got := map[bool]string{true: valid, false: rule}[parts.Valid]
		if !ok {
			got = shape
		}
		if got != c.want || c.body != "" && string(parts.Body) != c.body {
			t.Errorf("%s: %s, want %s: %s", sent, got, c.want, parts.Body)
		}
	}
}
