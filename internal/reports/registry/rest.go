// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// REST serves one kind from a storage.
type REST struct {
	*kinds.REST[object]

	kind  Kind
	table *table
	// parts are the subresources by name.
	parts map[string]rest.Storage
	// encoded is Store for answers of JSON; nil if the storage has none.
	encoded *genericregistry.Store
}

var _ rest.StandardStorage = &REST{}

// NewREST returns what serves kind from the storage that optsGetter gives. The caller calls Destroy when it is done.
func NewREST(kind Kind, optsGetter generic.RESTOptionsGetter) (*REST, error) {
	served, err := kinds.NewREST(kind.Kind, newTypes(runtime.NewScheme(), []Kind{kind}), withCodec{optsGetter, kind.Codec()})
	if err != nil {
		return nil, err
	}
	columns, err := newTable(kind)
	if err != nil {
		return nil, fmt.Errorf("printed columns of %s: %w", kind.GroupResource(), err)
	}
	served.TableConvertor = columns
	r := &REST{REST: served, kind: kind, table: columns, parts: map[string]rest.Storage{}, encoded: encodedStore(served.Store, kind)}
	subresources := kind.version().Subresources
	if subresources == nil {
		return r, nil
	}
	if subresources.Status != nil {
		r.parts[statusMember] = served.Subresource(status())
	}
	if subresources.Scale != nil {
		if r.parts["scale"], err = newScale(kind, optsGetter); err != nil {
			r.Destroy()
			return nil, err
		}
	}
	return r, nil
}

// Destroy implements rest.Storage.
func (r *REST) Destroy() {
	for _, part := range r.parts {
		part.Destroy()
	}
	r.REST.Destroy()
}

// Kind returns the kind that is served.
func (r *REST) Kind() Kind { return r.kind }

// withCodec stores objects with a codec of their kind.
type withCodec struct {
	generic.RESTOptionsGetter

	codec runtime.Codec
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g withCodec) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	config := *options.StorageConfig
	config.Codec = g.codec
	options.StorageConfig = &config
	return options, nil
}
