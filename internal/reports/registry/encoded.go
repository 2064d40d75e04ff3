// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/docket-project/docket/internal/reports/document"
)

// encodedStore returns the same store for answers that need only JSON, or nil if the storage can't serve those.
func encodedStore(store *genericregistry.Store, kind Kind) *genericregistry.Store {
	if able, ok := store.Storage.Storage.(interface{ ServesEncoded() bool }); !ok || !able.ServesEncoded() {
		return nil
	}
	encoded := *store
	encoded.NewFunc = func() runtime.Object { return document.NewEncoded(kind.GroupVersionKind) }
	encoded.NewListFunc = func() runtime.Object { return document.NewEncodedList(kind.ListKind()) }
	return &encoded
}

// Get implements rest.Getter.
func (r *REST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	if r.encoded != nil && document.WantsEncoded(ctx) {
		return r.encoded.Get(ctx, name, options)
	}
	return r.Store.Get(ctx, name, options)
}

// List implements rest.Lister.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if form, ok := ctx.Value(formKey{}).(document.Form); ok {
		return r.shaped(form).List(ctx, options)
	}
	if r.encoded != nil && document.WantsEncoded(ctx) {
		return r.encoded.List(ctx, options)
	}
	return r.Store.List(ctx, options)
}

// shaped returns the same store for lists in a form.
func (r *REST) shaped(form document.Form) *genericregistry.Store {
	shaped := *r.encoded
	shaped.NewListFunc = func() runtime.Object { return document.NewShapedList(r.kind.ListKind(), form) }
	return &shaped
}

// encodedRequest marks a request whose answer is a report or a list as JSON: it needs the stored JSON and nothing else.
// Indented JSON, which browsers and curl get, is left to the library.
func (g *group) encodedRequest(r *http.Request, info *request.RequestInfo) *http.Request {
	if r.Method != http.MethodGet {
		return r
	}
	target, ok := plainJSON(r, g.serializer, anyForm{})
	switch {
	case !ok:
		return r
	case target == nil:
		return r.WithContext(document.WithEncoded(r.Context()))
	}
	served, ok := g.storages[schema.GroupVersionResource{Group: g.name, Version: info.APIVersion, Resource: info.Resource}]
	if !ok || served.encoded == nil || info.Verb != "list" {
		return r
	}
	return served.shapedRequest(r, *target, g.serializer)
}

// plainJSON says whether the answer to a request is JSON that is not indented, and what it is to be converted to.
func plainJSON(r *http.Request, serializer runtime.NegotiatedSerializer, allowed negotiation.EndpointRestrictions) (*schema.GroupVersionKind, bool) {
	chosen, info, err := negotiation.NegotiateOutputMediaType(r, serializer, allowed)
	return chosen.Convert, err == nil && info.MediaType == runtime.ContentTypeJSON && info.Serializer != info.PrettySerializer
}

// anyForm allows every form that a client accepts: whether the client may have it is decided later.
type anyForm struct{}

func (anyForm) AllowsMediaTypeTransform(string, string, *schema.GroupVersionKind) bool { return true }
func (anyForm) AllowsServerVersion(string) bool                                        { return true }
func (anyForm) AllowsStreamSchema(string) bool                                         { return true }
