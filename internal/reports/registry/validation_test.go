// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const outcomes = `: supported values: "pass", "fail", "warn", "error", "skip"`
	const severities = `: supported values: "critical", "high", "low", "medium", "info"`
	for name, test := range map[string]struct {
		resource string
		body     string
		want     []string
	}{
		"least":          {"policyreports", `{}`, nil},
		"least, cluster": {"clusterreports", `{}`, nil},
		"full": {"reports", `{"source":"s","scope":{"kind":"Pod"},"scopeSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]},
			"configuration":{"limits":{"maxResults":1,"statusFilter":["pass","skip"]}},"summary":{"pass":1},
			"results":[{"policy":"p","result":"pass","severity":"info","resourceSelector":{"matchLabels":{"a":"b"}}}]}`, nil},
		"negative counts are published as valid": {"policyreports", `{"summary":{"pass":-1}}`, nil},
		"unknown operators are published as valid": {"policyreports",
			`{"scopeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}`, nil},
		"policy": {"policyreports", `{"results":[{"policy":"p"},{"rule":"r"}]}`,
			[]string{"results[1].policy: Required value"}},
		"severity": {"clusterpolicyreports", `{"results":[{"policy":"p","severity":"High"}]}`,
			[]string{`results[0].severity: Unsupported value: "High"` + severities}},
		"result": {"reports", `{"results":[{"policy":"p","result":"passed"}]}`,
			[]string{`results[0].result: Unsupported value: "passed"` + outcomes}},
		"several": {"policyreports", `{"results":[{"severity":"x","result":"y"}]}`, []string{
			`results[0].severity: Unsupported value: "x"` + severities,
			`results[0].result: Unsupported value: "y"` + outcomes,
			"results[0].policy: Required value",
		}},
		"selector of a result": {"policyreports",
			`{"results":[{"policy":"p","resourceSelector":{"matchExpressions":[{"key":"a","operator":"In"},{}]}}]}`, []string{
				"results[0].resourceSelector.matchExpressions[1].key: Required value",
				"results[0].resourceSelector.matchExpressions[1].operator: Required value",
			}},
		"selector of the scope": {"clusterpolicyreports", `{"scopeSelector":{"matchExpressions":[{"operator":"Exists"}]}}`,
			[]string{"scopeSelector.matchExpressions[0].key: Required value"}},
		"limits": {"reports", `{"configuration":{}}`,
			[]string{"configuration.limits: Required value"}},
		"status filter": {"clusterreports", `{"configuration":{"limits":{"statusFilter":["pass","bad",""]}}}`, []string{
			`configuration.limits.statusFilter[1]: Unsupported value: "bad"` + outcomes,
			`configuration.limits.statusFilter[2]: Unsupported value: ""` + outcomes,
		}},
		"owner": {"ephemeralreports", `{"spec":{}}`,
			[]string{"spec.owner: Required value"}},
		"spec": {"clusterephemeralreports", `{}`,
			[]string{"spec: Required value"}},
		"empty owner": {"ephemeralreports", `{"spec":{"owner":{}}}`, []string{
			"spec.owner.apiVersion: Required value",
			"spec.owner.kind: Required value",
			"spec.owner.name: Required value",
			"spec.owner.uid: Required value",
		}},
		"present is not the same as not empty": {"ephemeralreports",
			`{"spec":{"owner":{"apiVersion":"","kind":"","name":"","uid":""},"results":[{"policy":""}]}}`, nil},
		"empty enumeration": {"policyreports", `{"results":[{"policy":"p","severity":"","result":"pass"}]}`,
			[]string{`results[0].severity: Unsupported value: ""` + severities}},
		"whole numbers with a fraction": {"policyreports", `{"summary":{"pass":1.0,"fail":1e2}}`, nil},
		"number with a fraction": {"policyreports", `{"summary":{"pass":1.5}}`,
			[]string{
				`<nil>: Invalid value: "": Checked value must be of type integer (default format) in summary.pass`,
				`summary.pass: Invalid value: "number": summary.pass in body must be of type integer: "number"`,
			}},
		"wrong type names the field": {"policyreports", `{"summary":{"pass":"one"}}`,
			[]string{`summary.pass: Invalid value: "string": summary.pass in body must be of type integer: "string"`}},
		"null in a list": {"policyreports", `{"scopeSelector":{"matchExpressions":[{"key":"k","operator":"In","values":[null]}]}}`,
			[]string{`scopeSelector.matchExpressions[0].values[0]: Invalid value: "null": scopeSelector.matchExpressions[0].values[0] in body must be of type string: "null"`}},
		"null fields are left out": {"policyreports", `{"scope":null,"results":[{"policy":"p","result":null}]}`, nil},
		"parts of a timestamp": {"policyreports", `{"results":[{"policy":"p","timestamp":{}}]}`,
			[]string{"results[0].timestamp.nanos: Required value", "results[0].timestamp.seconds: Required value"}},
		"result in a spec": {"ephemeralreports",
			`{"spec":{"owner":{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u"},"results":[{"policy":"p"},{"policy":"p","result":"bad"}]}}`,
			[]string{`spec.results[1].result: Unsupported value: "bad"` + outcomes}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := kindOf(t, test.resource)
			errs := newStrategy(kind).Validate(t.Context(), decodeReport(t, kind, test.body))
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			slices.Sort(got) // The library goes through fields in any order.
			slices.Sort(test.want)
			testkit.NoDiff(t, cmp.Diff(test.want, got), "errors (-want +got)")
		})
	}
}

func TestValidateNames(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"a":                      true,
		"polr-1.example":         true,
		"Upper":                  false,
		"a_b":                    false,
		"a/b":                    false,
		strings.Repeat("a", 253): true,
		strings.Repeat("a", 254): false,
	} {
		kind := kindOf(t, "clusterreports")
		object := decodeReport(t, kind, `{}`)
		object.SetName(name)
		errs := newStrategy(kind).Validate(t.Context(), object)
		if got := len(errs) == 0; got != valid {
			t.Errorf("name %q is valid: %v, want %v (%v)", name, got, valid, errs)
		}
		for _, err := range errs {
			if err.Field != "metadata.name" {
				t.Errorf("error for name %q is about %s", name, err.Field)
			}
		}
	}
}

func TestValidateBoundsErrors(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "policyreports")
	body := `{"results":[{}` + strings.Repeat(",{}", 9999) + `]}`
	errs := newStrategy(kind).Validate(t.Context(), decodeReport(t, kind, body))
	if len(errs) != maxFieldErrors {
		t.Errorf("%d errors, want %d", len(errs), maxFieldErrors)
	}
}

func TestValidateOtherObject(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "policyreports")
	rules := newStrategy(kind)
	for _, errs := range []field.ErrorList{
		rules.Validate(t.Context(), &runtime.Unknown{}),
		rules.ValidateUpdate(t.Context(), &runtime.Unknown{}, kind.New()),
		rules.ValidateUpdate(t.Context(), kind.New(), &runtime.Unknown{}),
	} {
		if len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal {
			t.Errorf("errors are %v, want an internal one", errs)
		}
	}
}
