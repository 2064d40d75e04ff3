// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/reports/schema"
)

// Kind is a served version of a kind of objects. It is shared by its objects, and read-only.
type Kind struct {
	// GroupVersionKind is what clients see, ListKind that of lists.
	GroupVersionKind, ListKind gvk.GroupVersionKind
	// Schema judges objects.
	Schema *schema.Schema
	// Schemas are those of all versions by name, Schema among them. What was stored may have any of these versions.
	Schemas map[string]*schema.Schema
	// StoredVersion is the name of the version in which objects are stored.
	StoredVersion string
	// Proven says that whatever is stored was judged by the schema: it has not changed since there are objects.
	Proven bool
	// NewView returns an empty Go type of the kind, by which its objects can be read; nil if there is none.
	NewView func() report.Accessor
}

// converts says whether objects have more than one version, between which they are converted.
func (k *Kind) converts() bool { return len(k.Schemas) > 1 }

// storedSchema returns the schema of a version in which an object was stored.
func (k *Kind) storedSchema(version string) *schema.Schema {
	if s, ok := k.Schemas[version]; ok {
		return s
	}
	return k.Schema
}

// To returns the object as one of another version of its kind, which it states. Bodies are shared where they are equal.
func (o *Object) To(kind *Kind) (*Object, error) {
	converted := *o
	converted.Of = kind
	converted.state()
	if kind == o.Of {
		return &converted, nil
	}
	return &converted, converted.rewrite(schema.Options{KeepMissing: true}, kind.Schema)
}
