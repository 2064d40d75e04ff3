// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

func rbacResources() []resource {
	group := rbacv1.SchemeGroupVersion
	rows := []resource{
		row[rbacv1.Role, rbacv1.RoleList](group, "Role", "roles", "role").with(func(r *resource) {
			r.validate = validating(validateRole)
		}),
		row[rbacv1.RoleBinding, rbacv1.RoleBindingList](group, "RoleBinding", "rolebindings", "rolebinding").with(func(r *resource) {
			r.prepare, r.validate = preparing(prepareRoleBinding), validating(validateRoleBinding)
		}),
		row[rbacv1.ClusterRole, rbacv1.ClusterRoleList](group, "ClusterRole", "clusterroles", "clusterrole").with(func(r *resource) {
			r.Namespaced, r.validate = false, validating(validateClusterRole)
		}),
		row[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](group, "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding").with(func(r *resource) {
			r.Namespaced = false
			r.prepare, r.validate = preparing(prepareClusterRoleBinding), validating(validateClusterRoleBinding)
		}),
	}
	for i := range rows {
		rows[i].Rules.CreateOnUpdate = true
		rows[i].Rules.ValidateName = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	}
	return rows
}

func admissionResources() []resource {
	group := admissionregistrationv1.SchemeGroupVersion
	const webhooks = "Webhooks"
	rows := []resource{
		row[admissionregistrationv1.ValidatingWebhookConfiguration, admissionregistrationv1.ValidatingWebhookConfigurationList](
			group, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validatingwebhookconfiguration").with(func(r *resource) {
			r.counted = webhooks
			r.prepare, r.validate = preparing(prepareValidatingWebhooks), validating(validateValidatingWebhooks)
		}),
		row[admissionregistrationv1.MutatingWebhookConfiguration, admissionregistrationv1.MutatingWebhookConfigurationList](
			group, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration").with(func(r *resource) {
			r.counted = webhooks
			r.prepare, r.validate = preparing(prepareMutatingWebhooks), validating(validateMutatingWebhooks)
		}),
		row[admissionregistrationv1.ValidatingAdmissionPolicy, admissionregistrationv1.ValidatingAdmissionPolicyList](
			group, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy").with(func(r *resource) {
			r.status = true
			r.prepare, r.validate = preparing(prepareValidatingPolicy), validating(validateValidatingPolicy)
		}),
		row[admissionregistrationv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1.ValidatingAdmissionPolicyBindingList](
			group, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding").with(func(r *resource) {
			r.prepare, r.validate = preparing(prepareValidatingBinding), validating(validateValidatingBinding)
		}),
		row[admissionregistrationv1.MutatingAdmissionPolicy, admissionregistrationv1.MutatingAdmissionPolicyList](
			group, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "mutatingadmissionpolicy").with(func(r *resource) {
			r.prepare, r.validate = preparing(prepareMutatingPolicy), validating(validateMutatingPolicy)
		}),
		row[admissionregistrationv1.MutatingAdmissionPolicyBinding, admissionregistrationv1.MutatingAdmissionPolicyBindingList](
			group, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding").with(func(r *resource) {
			r.prepare, r.validate = preparing(prepareMutatingBinding), validating(validateMutatingBinding)
		}),
	}
	for i := range rows {
		rows[i].Namespaced, rows[i].Rules.UnconditionalUpdate = false, false
		rows[i].Categories = []string{"api-extensions"}
	}
	return rows
}

// systemResources are the kinds in which API servers themselves keep something.
func systemResources() []resource {
	flowcontrol := flowcontrolv1.SchemeGroupVersion
	return []resource{
		row[coordinationv1.Lease, coordinationv1.LeaseList](coordinationv1.SchemeGroupVersion, "Lease", "leases", "lease").with(func(r *resource) {
			r.Rules.CreateOnUpdate, r.Rules.UnconditionalUpdate = true, false
			r.validate = validating(validateLease)
			r.Columns = between(text("Holder", "Who holds the lease.", leaseHolder))
		}),
		row[flowcontrolv1.FlowSchema, flowcontrolv1.FlowSchemaList](flowcontrol, "FlowSchema", "flowschemas", "flowschema").with(func(r *resource) {
			r.Namespaced, r.status = false, true
		}),
		row[flowcontrolv1.PriorityLevelConfiguration, flowcontrolv1.PriorityLevelConfigurationList](flowcontrol, "PriorityLevelConfiguration", "prioritylevelconfigurations", "prioritylevelconfiguration").with(func(r *resource) {
			r.Namespaced, r.status = false, true
		}),
	}
}

func leaseHolder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}
