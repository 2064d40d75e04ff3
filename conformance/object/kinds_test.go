// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// api sends requests to a server.
type api struct {
	client *http.Client
	base   string
}

func newAPI(t *testing.T, config *rest.Config) *api {
	t.Helper()
	client := testkit.Must(rest.HTTPClientFor(config))(t)
	return &api{client, strings.TrimSuffix(config.Host, "/")}
}

func (a *api) send(t *testing.T, method, path string, body any) (code int, answer []byte) {
	t.Helper()
	data := []byte{}
	if body != nil {
		data = testkit.Must(json.Marshal(body))(t)
	}
	request := testkit.Must(http.NewRequestWithContext(t.Context(), method, a.base+path, bytes.NewReader(data)))(t)
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	answer = testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, answer
}

func (a *api) object(t *testing.T, method, path string, body any) (object *unstructured.Unstructured, problem string) {
	t.Helper()
	code, answer := a.send(t, method, path, body)
	if code/100 != 2 {
		var status metav1.Status
		_ = json.Unmarshal(answer, &status) // Else it has no message.
		return nil, fmt.Sprintf("%s %s: %d %s", method, path, code, status.Message)
	}
	object = &unstructured.Unstructured{}
	testkit.NoError(t, json.Unmarshal(answer, &object.Object))
	return object, ""
}

func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// checkKinds makes an object of each kind that can be made and changed, and changes it.
func checkKinds(t *testing.T, config *rest.Config, namespace string, but map[string]string) {
	t.Helper()
	a := newAPI(t, config)
	client := clientdiscovery.NewDiscoveryClientForConfigOrDie(config)
	_, lists := testkit.Must2(client.ServerGroupsAndResources())(t)
	a.send(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace, "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"}}})
	for _, list := range lists {
		gv := testkit.Must(schema.ParseGroupVersion(list.GroupVersion))(t)
		_, document := a.send(t, http.MethodGet, "/openapi/v3"+versionPath(gv), nil)
		schemas, err := ReadSchemas(document)
		if err != nil {
			t.Errorf("%s: %v", gv, err)
			continue
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if strings.Contains(resource.Name, "/") || !slices.Contains(resource.Verbs, "update") || !slices.Contains(resource.Verbs, "create") {
				continue
			}
			t.Run(list.GroupVersion+"/"+resource.Name, func(t *testing.T) {
				path := versionPath(gv)
				if resource.Namespaced {
					path += "/namespaces/" + namespace
				}
				hasStatus := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Name+"/status" })
				k := &kindTest{api: a, maker: NewMaker(gv.WithKind(resource.Kind), schemas, nil), schemas: schemas, path: path + "/" + resource.Name, hasStatus: hasStatus, namespace: namespace}
				k.compare(t)
				reason, except := but[resource.Name]
				if except {
					t.Skip(reason)
				}
				k.check(t)
			})
		}
	}
}

type kindTest struct {
	*api

	maker     *Maker
	schemas   *Schemas
	path      string
	namespace string
	hasStatus bool
}

// compare looks at what the server has already.
func (k *kindTest) compare(t *testing.T) {
	t.Helper()
	list, problem := k.object(t, http.MethodGet, k.path, nil)
	if problem != "" {
		t.Fatal(problem)
	}
	items, _ := list.Object["items"].([]any)
	for _, item := range items {
		object := &unstructured.Unstructured{Object: item.(map[string]any)}
		object.SetGroupVersionKind(k.maker.New().GroupVersionKind())
		for _, difference := range k.schemas.Differences(object) {
			t.Errorf("%s: difference: %s", object.GetName(), difference)
		}
	}
}

// name is that of all objects.
const name = "conformance-1"

func (k *kindTest) check(t *testing.T) {
	t.Helper()
	object := k.maker.New()
	object.SetName(name)
	if strings.Contains(k.path, "/namespaces/") {
		k.maker.Place(object, k.namespace)
	}
	if _, problem := k.object(t, http.MethodPost, k.path+"?dryRun=All", object); problem != "" {
		t.Fatalf("%s\nmade from %s: %s", problem, k.maker.Origin(), object.Object)
	}
	path := k.path + "/" + name
	if _, problem := k.object(t, http.MethodPost, k.path, object); problem != "" {
		t.Fatal(problem)
	}
	defer k.send(t, http.MethodDelete, path, map[string]any{"gracePeriodSeconds": 0})
	live, problem := k.object(t, http.MethodGet, path, nil)
	if problem != "" {
		t.Fatal(problem)
	}
	for _, difference := range k.schemas.Differences(live) {
		t.Errorf("difference: %s", difference)
	}
	k.try(t, "content", path, k.maker.ContentChanges)
	if k.hasStatus {
		k.try(t, "status", path+"/status", k.maker.StatusChanges)
	}
}

// try makes two changes, one after the other.
func (k *kindTest) try(t *testing.T, what, path string, changes func(*unstructured.Unstructured) []*unstructured.Unstructured) {
	t.Helper()
	for time := range 2 {
		live, problem := k.object(t, http.MethodGet, strings.TrimSuffix(path, "/status"), nil)
		if problem != "" {
			t.Fatal(problem)
		}
		var problems []string
		candidates := changes(live)
		for i, change := range candidates {
			answer, problem := k.put(t, path, change)
			if problem == "" && sameBut(answer, live) {
				problem = "no effect"
			}
			if problem == "" {
				t.Logf("%s change %d of %d accepted: %s", what, i+1, len(candidates), cmp.Diff(live.Object[rootOf(live, change)], change.Object[rootOf(live, change)]))
				break
			}
			problems = append(problems, problem)
		}
		if most, limited := map[string]int{"Namespace": 0, "PersistentVolumeClaim": 1}[live.GetKind()]; limited && what == "content" && time == most {
			return // No more changes are allowed.
		}
		if len(problems) == len(candidates) {
			t.Errorf("no %s change is accepted of %s: %s", what, live.Object, strings.Join(problems, "\n"))
			return
		}
		if len(problems) > 0 {
			t.Logf("before: %s", strings.Join(problems, "\n"))
		}
	}
}

// put changes an object that others may change, too.
func (k *kindTest) put(t *testing.T, path string, object *unstructured.Unstructured) (answer *unstructured.Unstructured, problem string) {
	t.Helper()
	for range 10 {
		if answer, problem = k.object(t, http.MethodPut, path, object); !strings.Contains(problem, ": 409 ") {
			break
		}
		live, _ := k.object(t, http.MethodGet, strings.TrimSuffix(path, "/status"), nil)
		object.SetResourceVersion(live.GetResourceVersion())
	}
	return answer, problem
}

// rootOf returns the first field that differs.
func rootOf(a, b *unstructured.Unstructured) string {
	for _, name := range sortedKeys(b.Object) {
		if !same(a.Object[name], b.Object[name]) {
			return name
		}
	}
	return ""
}

func sameBut(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Object, "metadata")
	delete(b.Object, "metadata")
	return same(a.Object, b.Object)
}

func TestKindsOfDocket(t *testing.T) {
	config := testkit.Must(server.Config(nil))(t)
	checkKinds(t, config, "object-test", map[string]string{
		"apiservices":               "their names are made of their content",
		"customresourcedefinitions": "their names are made of their content",
	})
}
