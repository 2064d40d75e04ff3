// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"errors"
	"fmt"
	"math"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"

	"github.com/docket-project/docket/controller/internal/policy"
)

// parameterEntries are what the bindings of a policy read from the context cache.
func parameterEntries(kind *admissionregistrationv1.ParamKind, bindings []generic.BindingAccessor) []policy.Entry {
	var entries []policy.Entry
	seen := map[policy.Entry]bool{}
	for _, binding := range bindings {
		if binding.GetParamRef() == nil {
			continue
		}
		if entry := parameterEntry(kind, binding.GetParamRef()); !seen[entry] {
			seen[entry] = true
			entries = append(entries, entry)
		}
	}
	return entries
}

// parameterEntry has the parameters of one namespace, or of all if those of the subject's namespace are meant.
func parameterEntry(kind *admissionregistrationv1.ParamKind, ref *admissionregistrationv1.ParamRef) policy.Entry {
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		version = schema.GroupVersion{Version: kind.APIVersion} // Nothing has it; the entry says so.
	}
	if version.Group == "" {
		version.Group = "core" // Empty is any.
	}
	return policy.Entry{Resource: policy.EntryResource{
		Group: version.Group, Version: version.Version, Kind: kind.Kind, Namespace: ref.Namespace,
	}}
}

// parameters returns the objects with which a policy is evaluated one after the other, by the rules of the API server
// (generic.CollectParams). A nil stands for an evaluation without parameters; an empty list, for no evaluation.
func (p *admissionPolicy) parameters(ctx context.Context, binding generic.BindingAccessor, namespace string) ([]runtime.Object, error) {
	kind, ref := p.definition.GetParamKind(), binding.GetParamRef()
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	if p.compiler.config.Entries == nil {
		return nil, fmt.Errorf("parameters of kind %s: there is no cluster to read them from", kind.Kind)
	}
	var selector labels.Selector
	switch {
	case ref.Name != "" && ref.Selector != nil:
		return nil, errors.New("paramRef.name and paramRef.selector are mutually exclusive")
	case ref.Name == "" && ref.Selector == nil:
		return nil, errors.New("one of paramRef.name and paramRef.selector must be set")
	case ref.Selector != nil:
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, fmt.Errorf("paramRef.selector: %w", err)
		}
	}
	in := ref.Namespace
	if in == "" && p.compiler.namespaced(kind) {
		if namespace == "" {
			return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
		}
		in = namespace
	}
	found, err := p.find(ctx, kind, ref, in, selector)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionregistrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}

// find asks the context cache.
func (p *admissionPolicy) find(ctx context.Context, kind *admissionregistrationv1.ParamKind, ref *admissionregistrationv1.ParamRef, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	data, err := p.compiler.config.Entries.Query(ctx, policy.Query{Entry: parameterEntry(kind, ref), Expression: "items"})
	if err != nil {
		return nil, fmt.Errorf("parameters of kind %s: %w", kind.Kind, err)
	}
	list, ok := data.([]any)
	if !ok {
		return nil, fmt.Errorf("parameters of kind %s: the context cache has %T, not a list", kind.Kind, data)
	}
	var found []runtime.Object
	for _, one := range list {
		content, ok := one.(map[string]any)
		if !ok {
			continue
		}
		object := unstructured.Unstructured{Object: content}
		if namespace != "" && object.GetNamespace() != namespace {
			continue
		}
		if ref.Name == object.GetName() || selector != nil && selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, &unstructured.Unstructured{Object: policy.CopyJSON(content, integer).(map[string]any)})
		}
	}
	return found, nil
}

// namespaced reports whether objects of a kind are in namespaces: unless the mapper knows better, they are.
func (c *Compiler) namespaced(kind *admissionregistrationv1.ParamKind) bool {
	if c.config.Mapper == nil {
		return true
	}
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return true
	}
	mapping, err := c.config.Mapper.RESTMapping(version.WithKind(kind.Kind).GroupKind(), version.Version)
	return err != nil || mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// integer makes an integer of a whole number: the context cache has numbers as JMESPath wants them, all of them floats,
// and CEL knows the difference.
func integer(value any) any {
	if number, ok := value.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return int64(number)
	}
	return value
}
