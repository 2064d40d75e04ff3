// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

var update = flag.Bool("update", false, "rewrite the golden files that are made from this package")

// compareGolden compares got with a file in testdata.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testkit.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want := testkit.Must(os.ReadFile(path))(t)
	testkit.NoDiff(t, cmp.Diff(string(want), got), "%s (-want +got)", path)
}

// TestDiscovery: names, kinds and verbs are those that clients of Kubernetes know.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	lists, err := server.client.Discovery().ServerPreferredResources()
	if err != nil || len(lists) != len(GroupVersions()) {
		t.Fatalf("%d group versions, want %d: %v", len(lists), len(GroupVersions()), err)
	}
	var lines []string
	for _, served := range GroupVersions() {
		list := testkit.Must(server.client.Discovery().ServerResourcesForGroupVersion(served.String()))(t)
		for _, r := range list.APIResources {
			lines = append(lines, fmt.Sprintf("%s %s %s %s namespaced=%v short=%v categories=%v verbs=%v",
				served, r.Name, r.SingularName, r.Kind, r.Namespaced, r.ShortNames, r.Categories, r.Verbs))
		}
	}
	compareGolden(t, "discovery.golden", strings.Join(lines, "\n")+"\n")
}

// TestEveryResourceHasAGroupVersion: a row that is forgotten in GroupVersions would not
// be served.
func TestEveryResourceHasAGroupVersion(t *testing.T) {
	t.Parallel()
	served := GroupVersions()
	if served[0].GroupVersion != corev1.SchemeGroupVersion {
		t.Errorf("the first group version is %s", served[0])
	}
	for _, row := range resources() {
		if !slices.ContainsFunc(served, func(s Served) bool { return s.GroupVersion == row.GroupVersion() }) {
			t.Errorf("%s is not in GroupVersions", row.GroupVersion())
		}
	}
}

// TestOpenAPI: kubectl explain and apply find each kind by its group, version and kind.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	code, _, body := server.request(t, "GET", "/openapi/v2", "")
	if code != 200 {
		t.Fatalf("OpenAPI v2: %d", code)
	}
	inV2 := kindsOf(t, body, "definitions")
	for _, row := range resources() {
		path := "/openapi/v3/apis/" + row.GroupVersion().String()
		if row.GroupVersionKind.Group == "" {
			path = "/openapi/v3/api/v1"
		}
		code, _, body := server.request(t, "GET", path, "")
		if code != 200 {
			t.Fatalf("%s: %d", path, code)
		}
		want := row.GroupVersionKind.Group + "/" + row.GroupVersionKind.Version + "/" + row.GroupVersionKind.Kind
		if inV3 := kindsOf(t, body, "components", "schemas"); !slices.Contains(inV3, want) {
			t.Errorf("OpenAPI v3 has no %s", want)
		}
		if !slices.Contains(inV2, want) {
			t.Errorf("OpenAPI v2 has no %s", want)
		}
		if strings.Contains(body, "__internal") {
			t.Errorf("%s tells of internal versions", path)
		}
	}
}

// kindsOf returns the group version kinds that definitions at a path of keys name.
func kindsOf(t *testing.T, document string, path ...string) []string {
	t.Helper()
	var value map[string]any
	testkit.NoError(t, json.Unmarshal([]byte(document), &value))
	for _, step := range path {
		value, _ = value[step].(map[string]any)
	}
	var kinds []string
	for _, definition := range value {
		properties, _ := definition.(map[string]any)
		list, _ := properties["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range list {
			gvk, _ := entry.(map[string]any)
			kinds = append(kinds, fmt.Sprintf("%v/%v/%v", gvk["group"], gvk["version"], gvk["kind"]))
		}
	}
	return kinds
}
