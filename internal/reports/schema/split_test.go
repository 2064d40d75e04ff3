// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// FuzzSplit: for any object in canonical form, splitting gives the values that parsing gives. No input makes it crash.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"a":[]}`, `{"a":[1,"]",{"b":[2]}],"b":"\"}\\","c":{"d":{}},"e":-1.5,"f":null,"g":true}`, `{"a":"é\u0001"}`,
		`{"\"":1}`, `{"a":1`, `{"a"`, `{"a":}`, `{"a":1,}`, `{"a":1}}`, `{"a":[}`, `[`, ``, `{`, `{"a":"`, `{"a":"\`, `{"a":[1}`, `{"a" :1}`, `{"a":1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members := map[string]any{}
		ok := Split(data, func(name, value []byte) bool {
			parsed, err := ParseValue(value)
			if list, ok := parsed.([]any); ok && err == nil && Count(value) != len(list) && isCanonical(value) {
				t.Errorf("%s has %d items, counted %d", value, len(list), Count(value))
			}
			members[string(name)] = parsed
			return err == nil
		})
		var object map[string]any
		if json.UnmarshalCaseSensitivePreserveInts(data, &object) != nil || object == nil {
			return
		}
		if canonical, err := appendCanonical(nil, object); err != nil || string(canonical) != string(data) {
			return
		}
		if !ok {
			if !hasEscapedName(object) {
				t.Errorf("%s is not split", data)
			}
			return
		}
		want := testkit.Must(Parse(data))(t)
		testkit.NoDiff(t, cmp.Diff(want, members), "members of %s (-want +got)", data)
	})
}

func isCanonical(value []byte) bool {
	var decoded any
	if json.UnmarshalCaseSensitivePreserveInts(value, &decoded) != nil {
		return false
	}
	canonical, err := appendCanonical(nil, decoded)
	return err == nil && string(canonical) == string(value)
}

// hasEscapedName says whether a name of a member needs escapes in JSON.
func hasEscapedName(object map[string]any) bool {
	for name := range object {
		if string(quote(name)) != `"`+name+`"` {
			return true
		}
	}
	return false
}
