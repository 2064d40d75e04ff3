// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/cache/objects"
)

func configMap(namespace, name, tier string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"tier": tier})
	return o
}

// taken is a sink that notes the names of what it is given, and the outcome.
type taken struct {
	names []string
	err   error
}

func (s *taken) Update(any) error  { panic("documents don't change") }
func (s *taken) Delete(any) error  { panic("documents don't change") }
func (s *taken) Listing()          {}
func (s *taken) Changed(err error) { s.err = err }
func (s *taken) Failed(string)     {}

func (s *taken) Replace(list []any, _ string) error {
	for _, object := range list {
		s.names = append(s.names, object.(*unstructured.Unstructured).GetName())
	}
	return nil
}

// TestDocumentsAreSelectedAsInACluster: each path of the API feeds what a server would answer with, or an error if only
// a server can answer.
func TestDocumentsAreSelectedAsInACluster(t *testing.T) {
	t.Parallel()
	documents := objects.NewDocuments([]*unstructured.Unstructured{
		configMap("a", "one", "web"), configMap("a", "two", "db"), configMap("b", "one", "db"),
	})
	for path, want := range map[string]string{
		"/api/v1/configmaps":                                               "one two one",
		"/api/v1/namespaces/a/configmaps":                                  "one two",
		"/api/v1/namespaces/a/configmaps/two":                              "two",
		"/api/v1/namespaces/b/configmaps/two":                              "",
		"/api/v1/configmaps?labelSelector=tier%3Ddb":                       "two one",
		"/api/v1/configmaps?fieldSelector=metadata.namespace%21%3Da":       "one",
		"/api/v1/secrets":                                                  "",
		"/api/v1/namespaces/a/configmaps?fieldSelector=status.phase%3Dany": "needs a cluster",
	} {
		named, err := objects.ParsePath(path)
		if err != nil || named == nil {
			t.Fatalf("%s: %v, %v", path, named, err)
		}
		of, _ := named.In(documents.Kinds())
		into := &taken{}
		worker := documents.Feed(t.Context(), of, into)
		if !worker.Decided() {
			t.Errorf("%s: undecided", path)
		}
		worker.Stop()
		if into.err != nil {
			if want == "" || !strings.Contains(into.err.Error(), want) {
				t.Errorf("%s: %v", path, into.err)
			}
			continue
		}
		if got := strings.Join(into.names, " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
