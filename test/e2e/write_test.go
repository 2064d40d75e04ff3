// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// testApply is client-side apply, where kubectl computes the patch.
func testApply(t *testing.T, r *resource) {
	changed := func(report *unstructured.Unstructured) { setLabel(report, "step", "2") }
	for _, step := range []struct {
		name, input, want string
	}{
		{"first", r.report(t, "a", nil), "created"},
		{"same again", r.report(t, "a", nil), "unchanged"},
		{"changed", r.report(t, "a", changed), "configured"},
		{"label removed", r.report(t, "a", nil), "configured"},
	} {
		wantOutput(t, r.kubectl.RunInput(t, step.input, "apply", "-f", "-"), r.name("a")+" "+step.want)
	}
	if got := r.field(t, "a", ".metadata.labels.step"); got != "" {
		t.Errorf("label step is %q, want it removed", got)
	}
	if got := r.field(t, "a", "."+r.resultsPath()+"[1].source"); got != "kyverno" {
		t.Errorf("source of the second result is %q", got)
	}
}

func testServerSideApply(t *testing.T, r *resource) {
	apply := func(manager string, more ...string) []string {
		return append([]string{"apply", "--server-side", "--field-manager", manager, "-f", "-"}, more...)
	}
	step := func(value string) string {
		return r.report(t, "a", func(report *unstructured.Unstructured) { setLabel(report, "step", value) })
	}
	const path = ".metadata.labels.step"

	r.kubectl.RunInput(t, step("0"), apply("one", "--dry-run=server")...)
	r.kubectl.Refused(t, "", []string{"NotFound"}, "get", r.Resource, r.name("a"))

	r.kubectl.RunInput(t, step("1"), apply("one")...)
	r.kubectl.RunInput(t, step("2"), apply("one")...)
	r.kubectl.RunInput(t, step("3"), apply("one", "--dry-run=server")...)
	if got := r.field(t, "a", path); got != "2" {
		t.Errorf("label after two applies and a dry run is %q, want 2", got)
	}
	before := r.field(t, "a", ".metadata.resourceVersion")
	r.kubectl.RunInput(t, step("2"), apply("one")...)
	if after := r.field(t, "a", ".metadata.resourceVersion"); after != before {
		t.Errorf("an apply that changes nothing moved the resource version from %s to %s", before, after)
	}

	r.kubectl.Refused(t, step("4"), []string{"conflict", path}, apply("two")...)
	if got := r.field(t, "a", path); got != "2" {
		t.Errorf("label after a conflict is %q, want 2", got)
	}
	r.kubectl.RunInput(t, step("5"), apply("two", "--force-conflicts")...)
	if got := r.field(t, "a", path); got != "5" {
		t.Errorf("label after a forced apply is %q, want 5", got)
	}
	r.kubectl.Refused(t, step("6"), []string{"conflict", `"two"`}, apply("one")...)
}

func testEdit(t *testing.T, r *resource) {
	r.create(t, "a")
	editor := filepath.Join(t.TempDir(), "editor")
	script := "#!/bin/sh\nsed 's/^    e2e: .*/&\\n    edited: \"yes\"/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n"
	testkit.NoError(t, os.WriteFile(editor, []byte(script), 0o700))
	r.kubectl.WithEnv("KUBE_EDITOR="+editor).Run(t, "edit", r.Resource, r.name("a"))
	if got := r.field(t, "a", ".metadata.labels.edited"); got != "yes" {
		t.Errorf("label after the edit is %q, want yes", got)
	}
}

