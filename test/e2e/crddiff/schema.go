// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Schema is a structural schema as a tree. It can judge values, so that valid ones can be found by trying.
type Schema struct {
	*apiextensionsv1.JSONSchemaProps

	fields map[string]*Schema // of Properties
	items  *Schema
	values *Schema // of AdditionalProperties
	// pattern is what strings have to match, nil if there is none.
	pattern *syntax.Regexp
	// branches are the schema narrowed by each alternative of oneOf or anyOf; a value of one of them is likely to be
	// valid. without has the fields that a narrowed schema must not have.
	branches []*Schema
	without  map[string]bool

	root  bool      // the schema of a whole object
	once  sync.Once // guards judge, which takes time to make
	judge *judge
}

// NewSchema returns the tree of the schema of a kind.
func NewSchema(props *apiextensionsv1.JSONSchemaProps) *Schema {
	s := newSchema(props)
	s.root = true
	return s
}

func newSchema(props *apiextensionsv1.JSONSchemaProps) *Schema {
	s := &Schema{JSONSchemaProps: props, without: map[string]bool{}}
	if len(props.Properties) > 0 {
		s.fields = map[string]*Schema{}
	}
	for name := range props.Properties {
		property := props.Properties[name]
		s.fields[name] = newSchema(&property)
	}
	if props.Items != nil && props.Items.Schema != nil {
		s.items = newSchema(props.Items.Schema)
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		s.values = newSchema(props.AdditionalProperties.Schema)
	}
	s.complete()
	return s
}

// complete adds the facts that follow from the rest.
func (s *Schema) complete() {
	if s.Pattern != "" {
		s.pattern, _ = syntax.Parse(s.Pattern, syntax.Perl) // If it is none, no value can be made to match.
	}
	if s.Not != nil {
		for _, one := range append([]apiextensionsv1.JSONSchemaProps{*s.Not}, s.Not.AnyOf...) {
			if len(one.Required) == 1 {
				s.without[one.Required[0]] = true
			}
		}
	}
	if s.XIntOrString {
		return // Its alternatives are the two types.
	}
	rest := *s.JSONSchemaProps
	switch {
	case len(s.AllOf) > 0:
		all := s
		for i := range s.AllOf {
			rest.AllOf = nil
			all = all.narrowed(rest, &s.AllOf[i])
			rest = *all.JSONSchemaProps
		}
		s.branches = []*Schema{all}
	case len(s.OneOf) > 0:
		rest.OneOf = nil
		s.branches = s.alternatives(rest, s.OneOf)
		for i := range s.OneOf {
			for _, branch := range s.branches {
				branch.avoid(s.OneOf[i].Required)
			}
		}
	case len(s.AnyOf) > 0:
		rest.AnyOf = nil
		s.branches = s.alternatives(rest, s.AnyOf)
	}
}

// avoid keeps fields out of values unless they are required there.
func (s *Schema) avoid(names []string) {
	for _, name := range names {
		if !slices.Contains(s.Required, name) {
			s.without[name] = true
		}
	}
	for _, branch := range s.branches {
		branch.avoid(names)
	}
}

// alternatives returns the schema narrowed by each of some.
func (s *Schema) alternatives(rest apiextensionsv1.JSONSchemaProps, by []apiextensionsv1.JSONSchemaProps) []*Schema {
	var all []*Schema
	for i := range by {
		all = append(all, s.narrowed(rest, &by[i]))
	}
	return all
}

// narrowed returns the schema with what one of its parts demands in addition to the rest. Where both have the same
// keyword, the part's counts: values that the rest refuses are tried in vain.
func (s *Schema) narrowed(rest apiextensionsv1.JSONSchemaProps, by *apiextensionsv1.JSONSchemaProps) *Schema {
	props := rest
	props.Not = cmp.Or(by.Not, rest.Not)
	for _, list := range []struct {
		to, from *[]apiextensionsv1.JSONSchemaProps
	}{{&props.OneOf, &by.OneOf}, {&props.AnyOf, &by.AnyOf}, {&props.AllOf, &by.AllOf}} {
		if len(*list.from) > 0 {
			*list.to = *list.from
		}
	}
	if len(by.Enum) > 0 {
		props.Enum = by.Enum
	}
	props.Required = slices.Concat(rest.Required, by.Required)
	props.Format, props.Pattern = cmp.Or(by.Format, rest.Format), cmp.Or(by.Pattern, rest.Pattern)
	props.Minimum, props.Maximum = cmp.Or(by.Minimum, rest.Minimum), cmp.Or(by.Maximum, rest.Maximum)
	props.MinLength, props.MaxLength = cmp.Or(by.MinLength, rest.MinLength), cmp.Or(by.MaxLength, rest.MaxLength)
	props.MinItems, props.MaxItems = cmp.Or(by.MinItems, rest.MinItems), cmp.Or(by.MaxItems, rest.MaxItems)
	branch := &Schema{JSONSchemaProps: &props, fields: maps.Clone(s.fields), items: s.items, values: s.values, without: maps.Clone(s.without)}
	for name := range by.Properties {
		property := by.Properties[name]
		if field := branch.fields[name]; field != nil {
			branch.fields[name] = field.narrowed(*field.JSONSchemaProps, &property)
		}
	}
	if by.Items != nil && by.Items.Schema != nil && s.items != nil {
		branch.items = s.items.narrowed(*s.items.JSONSchemaProps, by.Items.Schema)
	}
	branch.complete()
	return branch
}

// isIntricate reports whether values that obey each keyword by itself may be invalid nevertheless.
func (s *Schema) isIntricate() bool {
	return len(s.XValidations)+len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.Not != nil || s.MultipleOf != nil ||
		s.XListType != nil && *s.XListType != "atomic" || s.MinProperties != nil || s.MaxProperties != nil
}

// accepts reports whether a value is valid once its defaults are set.
func (s *Schema) accepts(v *Value) bool {
	s.once.Do(func() { s.judge = newJudge(s.JSONSchemaProps, s.root) })
	return s.judge.accepts(v)
}

// judge validates values as kube-apiserver does.
type judge struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// judged is the field of the object in which values of any type are judged.
const judged = "value"

func newJudge(props *apiextensionsv1.JSONSchemaProps, root bool) *judge {
	inner := *props
	inner.XEmbeddedResource = inner.XEmbeddedResource || root // Rules may ask for the name.
	wrapped := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{judged: inner}}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(wrapped, internal, nil); err != nil {
		panic(fmt.Sprintf("a schema that a server has accepted: %v", err))
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		panic(fmt.Sprintf("a schema that a server has accepted: %v", err))
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		panic(fmt.Sprintf("a schema that a server has accepted: %v", err))
	}
	return &judge{structural, validator, cel.NewValidator(structural, false, celconfig.PerCallLimit)}
}

func (j *judge) accepts(v *Value) bool {
	var value any
	if json.Unmarshal([]byte(v.Text()), &value) != nil {
		return false
	}
	object := map[string]any{judged: value}
	defaulting.Default(object, j.structural)
	if len(validation.ValidateCustomResource(nil, object, j.schema))+len(listtype.ValidateListSetsAndMaps(nil, j.structural, object)) > 0 {
		return false
	}
	if j.rules == nil {
		return true
	}
	refused, _ := j.rules.Validate(context.Background(), nil, j.structural, object, nil, math.MaxInt64)
	return len(refused) == 0
}
