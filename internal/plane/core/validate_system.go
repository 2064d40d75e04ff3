// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateLease(now, _ *coordinationv1.Lease) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if seconds := now.Spec.LeaseDurationSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *seconds, "must be greater than 0"))
	}
	if count := now.Spec.LeaseTransitions; count != nil && *count < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *count, "must not be negative"))
	}
	return errs
}

func validateEndpointSlice(now, old *discoveryv1.EndpointSlice) field.ErrorList {
	path := field.NewPath("addressType")
	types := []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN}
	if !slices.Contains(types, now.AddressType) {
		return field.ErrorList{field.NotSupported(path, now.AddressType, types)}
	}
	if old == nil {
		return nil
	}
	return apimachineryvalidation.ValidateImmutableField(now.AddressType, old.AddressType, path)
}

func validatePodDisruptionBudget(now, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	if now.Spec.MinAvailable != nil && now.Spec.MaxUnavailable != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "maxUnavailable"), now.Spec.MaxUnavailable, "give either minAvailable or maxUnavailable")}
	}
	return nil
}

func validateRole(now, _ *rbacv1.Role) field.ErrorList { return validateRules(now.Rules, true) }

func validateClusterRole(now, _ *rbacv1.ClusterRole) field.ErrorList {
	return validateRules(now.Rules, false)
}

func validateRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(path.Child("verbs"), "a rule allows at least one"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if namespaced {
				errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "belong in a ClusterRole: they are in no namespace"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "a rule is about either resources or URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), "\"\" is the core group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), "a rule is about at least one"))
		}
	}
	return errs
}

func validateRoleBinding(now, old *rbacv1.RoleBinding) field.ErrorList {
	before := ifStored(old, func(o *rbacv1.RoleBinding) *rbacv1.RoleRef { return &o.RoleRef })
	return validateBinding(now.RoleRef, before, now.Subjects, []string{"Role", "ClusterRole"})
}

func validateClusterRoleBinding(now, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	before := ifStored(old, func(o *rbacv1.ClusterRoleBinding) *rbacv1.RoleRef { return &o.RoleRef })
	return validateBinding(now.RoleRef, before, now.Subjects, []string{"ClusterRole"})
}

// validateBinding checks a binding. before is the role that is stored, nil on create.
func validateBinding(role rbacv1.RoleRef, before *rbacv1.RoleRef, subjects []rbacv1.Subject, roles []string) field.ErrorList {
	path := field.NewPath("roleRef")
	var errs field.ErrorList
	if role.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), role.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(roles, role.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), role.Kind, roles))
	}
	if role.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the role to bind"))
	}
	if before != nil && role != *before {
		errs = append(errs, field.Invalid(path, role, "can't change: delete the binding and create it again"))
	}
	kinds := []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}
	for i, subject := range subjects {
		at := field.NewPath("subjects").Index(i)
		if !slices.Contains(kinds, subject.Kind) {
			errs = append(errs, field.NotSupported(at.Child("kind"), subject.Kind, kinds))
		}
		if subject.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "who gets the role"))
		}
	}
	return errs
}
