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
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/docket-project/docket/internal/document"
)

// encodedStore returns the same store for answers that need nothing but JSON, nil if the storage can't serve those.
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
	if r.encoded != nil && document.WantsEncoded(ctx) {
		return r.encoded.List(ctx, options)
	}
	return r.Store.List(ctx, options)
}

// takesEncoded says whether the answer to a request is a report, or a list, as JSON: no Table, no PartialObjectMetadata,
// and not indented, as curl and browsers get it.
func takesEncoded(r *http.Request, serializer runtime.NegotiatedSerializer) bool {
	if r.Method != http.MethodGet {
		return false
	}
	chosen, info, err := negotiation.NegotiateOutputMediaType(r, serializer, anyForm{})
	return err == nil && chosen.Convert == nil && info.MediaType == runtime.ContentTypeJSON && info.Serializer != info.PrettySerializer
}

// anyForm lets pass whatever form a client accepts: whether it may have it is decided later.
type anyForm struct{}

func (anyForm) AllowsMediaTypeTransform(string, string, *schema.GroupVersionKind) bool { return true }
func (anyForm) AllowsServerVersion(string) bool                                        { return true }
func (anyForm) AllowsStreamSchema(string) bool                                         { return true }
