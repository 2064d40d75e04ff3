// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/imports"
)

// policyReports is the kind that most tests use.
func policyReports(t testing.TB) registry.Kind {
	t.Helper()
	return testkit.Must(registry.KindOf(schema.GroupResource{Group: "wgpolicyk8s.io", Resource: "policyreports"}))(t)
}

// sampleReport returns the i-th made-up report, with a UID and a time.
func sampleReport(t testing.TB, i int) imports.Object {
	t.Helper()
	for _, kind := range sample.Kinds() {
		if kind.Kind != "PolicyReport" {
			continue
		}
		data := testkit.Must(json.Marshal(sample.Cluster{Now: time.Unix(1_800_000_000, 0)}.Report(kind, i, 3)))(t)
		object, unknown, err := policyReports(t).Decode(data)
		if err != nil || len(unknown) > 0 {
			t.Fatalf("decode: %v, %v", unknown, err)
		}
		object.SetUID("5f8c0b8e-0000-4000-8000-000000000001")
		object.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
		object.SetGeneration(3)
		return object
	}
	t.Fatal("there is no such kind")
	return nil
}

func fingerprint(t testing.TB, object imports.Object, scope imports.Scope) string {
	t.Helper()
	return testkit.Must(imports.Fingerprint(object, scope))(t)
}

// TestFingerprintScope: what each scope covers, and what not.
func TestFingerprintScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change          func(imports.Object)
		exact, portable bool
	}{
		"resource version": {func(o imports.Object) { o.SetResourceVersion("7") }, false, false},
		"own annotation":   {func(o imports.Object) { annotate(o, imports.Annotation, "1,x") }, false, false},
		"other annotation": {func(o imports.Object) { annotate(o, "a", "b") }, true, true},
		"label":            {func(o imports.Object) { o.SetLabels(map[string]string{"x": "y"}) }, true, true},
		"owner": {func(o imports.Object) {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "u"}})
		}, true, true},
		"finalizer":  {func(o imports.Object) { o.SetFinalizers([]string{"a/b"}) }, true, true},
		"uid":        {func(o imports.Object) { o.SetUID("other") }, true, false},
		"creation":   {func(o imports.Object) { o.SetCreationTimestamp(metav1.Unix(1, 0)) }, true, false},
		"generation": {func(o imports.Object) { o.SetGeneration(4) }, true, false},
		"managed fields": {func(o imports.Object) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update"}})
		}, true, false},
		"content": {rename, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := sampleReport(t, 1), sampleReport(t, 1)
			c.change(after)
			if changed := fingerprint(t, before, imports.Exact) != fingerprint(t, after, imports.Exact); changed != c.exact {
				t.Errorf("exact: changed is %t", changed)
			}
			if changed := fingerprint(t, before, imports.Portable) != fingerprint(t, after, imports.Portable); changed != c.portable {
				t.Errorf("portable: changed is %t", changed)
			}
		})
	}
}

// rename gives another name to a policy in a report's results.
func rename(object imports.Object) {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	view, err := object.(interface {
		View() (report.Accessor, error)
	}).View()
	if err != nil {
		panic(err)
	}
	policy := `"policy":"` + view.GetResults()[1].Policy
	changed := bytes.Replace(data, []byte(policy), []byte(policy+"x"), 1)
	if _, err := object.(interface {
		Read(data []byte) ([]string, error)
	}).Read(changed); err != nil {
		panic(err)
	}
}

func annotate(object imports.Object, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

// Fingerprints are stored, and compared between releases: these must never change.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	object, _ := testkit.Must2(policyReports(t).Decode([]byte(`{"metadata":{"name":"a","namespace":"b","uid":"c"},"summary":{"pass":1}}`)))(t)
	if got, want := fingerprint(t, object, imports.Exact), "4a36a23a46ddccb1177dc422b7862786"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzMark: whatever an annotation says, it is understood or refused; and what is
// written is understood.
func FuzzMark(f *testing.F) {
	f.Add("1,0123456789abcdef0123456789abcdef")
	f.Add(",")
	f.Add("99999999999999999999999,x")
	f.Fuzz(func(t *testing.T, value string) {
		mark, ok := imports.ReadMark(map[string]string{imports.Annotation: value})
		if !ok {
			return
		}
		again, ok := imports.ReadMark(map[string]string{imports.Annotation: mark.String()})
		if !ok || again != mark {
			t.Errorf("%q gives %+v, which gives %+v", value, mark, again)
		}
	})
}

// FuzzFingerprint: any report that is decoded, stored and decoded again has the same
// fingerprint, or everything would count as touched.
func FuzzFingerprint(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a"},"results":[{"policy":"p","properties":{"b":"1","a":"é\u2028<"}}]}`))
	f.Add([]byte(`{"metadata":{"name":"a","annotations":{},"labels":null,"creationTimestamp":null},"summary":{"pass":-1}}`))
	kind := policyReports(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, _, err := kind.Decode(data)
		if err != nil {
			return
		}
		stored, err := json.Marshal(object)
		if err != nil {
			return
		}
		again, _, err := kind.Decode(stored)
		if err != nil {
			t.Fatalf("%s is stored as %s, which can't be read: %v", data, stored, err)
		}
		if a, b := fingerprint(t, object, imports.Exact), fingerprint(t, again, imports.Exact); a != b {
			t.Errorf("%s has another fingerprint after it was stored as %s", data, stored)
		}
	})
}
