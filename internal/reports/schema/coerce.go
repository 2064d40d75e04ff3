// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
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
	unknown = append(unknown, pruning.PruneWithOptions(content, s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: options.WantUnknown})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(content, s.structural)
	defaulting.Default(content, s.structural)
	return meta, unknown, nil
}

// Validate says what is wrong with an object of the schema's kind, as Coerce left it, but not
// all of it if there is very much: see maxProblems. With a stored object as old, what is wrong there already and
// stays is passed over.
func (s *Schema) Validate(content, old map[string]any) field.ErrorList {
	t := trimmer{left: maxProblems}
	shown := t.object(s.root, content)
	errs := s.validate(shown, old)
	if len(errs) == 0 && t.trimmed {
		return s.validate(content, old)
	}
	return errs
}

// validate is the library's way.
func (s *Schema) validate(content, old map[string]any) field.ErrorList {
	if old == nil {
		return validation.ValidateCustomResource(nil, content, s.validator)
	}
	correlated := common.NewCorrelatedObject(content, old, &model.Structural{Structural: s.structural})
	return validation.ValidateCustomResourceUpdate(nil, content, old, s.validator, validation.WithRatcheting(correlated))
}
