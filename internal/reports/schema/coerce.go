// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options change what Coerce does.
type Options struct {
	// OtherKind leaves the object as it is: it is going to be refused for its kind.
	OtherKind bool
	// WantUnknown asks for the paths of unknown fields.
	WantUnknown bool
	// DropMalformed leaves out fields of the metadata that are of the wrong type,
	// instead of failing.
	DropMalformed bool
	// KeepMissing sets no defaults, as where an object is converted to another version.
	KeepMissing bool
}

// Coerce makes of a decoded object of the schema's kind what is stored of it: it prunes
// fields that the kind doesn't have and nulls, and sets defaults. It changes content and
// returns the metadata, which it doesn't touch, nil if there are none, and the paths of
// unknown fields, metadata included, if they are wanted. It returns the errors of a
// request that can't be read.
//
// These are the steps of kube-apiserver's handler for custom resources
// (k8s.io/apiextensions-apiserver/pkg/apiserver, schemaCoercingDecoder).
func (s *Schema) Coerce(content map[string]any, options Options) (*metav1.ObjectMeta, []string, error) {
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{
		ReturnUnknownFieldPaths: options.WantUnknown, DropMalformedFields: options.DropMalformed,
	})
	if err != nil {
		return nil, nil, err
	}
	if options.OtherKind {
		return meta, unknown, nil
	}
	unknown = append(unknown, pruning.PruneWithOptions(content, s.Structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: options.WantUnknown})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(content, s.Structural)
	problem, paths := objectmeta.CoerceWithOptions(nil, content, s.Structural, false, objectmeta.CoerceOptions{
		DropInvalidFields: options.DropMalformed, ReturnUnknownFieldPaths: options.WantUnknown,
	})
	if problem != nil {
		return nil, nil, problem
	}
	if !options.KeepMissing {
		defaulting.Default(content, s.Structural)
	}
	return meta, append(unknown, paths...), nil
}