func testPatch(t *testing.T, r *resource) {
	r.create(t, "a")
	patch := func(kind, body string) []string {
		return []string{"patch", r.Resource, r.name("a"), "--type", kind, "--patch", body}
	}
	r.kubectl.Run(t, patch("merge", `{"metadata":{"labels":{"merged":"yes","e2e":null}}}`)...)
	// kubectl's default, which custom resources don't have.
	if result := r.kubectl.Try(t, "", patch("strategic", `{"metadata":{"labels":{"strategic":"yes"}}}`)...); result.Code == 0 || !strings.Contains(result.Stderr, "unknown format") {
		t.Errorf("a strategic merge patch: exit code %d, %s", result.Code, result.Stderr)
	}
	r.kubectl.Run(t, patch("json", `[{"op":"add","path":"/metadata/labels/added","value":"yes"}]`)...)
	for _, test := range []struct{ path, want string }{
		{".metadata.labels.merged", "yes"},
		{".metadata.labels.e2e", ""},
		{".metadata.labels.strategic", ""},
		{".metadata.labels.added", "yes"},
	} {
		if got := r.field(t, "a", test.path); got != test.want {
			t.Errorf("%s is %q, want %q", test.path, got, test.want)
		}
	}
	r.kubectl.Refused(t, "", []string{"invalid"},
		patch("json", `[{"op":"test","path":"/metadata/labels/added","value":"no"}]`)...)
}

// testRefusals are mistakes that have to be told to people in words that help.
func testRefusals(t *testing.T, r *resource) {
	r.create(t, "a")
	bogus := r.report(t, "b", func(report *unstructured.Unstructured) {
		results, _, _ := unstructured.NestedSlice(report.Object, pathOf(r)...)
		results[0].(map[string]any)["result"] = "bogus"
		testkit.NoError(t, unstructured.SetNestedSlice(report.Object, results, pathOf(r)...))
	})
	unknown := r.report(t, "c", func(report *unstructured.Unstructured) {
		report.Object["bogusField"] = "x"
	})
	stale := r.report(t, "a", func(report *unstructured.Unstructured) {
		report.SetResourceVersion("1")
	})
	for _, test := range []struct {
		name, input string
		want        []string
		arguments   []string
	}{
		{"created twice", r.report(t, "a", nil), []string{"AlreadyExists"}, []string{"create", "-f", "-"}},
		{"wrong enum", bogus, []string{r.resultsPath() + "[0].result", `"bogus"`, "Unsupported value"}, []string{"create", "-f", "-"}},
		{"unknown field", unknown, []string{"bogusField"}, []string{"create", "-f", "-"}},
		{"stale version", stale, []string{"Conflict"}, []string{"replace", "-f", "-"}},
		{"missing object", r.report(t, "z", nil), []string{"NotFound"}, []string{"replace", "-f", "-"}},
		{"unknown name", "", []string{"NotFound"}, []string{"get", r.Resource, r.name("z")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.kubectl.Refused(t, test.input, test.want, test.arguments...)
		})
	}
	wantOutput(t, r.kubectl.RunInput(t, unknown, "create", "--validate=ignore", "-f", "-"), "created")
	if got := r.field(t, "c", ".bogusField"); got != "" {
		t.Errorf("an unknown field was stored: %q", got)
	}
}

func testDelete(t *testing.T, r *resource) {
	r.create(t, "a", "b", "c", "d")
	r.kubectl.Run(t, "label", r.Resource, r.name("b"), r.name("c"), "remove=yes")

	r.kubectl.Run(t, "delete", r.Resource, r.name("a"))
	wantNames(t, []string{"b", "c", "d"}, r.names(t))

	r.kubectl.Run(t, "delete", r.Resource, "--selector", "remove=yes,"+r.selector())
	wantNames(t, []string{"d"}, r.names(t))

	r.kubectl.Refused(t, "", []string{"NotFound"}, "delete", r.Resource, r.name("a"))
	r.kubectl.Run(t, "delete", r.Resource, r.name("a"), "--ignore-not-found")
	if r.Namespaced {
		r.kubectl.Run(t, "delete", r.Resource, "--all")
	} else {
		r.kubectl.Run(t, "delete", r.Resource, "--field-selector", "metadata.name="+r.name("d"))
	}
	wantNames(t, []string{}, r.names(t))
}
