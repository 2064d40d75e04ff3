// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// Config returns the configuration of clients of the API.
func (a *API) Config() *rest.Config {
	return &rest.Config{Host: "https://files", Transport: a, QPS: -1}
}

// REST returns a client for any path of the API.
func (a *API) REST() (rest.Interface, error) { return restClient(a.Config()) }

// RoundTrip answers requests as kube-apiserver does: reads of objects and lists, of the subresources that are parts of
// an object, and of what the API serves. All else only a cluster can answer.
func (a *API) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && !r.URL.Query().Has("watch") {
		body, err := a.read(r.Context(), r.URL.Path, r.URL.Query())
		if err != nil {
			return failed(r, err)
		}
		if body != nil {
			return respond(r, http.StatusOK, body)
		}
	}
	if a.behind != nil {
		return a.behind.forward(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // As transports have to.
	}
	return nil, errNoCluster
}

var errNoCluster = errors.New("only a cluster can answer that, and there is none: give one with --kubeconfig")

// read returns the answer to a GET; nil if it is not about what documents can have.
func (a *API) read(ctx context.Context, path string, query url.Values) (any, error) {
	if found := a.discovery(path); found != nil {
		return found, nil
	}
	of, subresource, err := a.locate(path)
	if of == nil || err != nil {
		return nil, err
	}
	if of.Name != "" {
		object, err := a.get(ctx, *of)
		if err != nil || subresource == "" {
			return object, err
		}
		return subresourceOf(object, subresource), nil
	}
	of.Labels, of.Fields, of.Bare = query.Get("labelSelector"), query.Get("fieldSelector"), true
	list, err := a.List(ctx, *of)
	if err != nil {
		return nil, err
	}
	return listOf(*of, list), nil
}

// locate returns the list or the object that a path names, and the subresource that it wants of the object; nil if it
// names something else.
func (a *API) locate(path string) (*Selection, string, error) {
	named, err := ParsePath(path)
	if err != nil {
		return nil, "", err
	}
	if named != nil {
		found, _ := named.In(a.Kinds())
		switch r := found.Resource; {
		case r.Kind != "" && r.Namespaced && found.Namespace == "" && found.Name != "":
			return nil, "", apierrors.NewBadRequest(fmt.Sprintf("%s: %s are in namespaces: name one in the path", path, r.GroupResource()))
		case r.Kind != "" && !r.Namespaced && found.Namespace != "":
			return nil, "", apierrors.NewBadRequest(fmt.Sprintf("%s: %s are in no namespace: name none in the path", path, r.GroupResource()))
		case r.Kind != "":
			return &found, "", nil
		case r.Resource != "status": // That of a namespace looks like a list.
			return nil, "", unknown(r.GroupVersionResource)
		}
	}
	last := strings.LastIndex(path, "/")
	above, err := ParsePath(path[:max(last, 0)])
	if err != nil || above == nil || above.Name == "" {
		return nil, "", err
	}
	found, _ := above.In(a.Kinds())
	if found.Resource.Kind == "" {
		return nil, "", unknown(found.Resource.GroupVersionResource)
	}
	return &found, path[last+1:], nil
}

// get returns one object.
func (a *API) get(ctx context.Context, of Selection) (*unstructured.Unstructured, error) {
	list, err := a.List(ctx, of)
	if err == nil && len(list) == 0 {
		err = apierrors.NewNotFound(of.Resource.GroupResource(), of.Name)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// listOf returns a list as the API sends it.
func listOf(of Selection, objects []*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{
		Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}, Items: make([]unstructured.Unstructured, len(objects)),
	}
	list.SetGroupVersionKind(of.Resource.GroupVersion().WithKind(of.Resource.Kind + "List"))
	for i, object := range objects {
		list.Items[i] = *object
	}
	return list
}

// subresourceOf returns a subresource that is made of an object; nil if it takes more, such as a process that runs.
func subresourceOf(object *unstructured.Unstructured, name string) any {
	switch {
	case slices.Contains([]string{"status", "ephemeralcontainers", "resize"}, name):
		return object
	case name == "scale" && object.GroupVersionKind().Group == appsv1.GroupName:
		var of appsv1.Deployment // The others have these fields, too.
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &of); err != nil {
			return nil
		}
		selector, err := metav1.LabelSelectorAsSelector(of.Spec.Selector)
		if err != nil {
			return nil
		}
		return &autoscalingv1.Scale{
			TypeMeta:   metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
			ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: of.Namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: ptr.Deref(of.Spec.Replicas, 1)},
			Status:     autoscalingv1.ScaleStatus{Replicas: of.Status.Replicas, Selector: selector.String()},
		}
	default:
		return nil
	}
}

