// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// decodeReport returns a report of kind with the JSON of a body and metadata, as a
// request has it.
func decodeReport(t *testing.T, kind Kind, body string) object {
	t.Helper()
	version, name := kind.GroupVersionKind.ToAPIVersionAndKind()
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, version, name)
	if body != "{}" {
		head += ","
	}
	found := objectOf(t, kind.New())
	testkit.NoError(t, json.Unmarshal([]byte(head+strings.TrimPrefix(body, "{")), found))
	if found.GetName() == "" {
		found.SetName("x")
	}
	if kind.Namespaced {
		found.SetNamespace("team-a")
	}
	return found
}

func TestPrepareForCreate(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		object := decodeReport(t, kind, `{"metadata":{"generation":9}}`)
		newStrategy(kind).PrepareForCreate(t.Context(), object)
		if got := object.GetGeneration(); got != 1 {
			t.Errorf("generation of a new %s is %d, want 1", kind.Resource, got)
		}
	}
}

func TestPrepareForUpdate(t *testing.T) {
	t.Parallel()
	const owner = `"owner":{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u"}`
	for name, test := range map[string]struct {
		resource         string
		stored, incoming string
		want             int64
	}{
		"nothing":        {"reports", `{"source":"a"}`, `{"source":"a"}`, 4},
		"labels":         {"reports", `{}`, `{"metadata":{"labels":{"a":"b"}}}`, 4},
		"annotations":    {"policyreports", `{}`, `{"metadata":{"annotations":{"a":"b"}}}`, 4},
		"finalizers":     {"policyreports", `{}`, `{"metadata":{"finalizers":["a/b"]}}`, 4},
		"generation":     {"policyreports", `{}`, `{"metadata":{"generation":77}}`, 4},
		"summary":        {"policyreports", `{"summary":{"pass":1}}`, `{"summary":{"pass":2}}`, 5},
		"summary unset":  {"policyreports", `{"summary":{"pass":0}}`, `{"summary":{}}`, 5},
		"results":        {"clusterpolicyreports", `{"results":[{"policy":"p"}]}`, `{"results":[{"policy":"q"}]}`, 5},
		"empty results":  {"clusterpolicyreports", `{"results":[]}`, `{}`, 5},
		"scope":          {"clusterreports", `{}`, `{"scope":{"name":"x"}}`, 5},
		"source":         {"clusterreports", `{"source":"a"}`, `{"source":"b"}`, 5},
		"configuration":  {"reports", `{"configuration":{"limits":{}}}`, `{}`, 5},
		"spec.results":   {"ephemeralreports", `{"spec":{` + owner + `}}`, `{"spec":{` + owner + `,"results":[{"policy":"p"}]}}`, 5},
		"spec unchanged": {"clusterephemeralreports", `{"spec":{` + owner + `}}`, `{"spec":{` + owner + `}}`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := kindOf(t, test.resource)
			stored := decodeReport(t, kind, test.stored)
			stored.SetGeneration(4)
			incoming := decodeReport(t, kind, test.incoming)
			newStrategy(kind).PrepareForUpdate(t.Context(), incoming, stored)
			if got := incoming.GetGeneration(); got != test.want {
				t.Errorf("generation is %d, want %d", got, test.want)
			}
		})
	}
}

// TestValidateUpdateOfInvalidReports: what was stored before a rule existed can
// still be labelled and changed elsewhere, but what changes has to be valid.
func TestValidateUpdateOfInvalidReports(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "policyreports")
	rules := newStrategy(kind)
	stored := decodeReport(t, kind, `{"metadata":{"finalizers":["a/b"]},"results":[{"result":"bad"}]}`)
	for name, test := range map[string]struct {
		incoming string
		errors   int
	}{
		"only metadata":   {`{"metadata":{"labels":{"a":"b"}},"results":[{"result":"bad"}]}`, 0},
		"other content":   {`{"summary":{"pass":1},"results":[{"result":"bad"}]}`, 0},
		"other results":   {`{"results":[{"result":"bad"},{"rule":"r"}]}`, 3},
		"mended":          {`{"results":[{"policy":"p","result":"fail"}]}`, 0},
		"invalid results": {`{"results":[{"policy":"p","result":"worse"}]}`, 1},
	} {
		incoming := decodeReport(t, kind, test.incoming)
		incoming.SetResourceVersion("1")
		errs := rules.ValidateUpdate(t.Context(), incoming, stored)
		if len(errs) != test.errors {
			t.Errorf("%s: errors are %v, want %d", name, errs, test.errors)
		}
	}
}

func TestFinalizerWarnings(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "reports")
	rules := newStrategy(kind)
	plain := `metadata.finalizers: "mine": use a name with a domain and a path, such as example.com/cleanup, so that others can't take the same`
	create := rules.WarningsOnCreate(t.Context(),
		decodeReport(t, kind, `{"metadata":{"finalizers":["orphan","foregroundDeletion","kubernetes","example.com/x","mine"]}}`))
	testkit.NoDiff(t, cmp.Diff([]string{plain}, create), "warnings on create (-want +got)")
	stored := decodeReport(t, kind, `{"metadata":{"finalizers":["old"]}}`)
	incoming := decodeReport(t, kind, `{"metadata":{"finalizers":["old","mine"]}}`)
	testkit.NoDiff(t, cmp.Diff([]string{plain}, rules.WarningsOnUpdate(t.Context(), incoming, stored)), "warnings on update (-want +got)")
	if got := rules.WarningsOnUpdate(t.Context(), stored, stored); len(got) != 0 {
		t.Errorf("an update that adds none warns: %v", got)
	}
}

func TestStrategyPolicies(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		rules := newStrategy(kind)
		if rules.NamespaceScoped() != kind.Namespaced {
			t.Errorf("%s: NamespaceScoped is %v", kind.Resource, rules.NamespaceScoped())
		}
		if rules.AllowCreateOnUpdate() || rules.AllowUnconditionalUpdate() {
			t.Errorf("%s: PUT creates or overwrites without resourceVersion", kind.Resource)
		}
		if got := rules.DefaultGarbageCollectionPolicy(t.Context()); got != rest.DeleteDependents {
			t.Errorf("%s: garbage collection policy is %s", kind.Resource, got)
		}
	}
}
