// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
)

// maxFieldErrors bounds what one answer says about an invalid report: a producer
// that gets one field wrong mostly gets it wrong in each of thousands of results.
const maxFieldErrors = 100

// validateName checks the name of a new report, which the generic machinery leaves
// to the kinds.
func (k Kind) validateName(accessor report.Accessor) field.ErrorList {
	return validation.ValidateObjectMetaAccessor(
		accessor, k.Namespaced, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// validateContent checks all but the metadata, as the published schemas do. Types
// and unknown fields are checked when the request is decoded.
func (k Kind) validateContent(accessor report.Accessor) field.ErrorList {
	var errs field.ErrorList
	if owned, ok := accessor.(interface{ GetOwner() *metav1.OwnerReference }); ok {
		errs = append(errs, validateOwner(owned.GetOwner(), k.body.Child("owner"))...)
	}
	if selecting, ok := accessor.(interface{ GetScopeSelector() *metav1.LabelSelector }); ok {
		errs = append(errs, validateSelector(selecting.GetScopeSelector(), k.body.Child("scopeSelector"))...)
	}
	if configured, ok := accessor.(interface {
		GetConfiguration() *openreports.ReportConfiguration
	}); ok {
		errs = append(errs, validateConfiguration(configured.GetConfiguration(), k.body.Child("configuration"))...)
	}
	results := accessor.GetResults()
	for i := range results {
		if len(errs) >= maxFieldErrors {
			return errs[:maxFieldErrors]
		}
		errs = append(errs, validateResult(&results[i], k.body.Child("results").Index(i))...)
	}
	return errs
}

func validateResult(result *report.Result, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if result.Policy == "" {
		errs = append(errs, field.Required(path.Child("policy"), "name the policy that was checked"))
	}
	errs = append(errs, validateEnum(result.Severity, report.Severities(), path.Child("severity"))...)
	errs = append(errs, validateEnum(result.Result, report.Outcomes(), path.Child("result"))...)
	return append(errs, validateSelector(result.ResourceSelector, path.Child("resourceSelector"))...)
}

// validateOwner checks the owner of an ephemeral report. Name and uid may be empty:
// objects that are being created with a generated name have none yet.
func validateOwner(owner *metav1.OwnerReference, path *field.Path) field.ErrorList {
	if owner == nil {
		return field.ErrorList{field.Required(path, "name the object that the report is about")}
	}
	var errs field.ErrorList
	if owner.APIVersion == "" {
		errs = append(errs, field.Required(path.Child("apiVersion"), "give the API version of the owner"))
	}
	if owner.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), "give the kind of the owner"))
	}
	return errs
}

func validateConfiguration(configuration *openreports.ReportConfiguration, path *field.Path) field.ErrorList {
	if configuration == nil {
		return nil
	}
	limitsPath := path.Child("limits")
	if configuration.Limits == nil {
		return field.ErrorList{field.Required(limitsPath, "give the limits, or leave out configuration")}
	}
	var errs field.ErrorList
	for i, outcome := range configuration.Limits.StatusFilter {
		itemPath := limitsPath.Child("statusFilter").Index(i)
		if outcome == "" {
			errs = append(errs, field.NotSupported(itemPath, outcome, report.Outcomes()))
			continue
		}
		errs = append(errs, validateEnum(outcome, report.Outcomes(), itemPath)...)
	}
	return errs
}

// validateSelector checks only what the schemas demand: a selector in a report
// describes what a producer did, and its meaning is the producer's business.
func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for i, requirement := range selector.MatchExpressions {
		itemPath := path.Child("matchExpressions").Index(i)
		if requirement.Key == "" {
			errs = append(errs, field.Required(itemPath.Child("key"), "give the label that is compared"))
		}
		if requirement.Operator == "" {
			errs = append(errs, field.Required(itemPath.Child("operator"), "give In, NotIn, Exists or DoesNotExist"))
		}
	}
	return errs
}

// validateEnum checks an optional value: the empty one was left out.
func validateEnum[T ~string](value T, valid []T, path *field.Path) field.ErrorList {
	if value == "" || slices.Contains(valid, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, valid)}
}
