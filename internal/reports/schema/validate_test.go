// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/definition"
)

func schemaOf(t *testing.T, definition string) *Schema {
	t.Helper()
	for _, s := range allSchemas(t) {
		if s.Kind.Kind == definition {
			return s
		}
	}
	t.Fatalf("there is no %s", definition)
	return nil
}

// coerced returns an object of a schema as Coerce leaves it.
func coerced(t *testing.T, s *Schema, members string) map[string]any {
	t.Helper()
	var content map[string]any
	testkit.NoError(t, json.UnmarshalCaseSensitivePreserveInts([]byte("{"+members+"}"), &content))
	_, _, err := s.Coerce(content, Options{})
	testkit.NoError(t, err)
	return typed(s, content)
}

func texts(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return strings.Join(all, "\n")
}

// TestValidate: all that the library's strategies say counts, for a create, an update and one of the status.
func TestValidate(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "Container")
	const condition = `{"type":"Ready","status":"True","reason":"Fine","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}`
	for name, c := range map[string]struct{ members, old, want string }{
		"valid":                   {`"spec":{}`, "", ""},
		"required":                {``, "", "spec: Required value"},
		"CEL":                     {`"spec":{"ruled":{"low":9}}`, "", "spec.ruled: Invalid value: failed rule: self.low <= self.high"},
		"CEL after other errors":  {`"spec":{"ruled":{"low":9},"name":5}`, "", "some validation rules were not checked"},
		"a set":                   {`"spec":{"tags":["a","a"]}`, "", `spec.tags[1]: Duplicate value: "a"`},
		"a list by keys":          {`"spec":{"ports":[{"port":1},{"port":1}]}`, "", `spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}`},
		"oneOf":                   {`"spec":{"either":{}}`, "", `"spec.either" must validate one and only one schema (oneOf)`},
		"scale":                   {`"spec":{"replicas":-1}`, "", "spec.replicas: Invalid value: -1: should be a non-negative integer"},
		"an embedded object":      {`"spec":{"embedded":{"kind":"Pod","metadata":{"name":"a/b"}}}`, "", "spec.embedded.apiVersion: Required value"},
		"what was wrong and is":   {`"spec":{"few":[1,2,3],"name":"b"}`, `"spec":{"few":[1,2,3]}`, ""},
		"what was wrong, changed": {`"spec":{"few":[1,2,3]}`, `"spec":{"few":[1,2,3,4]}`, "spec.few: Too many"},
	} {
		var old map[string]any
		if c.old != "" {
			old = coerced(t, s, c.old)
			old["metadata"] = map[string]any{"name": "abc", "resourceVersion": "1"}
		}
		object := coerced(t, s, c.members)
		object["metadata"] = map[string]any{"name": "abc", "resourceVersion": "1"}
		got := texts(s.Validate(t.Context(), object, old))
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// An update of the status is not about the rest.
	old := coerced(t, s, `"spec":{"few":[1,2,3]}`)
	testkit.NoDiff(t, cmp.Diff("", texts(s.ValidateStatus(t.Context(), coerced(t, s, `"spec":{"few":[]},"status":{"conditions":[`+condition+`]}`), old))), "status")
	wrong := texts(s.ValidateStatus(t.Context(), coerced(t, s, `"spec":{},"status":{"conditions":[`+condition+`,`+condition+`,{"type":"A"}],"replicas":-1}`), old))
	for _, want := range []string{"status.conditions[1]: Duplicate", "status.conditions[2].reason: Required", "status.replicas"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("%s lacks %s", wrong, want)
		}
	}
	// Others judge metadata.
	object := coerced(t, s, `"spec":{}`)
	object["metadata"] = map[string]any{"name": "No Name", "namespace": "x"}
	testkit.NoDiff(t, cmp.Diff("", texts(s.Validate(t.Context(), object, nil))), "metadata")
	object["kind"] = "Gadget"
	testkit.NoDiff(t, cmp.Diff(`kind: Invalid value: "Gadget": must be Container`, texts(s.Validate(t.Context(), object, nil))), "kind")
}

// TestManyProblemsOfAnyKind: as of reports, whatever the rules are; and what has not changed is passed over all the
// same.
func TestManyProblemsOfAnyKind(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "Container")
	const count = 20_000
	var conditions, names []string
	for i := range count {
		conditions = append(conditions, fmt.Sprintf(`{"type":"%d","status":"True","reason":"","message":"","lastTransitionTime":"now"}`, i))
		names = append(names, fmt.Sprintf(`"%d":"too long"`, i))
	}
	for _, members := range []string{`"status":{"conditions":[` + strings.Join(conditions, ",") + `]}`, `"spec":{"labels":{` + strings.Join(names, ",") + `}}`} {
		object := coerced(t, s, members)
		started := time.Now()
		errs := s.Validate(t.Context(), object, nil)
		t.Logf("%d errors after %s", len(errs), time.Since(started))
		if len(errs) < maxProblems || len(errs) > 3*maxProblems {
			t.Errorf("%d errors, want those of some %d values", len(errs), maxProblems)
		}
	}
	invalid := coerced(t, s, `"spec":{"few":[1,2,3]},"status":{"conditions":[`+strings.Join(conditions[:2*maxProblems], ",")+`]}`)
	changed := coerced(t, s, `"spec":{"few":[1,2,3],"name":"b"},"status":{"conditions":[`+strings.Join(conditions[:2*maxProblems], ",")+`]}`)
	testkit.NoDiff(t, cmp.Diff("", texts(s.Validate(t.Context(), changed, invalid))), "unchanged problems")
}

// TestCoerceEmbedded: metadata in the body are read as metadata are.
func TestCoerceEmbedded(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "Container")
	const sent = `{"spec":{"embedded":{"apiVersion":"v1","kind":"Pod","extra":1,"metadata":{"name":"a","creationTimestamp":null,"colour":"red"}}}}`
	var content map[string]any
	testkit.NoError(t, json.UnmarshalCaseSensitivePreserveInts([]byte(sent), &content))
	_, unknown, err := s.Coerce(content, Options{WantUnknown: true})
	testkit.NoError(t, err)
	testkit.NoDiff(t, cmp.Diff([]string{"spec.embedded.metadata.colour"}, unknown), "unknown fields")
	const want = `{"spec":{"embedded":{"apiVersion":"v1","extra":1,"kind":"Pod","metadata":{"name":"a"}},` +
		`"name":"none","optionalDefault":"given","replicas":1,"settings":{"level":2,"mode":"quick"}}}`
	testkit.NoDiff(t, cmp.Diff(want, string(testkit.Must(Canonical(content))(t))), "body")
	for _, drop := range []bool{false, true} {
		content := map[string]any{"spec": map[string]any{"embedded": map[string]any{"apiVersion": int64(1)}}}
		if _, _, err := s.Coerce(content, Options{DropMalformed: drop}); (err == nil) != drop {
			t.Errorf("a malformed type, dropped %t: %v", drop, err)
		}
	}
}

// TestNew: a version has to be there.
func TestNew(t *testing.T) {
	t.Parallel()
	crd := testkit.Must(definition.Read("testdata/scalars.yaml"))(t)[0]
	if _, err := New(crd, "v2"); err == nil || !strings.Contains(err.Error(), "scalars.example.com: there is no schema of version v2") {
		t.Error(err)
	}
	s := testkit.Must(New(crd, "v1"))(t)
	if s.Kind.String() != "example.com/v1, Kind=Scalar" || s.Structural.Type != "object" {
		t.Errorf("%s %s", s.Kind, s.Structural.Type)
	}
}
