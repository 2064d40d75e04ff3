// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store/engine"
)

// nameField and namespaceField can be selected in every kind.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// selectable is a field or a label that selectors know, and the field of rows that it is.
type selectable struct {
	name  string
	field engine.Field
}

// resultFields are the fields that results can be selected by: all except long ones, and those that differ for
// each result.
func resultFields() []selectable {
	return selectables(
		engine.FieldResult, engine.FieldSeverity, engine.FieldSource, engine.FieldPolicy, engine.FieldRule, engine.FieldCategory,
		engine.FieldReportKind, engine.FieldReport, engine.FieldSubjectAPIVersion, engine.FieldSubjectKind, engine.FieldSubjectNamespace,
		engine.FieldSubjectName, engine.FieldSubjectUID,
	)
}

// policyFields are those of summaries of policies.
func policyFields() []selectable { return selectables(engine.FieldSource, engine.FieldPolicy) }

func selectables(fields ...engine.Field) []selectable {
	all := make([]selectable, len(fields))
	for i, field := range fields {
		all[i] = selectable{string(field), field}
	}
	return all
}

// derivedLabels are the labels that results have of their fields.
func derivedLabels() []selectable {
	return []selectable{
		{v1alpha1.LabelResult, engine.FieldResult},
		{v1alpha1.LabelSeverity, engine.FieldSeverity},
		{v1alpha1.LabelSource, engine.FieldSource},
		{v1alpha1.LabelPolicy, engine.FieldPolicy},
		{v1alpha1.LabelCategory, engine.FieldCategory},
		{v1alpha1.LabelSubjectKind, engine.FieldSubjectKind},
	}
}

// fieldNames lists what can be selected, for errors.
func fieldNames(namespaced bool, fields []selectable) []string {
	names := []string{nameField}
	if namespaced {
		names = append(names, namespaceField)
	}
	for _, field := range fields {
		names = append(names, field.name)
	}
	return names
}

// mayBeHashed reports whether a value of a label may be that of a text that is not valid as it is.
func mayBeHashed(value string) bool {
	if len(value) < v1alpha1.LabelHashDigits {
		return false
	}
	before, digits := value[:len(value)-v1alpha1.LabelHashDigits], value[len(value)-v1alpha1.LabelHashDigits:]
	return (before == "" || strings.HasSuffix(before, "-")) && strings.Trim(digits, "0123456789abcdef") == ""
}

// labelsOf returns the labels of a result.
func labelsOf(result *v1alpha1.Result) map[string]string {
	kind := ""
	if result.Subject != nil {
		kind = result.Subject.Kind
	}
	set := map[string]string{}
	for _, label := range []struct{ key, text string }{
		{v1alpha1.LabelResult, result.Result}, {v1alpha1.LabelSeverity, result.Severity}, {v1alpha1.LabelSource, result.Source},
		{v1alpha1.LabelPolicy, result.Policy}, {v1alpha1.LabelCategory, result.Category}, {v1alpha1.LabelSubjectKind, kind},
	} {
		if value := v1alpha1.LabelValue(label.text); value != "" {
			set[label.key] = value
		}
	}
	return set
}

// chosen is what the selectors of a list ask for.
type chosen struct {
	filter *engine.Filter
	// name is the only one that is wanted; "" for all.
	name string
	// nothing says that the selectors contradict each other.
	nothing bool
}

