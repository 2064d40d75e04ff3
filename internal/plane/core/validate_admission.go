// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

// webhookTimeoutMax is how long a webhook may take, in seconds.
const webhookTimeoutMax = 30

func validateValidatingWebhooks(now, _ *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return validateWebhooks(now.Webhooks, func(hook *admissionregistrationv1.ValidatingWebhook) webhookOf {
		return webhookOf{hook.Name, &hook.ClientConfig, hook.SideEffects, hook.AdmissionReviewVersions, hook.TimeoutSeconds}
	})
}

func validateMutatingWebhooks(now, _ *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return validateWebhooks(now.Webhooks, func(hook *admissionregistrationv1.MutatingWebhook) webhookOf {
		return webhookOf{hook.Name, &hook.ClientConfig, hook.SideEffects, hook.AdmissionReviewVersions, hook.TimeoutSeconds}
	})
}

func validateWebhooks[W any](webhooks []W, of func(*W) webhookOf) field.ErrorList {
	names := sets.New[string]()
	var errs field.ErrorList
	for i := range webhooks {
		errs = append(errs, validateWebhook(of(&webhooks[i]), names, field.NewPath("webhooks").Index(i))...)
	}
	return errs
}

// webhookOf is what is checked of a webhook, and what both kinds of webhooks have.
type webhookOf struct {
	name        string
	client      *admissionregistrationv1.WebhookClientConfig
	sideEffects *admissionregistrationv1.SideEffectClass
	versions    []string
	timeout     *int32
}

// validateWebhook checks the fields that are needed to call the webhook. names holds the names of the webhooks
// before it.
func validateWebhook(hook webhookOf, names sets.Set[string], path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), hook.name)
	if names.Has(hook.name) {
		errs = append(errs, field.Duplicate(path.Child("name"), hook.name))
	}
	names.Insert(hook.name)
	effects := []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun}
	switch {
	case hook.sideEffects == nil:
		errs = append(errs, field.Required(path.Child("sideEffects"), fmt.Sprintf("one of %v", effects)))
	case !slices.Contains(effects, *hook.sideEffects):
		errs = append(errs, field.NotSupported(path.Child("sideEffects"), *hook.sideEffects, effects))
	}
	if !slices.Contains(hook.versions, "v1") && !slices.Contains(hook.versions, "v1beta1") {
		errs = append(errs, field.Invalid(path.Child("admissionReviewVersions"), hook.versions, "must have v1 or v1beta1"))
	}
	if hook.timeout != nil && (*hook.timeout < 1 || *hook.timeout > webhookTimeoutMax) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *hook.timeout, fmt.Sprintf("must be from 1 to %d", webhookTimeoutMax)))
	}
	return append(errs, validateClient(hook.client, path.Child("clientConfig"))...)
}

func validateClient(client *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch service := client.Service; {
	case (client.URL == nil) == (service == nil):
		return field.ErrorList{field.Required(path, "give either url or service")}
	case client.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *client.URL, true)
	default:
		return webhook.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path, *service.Port)
	}
}

func validateValidatingPolicy(now, _ *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateConstraints(now.Spec.MatchConstraints, path.Child("matchConstraints"))
	if len(now.Spec.Validations)+len(now.Spec.AuditAnnotations) == 0 {
		errs = append(errs, field.Required(path.Child("validations"), "a policy has validations or auditAnnotations"))
	}
	for i, check := range now.Spec.Validations {
		if check.Expression == "" {
			errs = append(errs, field.Required(path.Child("validations").Index(i).Child("expression"), "what must be true"))
		}
	}
	return errs
}

func validateMutatingPolicy(now, _ *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateConstraints(now.Spec.MatchConstraints, path.Child("matchConstraints"))
	if len(now.Spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "a policy has at least one"))
	}
	for i, mutation := range now.Spec.Mutations {
		at := path.Child("mutations").Index(i)
		switch mutation.PatchType {
		case admissionregistrationv1.PatchTypeApplyConfiguration:
			if mutation.ApplyConfiguration == nil || mutation.JSONPatch != nil {
				errs = append(errs, field.Required(at.Child("applyConfiguration"), "and nothing else, as patchType says"))
			}
		case admissionregistrationv1.PatchTypeJSONPatch:
			if mutation.JSONPatch == nil || mutation.ApplyConfiguration != nil {
				errs = append(errs, field.Required(at.Child("jsonPatch"), "and nothing else, as patchType says"))
			}
		default:
			errs = append(errs, field.NotSupported(at.Child("patchType"), mutation.PatchType, []admissionregistrationv1.PatchType{
				admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch,
			}))
		}
	}
	return errs
}

func validateConstraints(constraints *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if constraints == nil || len(constraints.ResourceRules) == 0 {
		return field.ErrorList{field.Required(path.Child("resourceRules"), "what the policy is about")}
	}
	return nil
}

func validateValidatingBinding(now, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePolicyRef(now.Spec.PolicyName, now.Spec.ParamRef, path)
	if len(now.Spec.ValidationActions) == 0 {
		errs = append(errs, field.Required(path.Child("validationActions"), "Deny, Warn or Audit"))
	}
	return errs
}

func validateMutatingBinding(now, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return validatePolicyRef(now.Spec.PolicyName, now.Spec.ParamRef, field.NewPath("spec"))
}

func validatePolicyRef(policy string, param *admissionregistrationv1.ParamRef, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if policy == "" {
		errs = append(errs, field.Required(path.Child("policyName"), "the policy to bind"))
	}
	if param == nil {
		return errs
	}
	if (param.Name == "") == (param.Selector == nil) {
		errs = append(errs, field.Required(path.Child("paramRef"), "give either name or selector"))
	}
	if param.ParameterNotFoundAction == nil {
		errs = append(errs, field.Required(path.Child("paramRef", "parameterNotFoundAction"), "Allow or Deny"))
	}
	return errs
}
