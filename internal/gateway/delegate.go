// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// delegate is the cluster as the aggregator sees it: OpenAPI documents, and the end of
// all paths that nobody else answers.
type delegate struct {
	genericapiserver.DelegationTarget
}

// newDelegate returns what the aggregator asks about everything that it doesn't serve.
func newDelegate(documents http.Handler) genericapiserver.DelegationTarget {
	return delegate{genericapiserver.NewEmptyDelegateWithCustomHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/openapi/") {
			documents.ServeHTTP(w, r)
			return
		}
		if _, ok := groupVersionOf(r.URL.Path); ok {
			// The registration went away between the router and here. A 404 would make
			// controllers believe that objects are gone.
			fail(w, r, unavailable("docket gateway: who serves %s is changing; try again", r.URL.Path))
			return
		}
		fail(w, r, notServed(r))
	}))}
}

func notServed(r *http.Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, strings.ToLower(r.Method), schema.GroupResource{}, "", "", 0, true)
}

// ListedPaths implements genericapiserver.DelegationTarget. Without any, the library would
// not ask for OpenAPI documents.
func (delegate) ListedPaths() []string { return []string{"/openapi/v2", "/openapi/v3"} }