// choose turns the selectors of a list into a filter, and narrows the scope to the namespace that they name.
func (s *source) choose(ctx context.Context, options *metainternalversion.ListOptions, fields []selectable, in scope) (chosen, scope, error) {
	var out chosen
	if options == nil {
		return out, in, nil
	}
	if options.FieldSelector != nil {
		for _, r := range options.FieldSelector.Requirements() {
			switch at := slices.IndexFunc(fields, func(f selectable) bool { return f.name == r.Field }); {
			case at >= 0:
				filter := engine.Equal(fields[at].field, r.Value)
				if r.Operator == selection.NotEquals {
					filter = engine.Negate(filter)
				}
				out.filter = engine.Both(out.filter, filter)
			case r.Operator == selection.NotEquals:
				return out, in, apierrors.NewBadRequest("fieldSelector: " + r.Field + " can be selected with = only")
			case r.Field == nameField:
				out.nothing = out.nothing || out.name != "" && out.name != r.Value
				out.name = r.Value
			case r.Field == namespaceField && in.namespaced:
				if in.namespace != "" && in.namespace != r.Value {
					out.nothing = true // And nothing of the other namespace is looked at.
					continue
				}
				in.namespace = r.Value
			}
		}
	}
	if options.LabelSelector != nil {
		filter, err := s.chooseLabels(ctx, options.LabelSelector, in)
		if err != nil {
			return out, in, err
		}
		out.filter = engine.Both(out.filter, filter)
	}
	if err := out.filter.Check(); err != nil {
		return out, in, apierrors.NewBadRequest("the selectors can't be used: " + err.Error())
	}
	return out, in, nil
}

// chooseLabels turns a selector of labels into a filter.
func (s *source) chooseLabels(ctx context.Context, selector labels.Selector, in scope) (*engine.Filter, error) {
	requirements, selects := selector.Requirements()
	if !selects {
		return &engine.Filter{Operator: engine.Any}, nil
	}
	var filters []*engine.Filter
	for _, r := range requirements {
		filter, err := s.chooseLabel(ctx, r, in)
		if err != nil {
			return nil, err
		}
		filters = append(filters, filter)
	}
	return engine.Both(filters...), nil
}

func (s *source) chooseLabel(ctx context.Context, r labels.Requirement, in scope) (*engine.Filter, error) {
	var field engine.Field
	for _, label := range derivedLabels() {
		if label.name == r.Key() {
			field = label.field
		}
	}
	none := &engine.Filter{Operator: engine.Any}
	exists := none // A label that no result has.
	if field != "" {
		exists = engine.Negate(engine.Equal(field, ""))
	}
	switch r.Operator() {
	case selection.Exists:
		return exists, nil
	case selection.DoesNotExist:
		return engine.Negate(exists), nil
	case selection.In, selection.Equals, selection.DoubleEquals, selection.NotIn, selection.NotEquals:
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: %s can't be compared with %s; use =, !=, in, notin, or whether it exists",
			r.Key(), r.Operator()))
	}
	one := none
	if field != "" {
		texts, err := s.textsOf(ctx, field, r.ValuesUnsorted(), in)
		if err != nil {
			return nil, err
		}
		one = engine.OneOf(field, texts...)
	}
	if r.Operator() == selection.NotIn || r.Operator() == selection.NotEquals {
		return engine.Negate(one), nil
	}
	return one, nil
}

// maxTexts bounds the different texts of a field that are compared with a value that may have a hash.
const maxTexts = 10_000

// textsOf returns the texts of a field that have one of some values as their label. A value with a hash doesn't
// reveal its text, so the existing texts are hashed and compared.
func (s *source) textsOf(ctx context.Context, field engine.Field, values []string, in scope) ([]string, error) {
	var texts []string
	hashed := false
	for _, value := range values {
		// The empty value is no text: results without it don't have the label.
		if value != "" {
			texts = append(texts, value)
			hashed = hashed || mayBeHashed(value)
		}
	}
	if !hashed {
		return texts, nil
	}
	counts, err := s.questions.Count(ctx, engine.CountQuery{
		Kinds: in.kinds(s), Namespace: in.only(), By: []engine.Field{field}, Limit: maxTexts,
	})
	if err != nil {
		return nil, err
	}
	if counts.More {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: more than %d different texts of %s may have such a label; use a field selector", maxTexts, field))
	}
	for _, count := range counts.Counts {
		if text := count.Values[0]; v1alpha1.LabelValue(text) != text && slices.Contains(values, v1alpha1.LabelValue(text)) {
			texts = append(texts, text)
		}
	}
	return texts, nil
}
