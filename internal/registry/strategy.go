// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/docket-project/docket/api/report"
)

// strategy holds the rules for creating, updating and deleting reports of one kind.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator

	kind Kind
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.RESTDeleteStrategy              = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
)

func newStrategy(kind Kind, typer runtime.ObjectTyper) strategy {
	return strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s strategy) NamespaceScoped() bool { return s.kind.Namespaced }

// PrepareForCreate starts the generations of a report at one.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if accessor, ok := report.Of(obj); ok {
		accessor.SetGeneration(1)
	}
}

// PrepareForUpdate raises the generation if anything but the metadata changes. It states
// the type, which what was applied has lost: by its lack alone it would be a change.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	incoming, err := objectOf(obj)
	if err != nil {
		return
	}
	stored, err := objectOf(old)
	if err != nil {
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	incoming.SetGeneration(stored.GetGeneration())
	if !bytes.Equal(incoming.Body(), stored.Body()) {
		incoming.SetGeneration(stored.GetGeneration() + 1)
	}
}

// Validate implements rest.RESTCreateStrategy.
func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	incoming, err := objectOf(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return s.kind.validate(incoming, nil)
}

// ValidateUpdate passes over what is wrong with the stored report already and stays:
// otherwise it could neither be labelled nor lose its finalizers.
func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	incoming, err := objectOf(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	stored, err := objectOf(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return s.kind.validate(incoming, stored)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	accessor, ok := report.Of(obj)
	if !ok {
		return nil
	}
	return finalizerWarnings(accessor.GetFinalizers())
}

// WarningsOnUpdate warns about what the update adds.
func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	incoming, ok := report.Of(obj)
	if !ok {
		return nil
	}
	stored, ok := report.Of(old)
	if !ok {
		return nil
	}
	known := stored.GetFinalizers()
	added := slices.DeleteFunc(slices.Clone(incoming.GetFinalizers()),
		func(finalizer string) bool { return slices.Contains(known, finalizer) })
	return finalizerWarnings(added)
}

// Canonicalize is called once a report was found to be valid. It is stored as it is.
func (strategy) Canonicalize(obj runtime.Object) {
	if accepted, err := objectOf(obj); err == nil {
		accepted.Accept()
	}
}

// AllowCreateOnUpdate is false: a PUT of a missing report is 404.
func (strategy) AllowCreateOnUpdate() bool { return false }

// AllowUnconditionalUpdate is false, as for custom resources: a PUT must name the
// resourceVersion that it replaces.
func (strategy) AllowUnconditionalUpdate() bool { return false }

// DefaultGarbageCollectionPolicy deletes what a report owns in the background,
// unless the request says otherwise.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// finalizerWarnings warns of finalizers whose names don't tell who owns them.
func finalizerWarnings(finalizers []string) []string {
	path := field.NewPath("metadata", "finalizers")
	var warnings []string
	for _, finalizer := range slices.Sorted(slices.Values(finalizers)) {
		for _, problem := range validation.IsQualifiedName(finalizer) {
			warnings = append(warnings, fmt.Sprintf("%s: %q: %s", path, finalizer, problem))
		}
		switch finalizer {
		case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes):
			continue
		}
		if !strings.Contains(finalizer, "/") {
			warnings = append(warnings, fmt.Sprintf(
				"%s: %q: use a name with a domain and a path, such as example.com/cleanup, so that others can't take the same",
				path, finalizer))
		}
	}
	return warnings
}
