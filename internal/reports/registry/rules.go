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
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// maxFieldErrors bounds what one answer says about an invalid report: a producer
// that gets one field wrong usually gets it wrong in each of thousands of results.
const maxFieldErrors = 1000

// rules are those of custom resources, for all kinds: a PUT of a missing report is 404,
// and it must name the resourceVersion that it replaces.
func rules() kinds.Rules[object] {
	return kinds.Rules[object]{
		ValidateName: apivalidation.NameIsDNSSubdomain,
		Prepare:      prepare,
		Changed:      func(incoming, stored object) bool { return !bytes.Equal(incoming.Body(), stored.Body()) },
		Validate:     validate,
		MaxErrors:    maxFieldErrors,
		Warnings:     warnings,
		Accept:       func(o object) { o.Accept() },
	}
}

// prepare sets the type in an update. Server-side apply loses it, and without it the
// report would count as changed.
func prepare(incoming, stored object) {
	if stored != nil {
		incoming.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	}
}

// validate passes over what is already wrong with the stored report and stays that way:
// otherwise the report could neither be labelled nor lose its finalizers.
func validate(ctx context.Context, incoming, stored object) field.ErrorList {
	if stored == nil {
		return incoming.Validate(ctx, nil)
	}
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(incoming, stored, field.NewPath("metadata"))
	return append(errs, incoming.Validate(ctx, stored)...)
}

// warnings warns about the finalizers that a write adds.
func warnings(incoming, stored object) []string {
	added := incoming.GetFinalizers()
	if stored != nil {
		known := stored.GetFinalizers()
		added = slices.DeleteFunc(slices.Clone(added), func(finalizer string) bool { return slices.Contains(known, finalizer) })
	}
	return finalizerWarnings(added)
}

// finalizerWarnings warns about finalizers whose names don't say who owns them.
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
