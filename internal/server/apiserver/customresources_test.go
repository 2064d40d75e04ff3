// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// widgets is where widgets of a version are.
func widgets(version string) string { return "/apis/example.com/" + version + "/namespaces/a/widgets" }

var widgetsResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":`

// withDefinitions makes a server keep the kinds of testdata/widgets.yaml, which is copied to a file that may change.
func withDefinitions(t *testing.T) (file string, option func(*apiserver.Options)) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "widgets.yaml")
	content := testkit.Must(os.ReadFile("testdata/widgets.yaml"))(t)
	testkit.NoError(t, os.WriteFile(file, content, 0o600))
	return file, func(o *apiserver.Options) { o.Storage.CustomResources = []string{file} }
}

// ask sends a request and returns the answer as a tree.
func ask(t *testing.T, s *testServer, want int, method, path, body string, headers ...string) *unstructured.Unstructured {
	t.Helper()
	code, _, answer := send(t, s, method, path, body, headers...)
	if code != want {
		t.Fatalf("%s %s: code %d, want %d: %s", method, path, code, want, answer)
	}
	read := &unstructured.Unstructured{}
	testkit.NoError(t, json.Unmarshal([]byte(answer), &read.Object))
	return read
}

func send(t *testing.T, s *testServer, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	a := s.do(t, method, path, []byte(body), headers...)
	return a.StatusCode, a.Header, string(a.body)
}

func at(t *testing.T, object *unstructured.Unstructured, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	testkit.NoError(t, err)
	return value
}

// TestCustomResources: what definitions can say works, as kube-apiserver does it.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	for name, newURL := range databases() {
		if name == "etcd" {
			continue // Custom resources are there without Docket.
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCustomResources(t, newURL(t))
		})
	}
}

