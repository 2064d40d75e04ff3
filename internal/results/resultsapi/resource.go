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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// resource is what all kinds of the group have in common: their names, and how they are printed.
type resource struct {
	kind, plural, singular string
	shortNames             []string
	namespaced             bool
	newObject              func() runtime.Object
	// newList is nil for kinds that are not listed.
	newList func() runtime.Object
	// fields and labels that can be selected.
	fields, labels []selectable

	rest.TableConvertor
}

var (
	_ rest.Storage              = &resource{}
	_ rest.Scoper               = &resource{}
	_ rest.ShortNamesProvider   = &resource{}
	_ rest.SingularNameProvider = &resource{}
)

// New implements rest.Storage.
func (r *resource) New() runtime.Object { return r.newObject() }

// Destroy implements rest.Storage: there is nothing to give back.
func (r *resource) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *resource) NamespaceScoped() bool { return r.namespaced }

// ShortNames implements rest.ShortNamesProvider.
func (r *resource) ShortNames() []string { return r.shortNames }

// GetSingularName implements rest.SingularNameProvider.
func (r *resource) GetSingularName() string { return r.singular }

// scope returns the scope of a request. The resource is either in namespaces or, as another kind, outside them.
func (r *resource) scope(ctx context.Context) scope {
	return scope{namespaced: r.namespaced, global: !r.namespaced, namespace: request.NamespaceValue(ctx)}
}

// convertField accepts the fields that can be selected. An unknown one is an error that names them all.
func (r *resource) convertField(name, value string) (string, string, error) {
	if names := fieldNames(r.namespaced, r.fields); !slices.Contains(names, name) {
		also := ""
		if len(r.labels) > 0 {
			also = ", and by the labels " + strings.Join(labelNames(), ", ")
		}
		return "", "", fmt.Errorf("field label not supported: %s; %s can be selected by %s%s", name, r.plural, strings.Join(names, ", "), also)
	}
	return name, value, nil
}

func labelNames() []string {
	var names []string
	for _, label := range derivedLabels() {
		names = append(names, label.name)
	}
	return names
}

// selectedWithoutLabels reports whether a selector of labels selects objects that have none, as summaries. Labels that
// results have are an error: nothing would be a wrong answer to a sensible question.
func (r *resource) selectedWithoutLabels(options *metainternalversion.ListOptions) (bool, error) {
	if options == nil || options.LabelSelector == nil {
		return true, nil
	}
	requirements, _ := options.LabelSelector.Requirements()
	for _, requirement := range requirements {
		if slices.Contains(labelNames(), requirement.Key()) {
			return false, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: %s is a label of results; %s have no labels: use field selectors", requirement.Key(), r.plural))
		}
	}
	return options.LabelSelector.Matches(labels.Set{}), nil
}

// register makes a scheme know the kind, whose one Go type is also the internal version.
func (r *resource) register(scheme *runtime.Scheme) error {
	version := v1alpha1.SchemeGroupVersion
	for _, group := range []schema.GroupVersion{version, {Group: version.Group, Version: runtime.APIVersionInternal}} {
		scheme.AddKnownTypeWithName(group.WithKind(r.kind), r.newObject())
		if r.newList != nil {
			scheme.AddKnownTypeWithName(group.WithKind(r.kind+"List"), r.newList())
		}
	}
	return scheme.AddFieldLabelConversionFunc(version.WithKind(r.kind), r.convertField)
}
