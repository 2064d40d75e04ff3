// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// API answers what policies ask of a cluster from the documents of a scan of files, and for all else from the cluster
// behind them, if there is one: as if the files had been applied to it. It is a [Source], and as the transport of a
// client ([API.RoundTrip]) a whole small cluster.
type API struct {
	documents *Documents
	behind    *Behind
}

var _ Source = (*API)(nil)

// NewAPI returns the API of documents, whose kinds include those of the cluster behind them; nil for none.
func NewAPI(documents *Documents, behind *Behind) *API { return &API{documents, behind} }

// Kinds implements [Source].
func (a *API) Kinds() *served.Catalog { return a.documents.kinds }

// List returns the objects of a selection in the order of the API, its filter apart. Nobody may change them. An error
// names a kind that does not exist.
func (a *API) List(ctx context.Context, of Selection) ([]*unstructured.Unstructured, error) {
	if of.Resource.Kind == "" {
		return nil, unknown(of.Resource.GroupVersionResource)
	}
	found, err := a.list(ctx, of)
	if err != nil {
		return nil, err
	}
	list := make([]*unstructured.Unstructured, len(found))
	bare := of.Bare && of.Name == "" && isBuiltIn(of.Resource.Group)
	for i, one := range found {
		list[i] = one.object
		if bare {
			content := maps.Clone(one.object.Object)
			delete(content, "apiVersion")
			delete(content, "kind")
			list[i] = &unstructured.Unstructured{Object: content}
		}
	}
	return list, nil
}

func (a *API) list(ctx context.Context, of Selection) ([]stored, error) {
	kind := of.Resource.GVK().GroupKind()
	shared := a.behind.has(of.Resource)
	var found []stored
	if _, ok := a.documents.byKind[kind]; ok || !shared { // Else the cluster may know more of its fields.
		var err error
		if found, err = a.documents.list(of); err != nil {
			return nil, err
		}
	}
	if shared && !(of.Name != "" && a.documents.has(kind, keyOf(of.Namespace, of.Name))) {
		others, err := a.behind.list(ctx, of)
		if err != nil {
			return nil, err
		}
		for _, one := range others {
			if !a.documents.has(kind, one.key) {
				found = append(found, one)
			}
		}
	}
	if kind == namespaceKind {
		implied, err := a.implied(ctx, of, found)
		if err != nil {
			return nil, err
		}
		found = append(found, implied...)
	}
	slices.SortStableFunc(found, byKey)
	return found, nil
}

// implied returns the namespaces of a selection that have to exist, and are neither found nor in the cluster.
func (a *API) implied(ctx context.Context, of Selection, found []stored) ([]stored, error) {
	implied, err := a.documents.implied.list(of)
	if err == nil && len(implied) > 0 && of.Name == "" && a.behind.has(of.Resource) {
		found, err = a.behind.list(ctx, Selection{Resource: of.Resource}) // Those with other labels exist as well.
	}
	exist := make(map[string]bool, len(found))
	for _, one := range found {
		exist[one.key] = true
	}
	return slices.DeleteFunc(implied, func(one stored) bool { return exist[one.key] }), err
}

// Feed implements [Source]. The sink has all objects when it returns: an API does not change.
func (a *API) Feed(ctx context.Context, of Selection, into Sink) Worker {
	list, err := a.List(ctx, of)
	if err == nil {
		objects := make([]any, len(list))
		for i, object := range list {
			objects[i] = object
		}
		err = into.Replace(objects, "")
	}
	into.Changed(err)
	return fed{}
}

// fed is the worker of a sink that has all there will be.
type fed struct{}

// Decided implements [Worker].
func (fed) Decided() bool { return true }

// Stop implements [Worker].
func (fed) Stop() {}

// unknown says that nobody knows a kind.
func unknown(resource schema.GroupVersionResource) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"there is no kind %s in %s: it is none of Kubernetes' own, and neither a CustomResourceDefinition among the files nor a cluster defines it: correct the policy, or add the definition",
		resource.Resource, resource.GroupVersion()))
}