func testCustomResources(t *testing.T, url string) {
	_, option := withDefinitions(t)
	s := startServer(t, url, option)
	created := ask(t, s, 201, "POST", widgets("v1"), widget+`{"color":"red","weight":1.50,"size":"5%","free":{"z":[null,1.0],"a":{}},"ports":[{"name":"x"}],"unknown":1},"status":{"replicas":3}}`)
	for path, want := range map[string]any{"replicas": 1.0, "weight": 1.5, "size": "5%"} {
		if got := at(t, created, "spec", path); got != want {
			t.Errorf("spec.%s is %v, want %v", path, got, want)
		}
	}
	if at(t, created, "status") != nil || at(t, created, "spec", "unknown") != nil {
		t.Errorf("a status or an unknown field was kept: %v", created.Object)
	}
	refused := ask(t, s, 422, "POST", widgets("v1"), strings.Replace(widget, `"w"`, `"many"`, 1)+`{"color":"blue","replicas":11}}`)
	if message, _ := at(t, refused, "message").(string); !strings.Contains(message, "only red widgets may be many") {
		t.Errorf("the message is %q", message)
	}
	ask(t, s, 422, "POST", widgets("v1"), strings.Replace(widget, `"w"`, `"twice"`, 1)+`{"color":"red","ports":[{"name":"x"},{"name":"x"}]}}`)
	_, header, answer := send(t, s, "GET", widgets("v1beta1")+"/w", "")
	if !strings.Contains(answer, `"apiVersion":"example.com/v1beta1"`) || !strings.Contains(header.Get("Warning"), "Widget is deprecated; use example.com/v1 Widget") {
		t.Errorf("as v1beta1: %v %s", header, answer)
	}
	status := ask(t, s, 200, "PATCH", widgets("v1")+"/w/status", `{"spec":{"color":"green"},"status":{"replicas":2,"conditions":[{"type":"Ready","status":"True"}]}}`,
		"Content-Type: application/merge-patch+json")
	if at(t, status, "spec", "color") != "red" || at(t, status, "status", "replicas") != 2.0 || at(t, status, "metadata", "generation") != 1.0 {
		t.Errorf("after an update of the status: %v", status.Object)
	}
	scaled := ask(t, s, 200, "PATCH", widgets("v1")+"/w/scale", `{"spec":{"replicas":5}}`, "Content-Type: application/merge-patch+json")
	if at(t, scaled, "kind") != "Scale" || at(t, scaled, "spec", "replicas") != 5.0 || at(t, scaled, "status", "replicas") != 2.0 {
		t.Errorf("scaled: %v", scaled.Object)
	}
	list := ask(t, s, 200, "GET", widgets("v1")+"?fieldSelector=spec.color%3Dred", "")
	if items, _ := at(t, list, "items").([]any); len(items) != 1 {
		t.Errorf("red widgets: %v", items)
	}
	table := ask(t, s, 200, "GET", widgets("v1"), "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	rows, _ := at(t, table, "rows").([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["cells"].([]any)[2] != "True" {
		t.Errorf("the table has the rows %v", rows)
	}
	applied := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"blue"}}`
	ask(t, s, 409, "PATCH", widgets("v1")+"/w?fieldManager=b", applied, "Content-Type: application/apply-patch+yaml")
	ask(t, s, 200, "PATCH", widgets("v1")+"/w?fieldManager=b&force=true", applied, "Content-Type: application/apply-patch+yaml")
	ask(t, s, 200, "DELETE", widgets("v1")+"/w", "")
}

// TestDefinitionsChange: files are read again, watches of a changed group end, and objects are served as the new
// definition says; what kube-apiserver would refuse changes nothing.
func TestDefinitionsChange(t *testing.T) {
	t.Parallel()
	t.Run("two versions", func(t *testing.T) {
		t.Parallel()
		testDefinitionsChange(t, func(definition string) string { return definition })
	})
	t.Run("one version", func(t *testing.T) { // What is stored is served as it is, until the schema changes.
		t.Parallel()
		testDefinitionsChange(t, func(definition string) string {
			one, _, _ := strings.Cut(definition, "  - name: v1beta1")
			return one
		})
	})
}

func testDefinitionsChange(t *testing.T, of func(definition string) string) {
	t.Helper()
	file, option := withDefinitions(t)
	testkit.NoError(t, os.WriteFile(file, []byte(of(string(testkit.Must(os.ReadFile(file))(t)))), 0o600))
	url := databases()["sqlite"](t)
	s := startServer(t, url, option)
	ask(t, s, 201, "POST", widgets("v1"), widget+`{"color":"red","weight":1}}`)
	watch := testkit.Must(s.client.Resource(widgetsResource).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}))(t)
	before := string(testkit.Must(os.ReadFile(file))(t))
	write := func(content string) { testkit.NoError(t, os.WriteFile(file, []byte(content), 0o600)) }
	write(strings.Replace(strings.ReplaceAll(before, "weight: {type: number}", "grade: {type: string, default: A}"), "shortNames: [wd]", "shortNames: [wg]", 1))
	deadline := time.After(20 * time.Second)
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-deadline:
			t.Fatal("the watch goes on")
		}
	}
	changed := ask(t, s, 200, "GET", widgets("v1")+"/w", "")
	if at(t, changed, "spec", "grade") != "A" || at(t, changed, "spec", "weight") != nil {
		t.Errorf("under the new definition: %v", changed.Object)
	}
	list := ask(t, s, 200, "GET", widgets("v1"), "")
	items, _ := at(t, list, "items").([]any)
	if len(items) != 1 || items[0].(map[string]any)["spec"].(map[string]any)["grade"] != "A" {
		t.Errorf("in a list: %v", items)
	}
	for what, content := range map[string]string{
		"of another scope": strings.Replace(before, "scope: Namespaced", "scope: Cluster", 1),
		"no definition":    "kind: Pod",
	} {
		write(content)
		testkit.Eventually(t, what+" is refused", func() bool {
			_, _, metrics := send(t, s, "GET", "/metrics", "")
			return strings.Contains(metrics, "docket_apiserver_definitions_refused 1")
		})
		ask(t, s, 200, "GET", widgets("v1")+"/w", "")
	}
	s.stop()
	if _, err := newServer(t.Context(), url, option); err == nil {
		t.Error("a server starts with what is no definition")
	}
	write(strings.Replace(before, "scope: Namespaced", "scope: Cluster", 1))
	if _, err := newServer(t.Context(), url, option); err == nil || !strings.Contains(err.Error(), "spec.scope") {
		t.Errorf("a server starts with a definition under which objects can't be read: %v", err)
	}
	write(before)
	again := startServer(t, url, option)
	if got := at(t, ask(t, again, 200, "GET", widgets("v1")+"/w", ""), "spec", "weight"); got != 1.0 {
		t.Errorf("what the definition between did not know is %v, want that it was kept", got)
	}
}

// TestReplicasAgree: a replica with other files than those that are served is not ready and serves what is agreed on,
// until all replicas have its files.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	url := databases()["postgres"](t)
	first, option := withDefinitions(t)
	a := startServer(t, url, option)
	ask(t, a, 201, "POST", widgets("v1"), widget+`{"color":"red"}}`)
	testkit.Eventually(t, "the definition is in the database", func() bool { return definitionsReady(t, a) == "" })
	second, other := withDefinitions(t)
	changed := []byte(strings.ReplaceAll(string(testkit.Must(os.ReadFile(second))(t)), "weight: {type: number}", "grade: {type: string, default: A}"))
	testkit.NoError(t, os.WriteFile(second, changed, 0o600))
	b := runUnready(t, testkit.Must(newServer(t.Context(), url, other))(t))
	testkit.Eventually(t, "the second replica says that the first has other definitions", func() bool {
		return strings.Contains(definitionsReady(t, b), "has other definitions")
	})
	if got := at(t, ask(t, b, 200, "GET", widgets("v1")+"/w", ""), "spec", "grade"); got != nil {
		t.Errorf("the second replica serves its own definition: grade %v", got)
	}
	if problem := definitionsReady(t, a); problem != "" {
		t.Errorf("the first replica: %s", problem)
	}
	testkit.NoError(t, os.WriteFile(first, changed, 0o600))
	for _, s := range []*testServer{a, b} {
		testkit.Eventually(t, "both serve the new definition", func() bool {
			return definitionsReady(t, s) == "" && at(t, ask(t, s, 200, "GET", widgets("v1")+"/w", ""), "spec", "grade") == "A"
		})
	}
}

// definitionsReady returns why a server is not ready because of definitions, "" if it is.
func definitionsReady(t *testing.T, s *testServer) string {
	t.Helper()
	code, _, text := send(t, s, "GET", "/readyz/docket-definitions", "")
	if code == http.StatusOK {
		return ""
	}
	return text
}
