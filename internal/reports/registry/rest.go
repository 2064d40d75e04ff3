// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// REST serves one kind of report from a storage.
type REST struct {
	*kinds.REST[object]

	kind Kind
	// encoded is Store for answers of JSON; nil if the storage has none.
	encoded *genericregistry.Store
}

var _ rest.StandardStorage = &REST{}

// NewREST returns what serves kind from the storage that optsGetter gives. The
// scheme is that of [NewScheme]. The caller calls Destroy when it is done.
func NewREST(kind Kind, scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*REST, error) {
	served, err := kinds.NewREST(kind.Kind, scheme, optsGetter)
	if err != nil {
		return nil, err
	}
	return &REST{REST: served, kind: kind, encoded: encodedStore(served.Store, kind)}, nil
}