// discovery returns what the API serves, as far as a path asks for it; nil for another path.
func (a *API) discovery(path string) any {
	group, parts := "", strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/apis":
		return a.groups()
	case len(parts) == 2 && parts[0] == "api":
	case len(parts) == 3 && parts[0] == "apis":
		group, parts = parts[1], parts[1:]
	default:
		return nil
	}
	version := schema.GroupVersion{Group: group, Version: parts[1]}
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for _, r := range a.Kinds().Resources() {
		if r.GroupVersion() != version {
			continue
		}
		verbs := metav1.Verbs{"create"}
		if r.Listable {
			verbs = metav1.Verbs{"get", "list"}
		}
		one := metav1.APIResource{Name: r.Resource, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: verbs}
		list.APIResources = append(list.APIResources, one)
		for _, subresource := range a.Kinds().Subresources(r.GroupVersionResource) {
			one.Name = r.Resource + "/" + subresource
			list.APIResources = append(list.APIResources, one)
		}
	}
	return list
}

// groups returns the groups that the API serves, with the preferred version first.
func (a *API) groups() *metav1.APIGroupList {
	list, at := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}, map[string]int{}
	for _, r := range a.Kinds().Resources() {
		version := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion().String(), Version: r.Version}
		i, known := at[r.Group]
		switch {
		case r.Group == "":
		case !known:
			at[r.Group] = len(list.Groups)
			list.Groups = append(list.Groups, metav1.APIGroup{Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		case !slices.Contains(list.Groups[i].Versions, version):
			list.Groups[i].Versions = append(list.Groups[i].Versions, version)
		}
	}
	return list
}

// respond answers a request.
func respond(r *http.Request, code int, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)),
	}, nil
}

// failed answers a request as an API server does if an error is its answer.
func failed(r *http.Request, err error) (*http.Response, error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return nil, err
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return respond(r, int(status.Code), &status)
}

// Client returns a client that shares the objects of the API with those who ask, who must not change them. All else it
// leaves to another client of the API.
func (a *API) Client(other dynamic.Interface) dynamic.Interface {
	return &client{Interface: other, api: a}
}

type client struct {
	dynamic.Interface
	api *API
	// lists are those that were read, and listed counts their objects.
	lists  Once[question, *unstructured.UnstructuredList]
	listed atomic.Int64
}

// maxListed is how many objects the lists of a client may have before all are forgotten: a word of memory each.
const maxListed = 4 << 20

// Resource returns the way to a resource.
func (c *client) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &reader{ResourceInterface: c.Interface.Resource(resource), client: c, of: Selection{Resource: served.Resource{GroupVersionResource: resource}}}
}

// reader reads objects of a resource, in a namespace or in all.
type reader struct {
	dynamic.ResourceInterface
	client *client
	of     Selection
}

// Namespace returns the way to the objects of a namespace.
func (r *reader) Namespace(namespace string) dynamic.ResourceInterface {
	out := *r
	out.ResourceInterface = r.client.Interface.Resource(r.of.Resource.GroupVersionResource).Namespace(namespace)
	out.of.Namespace = namespace
	return &out
}

// Get returns an object.
func (r *reader) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return r.ResourceInterface.Get(ctx, name, options, subresources...)
	}
	of, _ := r.of.In(r.client.api.Kinds())
	of.Name = name
	return r.client.api.get(ctx, of)
}

// List returns objects.
func (r *reader) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	of, _ := r.of.In(r.client.api.Kinds())
	of.Labels, of.Fields = options.LabelSelector, options.FieldSelector
	scope, _ := reach.Of(ctx)
	return r.client.lists.Get(ctx, question{of, scope}, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		list, err := r.client.api.List(ctx, of)
		if err != nil {
			return nil, err
		}
		if r.client.listed.Add(int64(len(list))) > maxListed {
			r.client.listed.Store(int64(len(list)))
			r.client.lists.Forget()
		}
		return listOf(of, list), nil
	})
}
