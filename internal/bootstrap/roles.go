// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reportskyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	"github.com/docket-project/docket/internal/registry"
)

// Names of the roles and bindings.
const (
	serverRole              = "docket:server"
	delegatorBinding        = "docket:system:auth-delegator"
	authenticationBinding   = "docket:extension-apiserver-authentication-reader"
	reportsViewRole         = "docket:reports-view"
	reportsWriterRole       = "docket:reports-writer"
	ephemeralReportsRole    = "docket:ephemeral-reports-view"
	metricsReaderRole       = "docket:metrics-reader"
	delegatorRole           = "system:auth-delegator"
	authenticationReadersNS = "kube-system"
	authenticationRole      = "extension-apiserver-authentication-reader"
)

const (
	clusterRoleKind        = "ClusterRole"
	clusterRoleBindingKind = "ClusterRoleBinding"
	roleKind               = "Role"
	roleBindingKind        = "RoleBinding"
)

// serverRoles returns what the server may do, as internal/apiserver needs it
// (admission.go there, docs/operations.md). It may touch no report through the API, no
// APIService, and no RBAC.
func (p Parameters) serverRoles() []any {
	list := []string{"list", "watch"}
	return []any{
		clusterRole(serverRole, nil,
			// get is for namespaces that were made just now, and for --cluster=auto.
			rule("", []string{"get", "list", "watch"}, "namespaces"),
			// Object-count quotas are charged when a report is created.
			rule("", list, "resourcequotas"),
			rule("", []string{"update"}, "resourcequotas/status"),
			rule("admissionregistration.k8s.io", list,
				"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
				"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"),
			rule("flowcontrol.apiserver.k8s.io", list, "flowschemas", "prioritylevelconfigurations"),
			rule("flowcontrol.apiserver.k8s.io", []string{"patch"}, "flowschemas/status"),
		),
		p.clusterRoleBinding(serverRole, serverRole),
		// To ask the cluster who a token belongs to, and what a user may do.
		p.clusterRoleBinding(delegatorBinding, delegatorRole),
		// To read by which certificate kube-apiserver proves that it is the one who asks.
		&rbacv1.RoleBinding{
			TypeMeta:   rbacType(roleBindingKind),
			ObjectMeta: metav1.ObjectMeta{Name: authenticationBinding, Namespace: authenticationReadersNS, Labels: labelled(nil)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: roleKind, Name: authenticationRole},
			Subjects:   p.subjects(),
		},
	}
}

// peopleRoles returns roles for those who read and write reports of the chosen
// groups. Nobody may write by default: reports are evidence, and those whom they are
// about must not be able to change it.
func (p Parameters) peopleRoles() []any {
	var reports, ephemeral []registry.Kind
	for _, kind := range p.kinds() {
		if kind.GroupVersionKind.Group == reportskyverno.SchemeGroupVersion.Group {
			ephemeral = append(ephemeral, kind)
		} else {
			reports = append(reports, kind)
		}
	}
	read := []string{"get", "list", "watch"}
	write := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	const toRole = "rbac.authorization.k8s.io/aggregate-to-"
	var roles []any
	if len(reports) > 0 {
		roles = append(roles,
			clusterRole(reportsViewRole, map[string]string{toRole + "view": "true", toRole + "edit": "true", toRole + "admin": "true"}, rules(reports, read)...),
			clusterRole(reportsWriterRole, nil, rules(reports, write)...))
	}
	if len(ephemeral) > 0 {
		roles = append(roles, clusterRole(ephemeralReportsRole, nil, rules(ephemeral, read)...))
	}
	return append(roles, clusterRole(metricsReaderRole, nil,
		rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}))
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func clusterRole(name string, labels map[string]string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta:   rbacType(clusterRoleKind),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(labels)},
		Rules:      rules,
	}
}

func (p Parameters) clusterRoleBinding(name, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   rbacType(clusterRoleBindingKind),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(nil)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: clusterRoleKind, Name: role},
		Subjects:   p.subjects(),
	}
}

func (p Parameters) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: serviceAccount, Namespace: p.Namespace}}
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// rules returns one rule for each group of kinds.
func rules(kinds []registry.Kind, verbs []string) []rbacv1.PolicyRule {
	groups, resources := resourcesByGroup(kinds)
	var all []rbacv1.PolicyRule
	for _, group := range groups {
		all = append(all, rule(group, slices.Clone(verbs), resources[group]...))
	}
	return all
}
