// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// pathOf is resultsPath, as package unstructured wants it.
func pathOf(r *resource) []string { return strings.Split(r.resultsPath(), ".") }

func wantNames(t *testing.T, want, got []string) {
	t.Helper()
	testkit.NoDiff(t, cmp.Diff(want, got), "names (-want +got)")
}

// testDiscovery looks at what does not depend on a kind.
func testDiscovery(t *testing.T, server *harness.Server) {
	kubectl := server.Kubectl(t, "default")
	resources := kubectl.Run(t, "api-resources")
	for _, short := range []string{"polr", "cpolr", "reps", "creps", "ephr", "cephr"} {
		wantOutput(t, resources, " "+short+" ")
		kubectl.Run(t, "get", short, "-A")
	}
	for _, kind := range sample.Kinds() {
		wantOutput(t, resources, " "+kind.APIVersion+" ", " "+kind.Kind)
	}
	wantOutput(t, kubectl.Run(t, "version"), "Server Version")
	wantOutput(t, kubectl.Run(t, "auth", "can-i", "create", "policyreports"), "yes")
	wantOutput(t, kubectl.Run(t, "get", "--raw", "/readyz"), "ok")
}

func testGet(t *testing.T, r *resource) {
	r.create(t, "a", "b")
	table := strings.Split(strings.TrimSpace(r.kubectl.Run(t, "get", r.Resource, "-A", "--selector", r.selector())), "\n")
	if len(table) != 3 {
		t.Fatalf("want a heading and two lines, got:\n%s", strings.Join(table, "\n"))
	}
	wantOutput(t, table[0], "NAME", "PASS", "FAIL", "WARN", "ERROR", "SKIP", "AGE")
	if namespaced := strings.HasPrefix(table[0], "NAMESPACE"); namespaced != r.Namespaced {
		t.Errorf("the table begins with %q", table[0])
	}
	wantOutput(t, table[1], r.name("a"))
	wantOutput(t, r.kubectl.Run(t, "get", r.Resource, r.name("a"), "-o", "wide"), r.name("a"))
	wantOutput(t, r.kubectl.Run(t, "get", r.Resource, r.name("b"), "-o", "yaml"),
		"kind: "+r.Kind.Kind, "apiVersion: "+r.APIVersion, "uid: ", "creationTimestamp: ")
	if r.Namespaced {
		wantNames(t, []string{}, r.names(t, "--namespace", "elsewhere"))
	}
}

func testSelectors(t *testing.T, r *resource) {
	for i, short := range []string{"a", "b", "c"} {
		r.kubectl.RunInput(t, r.report(t, short, func(report *unstructured.Unstructured) {
			setLabel(report, "n", fmt.Sprint(i))
			if i > 0 {
				setLabel(report, "odd", fmt.Sprint(i%2 == 1))
			}
		}), "create", "-f", "-")
	}
	for _, test := range []struct {
		selector string
		want     []string
	}{
		{"n=1", []string{"b"}},
		{"n!=1", []string{"a", "c"}},
		{"n in (0,2)", []string{"a", "c"}},
		{"n notin (0,2)", []string{"b"}},
		{"odd", []string{"b", "c"}},
		{"!odd", []string{"a"}},
		{"odd,n=2", []string{"c"}},
		{"n>0", []string{"b", "c"}},
		{"n=9", []string{}},
	} {
		wantNames(t, test.want, r.names(t, "--selector", r.selector()+","+test.selector))
	}
	wantNames(t, []string{"b"}, r.names(t, "--field-selector", "metadata.name="+r.name("b")))
	wantNames(t, []string{"a", "c"}, r.names(t, "--selector", r.selector(), "--field-selector", "metadata.name!="+r.name("b")))
	if r.Namespaced {
		wantNames(t, []string{"a", "b", "c"}, r.names(t, "-A", "--field-selector", "metadata.namespace="+r.namespace))
		wantNames(t, []string{}, r.names(t, "-A", "--selector", r.selector(), "--field-selector", "metadata.namespace=elsewhere"))
	}
	for _, command := range []string{"get", "delete"} {
		r.kubectl.Refused(t, "", []string{"field label not supported"},
			command, r.Resource, "--field-selector", "status.bogus=x")
	}
	wantNames(t, []string{"a", "b", "c"}, r.names(t))
}

func testPages(t *testing.T, r *resource) {
	want := []string{"a", "b", "c", "d", "e"}
	r.create(t, want...)
	wantNames(t, want, r.names(t, "--selector", r.selector(), "--chunk-size=2"))

	path := "/apis/" + r.APIVersion + "/" + r.Resource + "?limit=2&labelSelector=" + strings.ReplaceAll(r.selector(), "=", "%3D")
	var page unstructured.UnstructuredList
	testkit.NoError(t, page.UnmarshalJSON([]byte(r.kubectl.Run(t, "get", "--raw", path))))
	if len(page.Items) != 2 || page.GetContinue() == "" {
		t.Errorf("a page has %d items and the continue token %q, want 2 and one", len(page.Items), page.GetContinue())
	}
}

func testWatch(t *testing.T, r *resource) {
	r.create(t, "a")
	all := r.kubectl.Watch(t, r.Resource, "--selector", r.selector())
	marked := r.kubectl.Watch(t, r.Resource, "--selector", r.selector()+",mark")
	one := r.kubectl.Watch(t, r.Resource, "--field-selector", "metadata.name="+r.name("b"))
	want := func(events <-chan harness.Event, kind, short string) {
		t.Helper()
		if got := harness.Next(t, events); got != kind+" "+r.name(short) {
			t.Errorf("event %q, want %s of %s", got, kind, short)
		}
	}
	want(all, "ADDED", "a")
	r.create(t, "b")
	want(all, "ADDED", "b")
	want(one, "ADDED", "b")
	r.kubectl.Run(t, "label", r.Resource, r.name("b"), "mark=1")
	want(all, "MODIFIED", "b")
	want(one, "MODIFIED", "b")
	want(marked, "ADDED", "b")
	r.kubectl.Run(t, "label", r.Resource, r.name("b"), "mark-")
	want(all, "MODIFIED", "b")
	want(marked, "DELETED", "b")
	r.kubectl.Run(t, "delete", r.Resource, r.name("a"))
	want(all, "DELETED", "a")
	r.kubectl.Run(t, "delete", r.Resource, r.name("b"))
	want(all, "DELETED", "b")
	want(one, "MODIFIED", "b")
	want(one, "DELETED", "b")
}

func testDescribe(t *testing.T, r *resource) {
	r.create(t, "a")
	wantOutput(t, r.kubectl.Run(t, "describe", r.Resource, r.name("a")),
		"Name: ", r.name("a"), "Kind:         "+r.Kind.Kind, "Results:", "disallow-capabilities", "Summary:")
}

func testExplain(t *testing.T, r *resource) {
	wantOutput(t, r.kubectl.Run(t, "explain", r.Resource), "KIND:", r.Kind.Kind, "DESCRIPTION:", "metadata")
	severity := r.kubectl.Run(t, "explain", r.Resource+"."+r.resultsPath()+".severity")
	wantOutput(t, severity, "FIELD: severity <string>", "critical")
	fields := strings.Fields(r.kubectl.Run(t, "explain", "--recursive", r.Resource))
	if !slices.Contains(fields, "resourceSelector") {
		t.Errorf("explain --recursive does not show resourceSelector")
	}
}
