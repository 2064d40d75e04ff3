// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// read reads an object from each line.
func read(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var list []*unstructured.Unstructured
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		object := &unstructured.Unstructured{}
		testkit.NoError(t, yaml.Unmarshal([]byte(line), object))
		list = append(list, object)
	}
	return list
}

const files = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: a, labels: {tier: db}}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: a, labels: {tier: web}}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: a-b, labels: {tier: db}}}
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}, spec: {nodeName: n1}, status: {phase: Running}}
{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: a}}
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {env: prod}}}
{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-, namespace: a}}
{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-, namespace: a}}
{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: a}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: a}, spec: {replicas: 3, selector: {matchLabels: {x: why}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: a}, spec: {replicas: 4, selector: {matchLabels: {x: why}}}}
{apiVersion: w.example/v1, kind: Widget, metadata: {name: w, namespace: a}, spec: {color: red}}
{apiVersion: w.example/v2, kind: Widget, metadata: {name: w, namespace: a}, spec: {color: blue}}
{apiVersion: w.example/v1, kind: Widget, metadata: {name: x, namespace: a}, spec: {color: red}}
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.w.example}, spec: {group: w.example, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}, {name: v2, served: true, selectableFields: [{jsonPath: .spec.color}]}, {name: v0, served: false}]}}
{apiVersion: loose.example/v1, kind: Mouse, metadata: {name: m, namespace: a}}
`

// newAPI is the API of files.
func newAPI(t *testing.T, behind *objects.Behind) *objects.API {
	t.Helper()
	list := read(t, files)
	return objects.NewAPI(objects.NewDocuments(list, objects.KindsOf(list, behind.Served())), behind)
}

// get returns the body of an answer; of an error, its text.
func get(ctx context.Context, t *testing.T, api *objects.API, method, path string) string {
	t.Helper()
	client := testkit.Must(api.REST())(t)
	path, query, _ := strings.Cut(path, "?")
	request := client.Verb(method).AbsPath(path)
	for part := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(part, "="); ok {
			request = request.Param(name, value)
		}
	}
	result := request.Do(reach.With(ctx, reach.Scope{}))
	if err := result.Error(); err != nil {
		return fmt.Sprintf("%d %v", codeOf(err), err)
	}
	body := testkit.Must(result.Raw())(t)
	return string(body)
}

func codeOf(err error) int {
	if status, ok := err.(apierrors.APIStatus); ok {
		return int(status.Status().Code)
	}
	return 0
}

// names are the names in a list.
func names(t *testing.T, body string) string {
	t.Helper()
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON([]byte(body)); err != nil {
		return body
	}
	var out []string
	for _, item := range list.Items {
		out = append(out, strings.TrimPrefix(item.GetNamespace()+"/", "/")+item.GetName())
	}
	return strings.Join(out, " ")
}

// TestFilesAreAnAPI: each request of the API has the answer that a server would give.
func TestFilesAreAnAPI(t *testing.T) {
	t.Parallel()
	api := newAPI(t, nil)
	for path, want := range map[string]string{
		"/api/v1/configmaps":                                               "a-b/one a/one a/two", // As in etcd: a hyphen comes before a slash.
		"/api/v1/namespaces/a/configmaps":                                  "a/one a/two",
		"/api/v1/namespaces/c/configmaps":                                  "",
		"/api/v1/configmaps?labelSelector=tier=db":                         "a-b/one a/two",
		"/api/v1/configmaps?labelSelector=tier notin (db)&limit=1":         "a/one",
		"/api/v1/configmaps?fieldSelector=metadata.namespace!=a":           "a-b/one",
		"/api/v1/configmaps?fieldSelector=metadata.name=one":               "a-b/one a/one",
		"/api/v1/pods?fieldSelector=status.phase=Running":                  "a/p",
		"/api/v1/pods?fieldSelector=status.phase=Pending":                  "a/q",
		"/api/v1/pods?fieldSelector=spec.nodeName!=n1":                     "a/q",
		"/api/v1/namespaces":                                               "a a-b default kube-node-lease kube-public kube-system",
		"/api/v1/namespaces?labelSelector=env":                             "a",
		"/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name=a-b": "a-b",
		"/apis/batch/v1/jobs":                                              "a/ a/",
		"/api/v1/secrets":                                                  "",
		"/apis/w.example/v2/widgets":                                       "a/w a/x",
		"/apis/w.example/v2/widgets?fieldSelector=spec.color=blue":         "a/w",
		"/apis/loose.example/v1/mouses":                                    "a/m",
	} {
		if got := names(t, get(t.Context(), t, api, http.MethodGet, path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/namespaces/c/configmaps":                              `{"apiVersion":"v1","items":[],"kind":"ConfigMapList","metadata":{"resourceVersion":"1"}}`,
		"/api/v1/namespaces/a-b/configmaps":                            `"items":[{"metadata":`,
		"/apis/loose.example/v1/mouses":                                `"items":[{"apiVersion":"loose.example/v1","kind":"Mouse",`,
		"/api/v1/namespaces/a/configmaps/one":                          `{"apiVersion":"v1","kind":"ConfigMap",`,
		"/api/v1/namespaces/a/pods/p/status":                           `"phase":"Running"`,
		"/api/v1/namespaces/a/status":                                  `"env":"prod"`,
		"/api/v1/namespaces/a-b":                                       `"kubernetes.io/metadata.name":"a-b"`,
		"/apis/apps/v1/namespaces/a/deployments/d":                     `"replicas":4`,
		"/apis/apps/v1/namespaces/a/deployments/d/scale":               `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d","namespace":"a"},"spec":{"replicas":4},"status":{"replicas":0,"selector":"x=why"}}`,
		"/apis/w.example/v1/namespaces/a/widgets/w":                    `{"apiVersion":"w.example/v1","kind":"Widget","metadata":{"name":"w","namespace":"a"},"spec":{"color":"blue"}}`,
		"/apis/w.example/v2":                                           `"name":"widgets","singularName":"","namespaced":true,"kind":"Widget"`,
		"/api/v1/namespaces/a/configmaps/none":                         `404 configmaps "none" not found`,
		"/api/v1/namespaces/a/pods/none/log":                           `404 pods "none" not found`,
		"/api/v1/namespaces/a/pods/p/log":                              "only a cluster can answer that",
		"/api/v1/configmaps/one":                                       "400 /api/v1/configmaps/one: configmaps are in namespaces",
		"/api/v1/namespaces/a/nodes/n":                                 "400 /api/v1/namespaces/a/nodes/n: nodes are in no namespace",
		"/api/v1/configmaps?fieldSelector=data.x=y":                    "400 field label not supported: data.x",
		"/apis/w.example/v1/widgets?fieldSelector=spec.color=blue":     "400 field label not supported: spec.color",
		"/apis/w.example/v0/widgets":                                   "400 there is no kind widgets in w.example/v0",
		"/apis/unknown.example/v1/namespaces/a/things/x":               "400 there is no kind things in unknown.example/v1",
		"/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers/h": "is in the files as autoscaling/v1, and only a cluster can convert it to autoscaling/v2",
		"/version":                "only a cluster can answer that",
		"/api/v1/pods?watch=true": "only a cluster can answer that",
	} {
		if got := get(t.Context(), t, api, http.MethodGet, path); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := get(t.Context(), t, api, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews"); !strings.Contains(got, "only a cluster can answer that, and there is none: give one with --kubeconfig") {
		t.Errorf("a review: %s", got)
	}
}

// clusterOf is a cluster that answers paths with objects, and counts the requests.
func clusterOf(t *testing.T, answers map[string]string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	asked := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		body, found := answers[r.Method+" "+r.URL.RequestURI()]
		switch {
		case body == "forbidden":
			w.WriteHeader(http.StatusForbidden)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`
		case !found:
			w.WriteHeader(http.StatusNotFound)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not there"}`
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

// behind is a cluster that has Kubernetes' own kinds, and gadgets.
func behind(t *testing.T, host string, timeout time.Duration) *objects.Behind {
	t.Helper()
	gadgets := served.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "g.example", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", Namespaced: true, Listable: true}
	return testkit.Must(objects.NewBehind(&rest.Config{Host: host, QPS: -1}, objects.KindsOf(nil, served.CatalogOf([]served.Resource{gadgets})), timeout, 0))(t)
}

// TestClusterBehindFiles: what files don't have comes from the cluster, as if they had been applied to it, each thing
// is asked once, with the rights of the reader.
func TestClusterBehindFiles(t *testing.T) {
	t.Parallel()
	cm := func(namespace, name string) string {
		return `{"metadata":{"namespace":"` + namespace + `","name":"` + name + `"}}`
	}
	list := func(items ...string) string {
		return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
	}
	server, asked := clusterOf(t, map[string]string{
		"GET /api/v1/configmaps":                                  list(cm("0", "first"), cm("a", "one"), cm("a", "three")),
		"GET /api/v1/configmaps?labelSelector=tier%3Ddb":          list(cm("a", "one"), cm("a", "three")),
		"GET /api/v1/namespaces/a/configmaps/three":               `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"three"}}`,
		"GET /api/v1/secrets":                                     "forbidden",
		"GET /api/v1/namespaces":                                  `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"default"}},{"metadata":{"name":"z","labels":{"env":"dev"}}}]}`,
		"GET /api/v1/namespaces?labelSelector=%21env":             `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"default"}}]}`,
		"GET /apis/g.example/v1/gadgets?fieldSelector=spec.x%3Dy": `{"kind":"GadgetList","apiVersion":"g.example/v1","metadata":{},"items":[{"kind":"Gadget","apiVersion":"g.example/v1","metadata":{"name":"g","namespace":"a"}}]}`,
		"GET /version":                                            `{"major":"1"}`,
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews": `{"status":{"allowed":true}}`,
	})
	api := newAPI(t, behind(t, server.URL, time.Minute))
	for range 2 {
		for path, want := range map[string]string{
			"/api/v1/configmaps":                                "0/first a-b/one a/one a/three a/two",
			"/api/v1/configmaps?labelSelector=tier=db":          "a-b/one a/three a/two",
			"/api/v1/namespaces":                                "a a-b default kube-node-lease kube-public kube-system z",
			"/api/v1/namespaces?labelSelector=!env":             "a-b default kube-node-lease kube-public kube-system",
			"/apis/g.example/v1/gadgets?fieldSelector=spec.x=y": "a/g",
		} {
			if got := names(t, get(t.Context(), t, api, http.MethodGet, path)); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		for path, want := range map[string]string{
			"/api/v1/namespaces/a/configmaps/one":   `"tier":"web"`,
			"/api/v1/namespaces/a/configmaps/three": `"name":"three"`,
			"/api/v1/namespaces/a/configmaps/four":  `404 configmaps "four" not found`,
			"/api/v1/secrets":                       "403 not for you",
			"/apis/unknown.example/v1/things":       "400 there is no kind things in unknown.example/v1",
		} {
			if got := get(t.Context(), t, api, http.MethodGet, path); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
	if got := asked.Load(); got != 8 {
		t.Errorf("the cluster was asked %d times", got)
	}
	if got := get(t.Context(), t, api, http.MethodGet, "/version"); got != `{"major":"1"}` {
		t.Errorf("the version is %s", got)
	}
	if got := get(t.Context(), t, api, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews"); !strings.Contains(got, "true") {
		t.Errorf("a review: %s", got)
	}
}

// TestClusterGoesAway: it is waited for once; what files have is still found.
func TestClusterGoesAway(t *testing.T) {
	t.Parallel()
	hang, asked := make(chan struct{}), &atomic.Int64{}
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-hang
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(hang) })
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, url := range map[string]string{"silent": silent.URL, "gone": gone.URL} {
		api := newAPI(t, behind(t, url, 100*time.Millisecond))
		for _, path := range []string{"/api/v1/namespaces/a/configmaps/x", "/api/v1/namespaces/a/configmaps/y", "/version"} {
			if got := get(t.Context(), t, api, http.MethodGet, path); !strings.Contains(got, "the cluster "+url+" has gone away") {
				t.Errorf("%s: %s: %s", name, path, got)
			}
		}
		if got := get(t.Context(), t, api, http.MethodGet, "/api/v1/namespaces/a/configmaps/one"); !strings.Contains(got, "web") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("a silent cluster was asked %d times", asked.Load())
	}
}

// TestSharedClient: the objects of files are not copied for those who read them, whose answers are otherwise the same.
func TestSharedClient(t *testing.T) {
	t.Parallel()
	api := newAPI(t, nil)
	client := api.Client(testkit.Must(dynamic.NewForConfig(api.Config()))(t))
	widgets := client.Resource(schema.GroupVersionResource{Group: "w.example", Version: "v2", Resource: "widgets"})
	list := testkit.Must(widgets.Namespace("a").List(t.Context(), metav1.ListOptions{LabelSelector: "!x"}))(t)
	if len(list.Items) != 2 || list.GetKind() != "WidgetList" || list.GetAPIVersion() != "w.example/v2" {
		t.Errorf("%v", list)
	}
	one := testkit.Must(widgets.Namespace("a").Get(t.Context(), "w", metav1.GetOptions{}))(t)
	one.Object["touched"] = true
	if again := testkit.Must(widgets.Namespace("a").Get(t.Context(), "w", metav1.GetOptions{}))(t); again.Object["touched"] != true {
		t.Error("it was copied")
	}
	if _, err := widgets.Namespace("a").Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("a")
	if got := testkit.Must(pods.Get(t.Context(), "p", metav1.GetOptions{}, "status"))(t); got.GetName() != "p" {
		t.Error(got)
	}
	if _, err := client.Resource(schema.GroupVersionResource{Group: "x", Version: "v1", Resource: "none"}).List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "no kind none in x/v1") {
		t.Error(err)
	}
}
