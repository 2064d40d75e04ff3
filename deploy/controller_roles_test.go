// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	aggregateLabel = "rbac.docket.dev/aggregate-to-controller"
	readOnly       = "get list watch"
)

// TestControllerRoles lists all that the controller may do but read: anything more fails.
func TestControllerRoles(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "controller")
	reads, writes := map[string]bool{}, map[string]string{}
	for key, object := range all {
		if !strings.HasPrefix(key, "ClusterRole ") {
			continue
		}
		role := convert[rbacv1.ClusterRole](t, object)
		for _, rule := range role.Rules {
			collect(t, role.Name, rule, reads, writes)
		}
		for label := range role.Labels {
			if strings.Contains(label, "authorization.k8s.io/aggregate-to-") {
				t.Errorf("%s: users would get it by %s", role.Name, label)
			}
		}
	}
	const reportVerbs = "create delete get list update watch"
	want := map[string]string{
		"openreports.io/reports": reportVerbs, "openreports.io/clusterreports": reportVerbs,
		"wgpolicyk8s.io/policyreports": reportVerbs, "wgpolicyk8s.io/clusterpolicyreports": reportVerbs,
		"authentication.k8s.io/tokenreviews": "create", "authorization.k8s.io/subjectaccessreviews": "create",
		"/events":                             "create patch",
		"reports.kyverno.io/ephemeralreports": "delete list watch", "reports.kyverno.io/clusterephemeralreports": "delete list watch",
		"kyverno.io/cachedcontextentries/status": "patch", "kyverno.io/globalcontextentries/status": "patch",
		"kyverno.io/clusterpolicies/status": "patch", "kyverno.io/policies/status": "patch",
		"policies.kyverno.io/validatingpolicies/status": "patch", "policies.kyverno.io/namespacedvalidatingpolicies/status": "patch",
		"policies.kyverno.io/imagevalidatingpolicies/status": "patch", "policies.kyverno.io/namespacedimagevalidatingpolicies/status": "patch",
		"policies.kyverno.io/mutatingpolicies/status": "patch", "policies.kyverno.io/namespacedmutatingpolicies/status": "patch",
	}
	if diff := gocmp.Diff(want, writes); diff != "" {
		t.Errorf("what it may write (-want +got):\n%s", diff)
	}
	for _, must := range []string{
		"kyverno.io/cachedcontextentries", "kyverno.io/globalcontextentries", "kyverno.io/clusterpolicies", "kyverno.io/policies", "kyverno.io/policyexceptions", "policies.kyverno.io/validatingpolicies",
		"policies.kyverno.io/namespacedvalidatingpolicies", "policies.kyverno.io/policyexceptions", "policies.kyverno.io/mutatingpolicies", "policies.kyverno.io/namespacedmutatingpolicies",
		"policies.kyverno.io/generatingpolicies", "policies.kyverno.io/namespacedgeneratingpolicies", "policies.kyverno.io/imagevalidatingpolicies", "policies.kyverno.io/namespacedimagevalidatingpolicies", "/namespaces", "/pods",
		"admissionregistration.k8s.io/mutatingadmissionpolicies", "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
		"admissionregistration.k8s.io/validatingadmissionpolicies", "admissionregistration.k8s.io/validatingadmissionpolicybindings",
		"apps/deployments", "batch/cronjobs", "networking.k8s.io/ingresses", "rbac.authorization.k8s.io/clusterroles",
	} {
		if !reads[must] {
			t.Errorf("it may not read %s", must)
		}
	}
	lease := convert[rbacv1.Role](t, all["Role docket:controller"])
	wantLease := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{controllerName}, Verbs: []string{"get", "update"}},
	}
	if diff := gocmp.Diff(wantLease, lease.Rules); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
}

// TestPullSecretsRole: the controller may get the Secrets with credentials for registries, by name.
func TestPullSecretsRole(t *testing.T) {
	t.Parallel()
	const name = "Role docket:controller-pull-secrets"
	if _, found := helm(t, "reports", "controller.enabled=true")[name]; found {
		t.Error("there is a role for Secrets without any")
	}
	all := helm(t, "reports", "controller.enabled=true", "controller.registry.pullSecrets={a,b}")
	role := convert[rbacv1.Role](t, all[name])
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get"}}}
	if diff := gocmp.Diff(want, role.Rules); diff != "" || role.Namespace != "reports" {
		t.Errorf("in %s (-want +got):\n%s", role.Namespace, diff)
	}
	binding := convert[rbacv1.RoleBinding](t, all["RoleBinding docket:controller-pull-secrets"])
	if binding.RoleRef.Name != role.Name || len(binding.Subjects) != 1 || binding.Subjects[0].Name != controllerName {
		t.Errorf("%+v", binding)
	}
}

// collect sorts the resources of a rule into those that it lets read and those that it lets
// write, and refuses what no role here may have.
func collect(t *testing.T, role string, rule rbacv1.PolicyRule, reads map[string]bool, writes map[string]string) {
	t.Helper()
	for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
		for _, item := range list {
			if strings.Contains(item, "*") || slices.Contains([]string{"bind", "escalate", "impersonate"}, item) {
				t.Errorf("%s has %s", role, item)
			}
		}
	}
	if len(rule.NonResourceURLs) > 0 {
		t.Errorf("%s has %v", role, rule.NonResourceURLs)
	}
	verbs := strings.Join(slices.Sorted(slices.Values(rule.Verbs)), " ")
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name := group + "/" + resource
			// Tokens are made by creating a subresource; reading secrets gives away those that exist.
			if resource == "secrets" || (strings.Contains(resource, "/") && !strings.HasSuffix(resource, "/status")) {
				t.Errorf("%s reaches %s", role, name)
			}
			if verbs == readOnly {
				reads[name] = true
				continue
			}
			writes[name] = verbs
		}
	}
}

// TestControllerAggregation checks that roles with the label, and no others, add to what the
// controller may read.
func TestControllerAggregation(t *testing.T) {
	t.Parallel()
	all := helm(t, "reports", "controller.enabled=true", "controller.rbac.extraRules[0].apiGroups={x.io}", "controller.rbac.extraRules[0].resources={xs}")
	aggregated := convert[rbacv1.ClusterRole](t, all["ClusterRole docket:controller-resources"])
	want := &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateLabel: "true"}}}}
	if diff := gocmp.Diff(want, aggregated.AggregationRule); diff != "" {
		t.Errorf("aggregation (-want +got):\n%s", diff)
	}
	if _, found := all["ClusterRole docket:controller-resources"].Object["rules"]; found {
		t.Error("rules are given, which kube-controller-manager fills in: they would be fought over")
	}
	for key, object := range all {
		labeled := object.GetLabels()[aggregateLabel] == "true"
		if want := key == "ClusterRole docket:controller-default-resources" || key == "ClusterRole docket:controller-extra-resources"; labeled != want {
			t.Errorf("%s: the label is %v", key, labeled)
		}
	}
	extra := convert[rbacv1.ClusterRole](t, all["ClusterRole docket:controller-extra-resources"])
	wantRules := []rbacv1.PolicyRule{{APIGroups: []string{"x.io"}, Resources: []string{"xs"}, Verbs: []string{"get", "list", "watch"}}}
	if diff := gocmp.Diff(wantRules, extra.Rules); diff != "" {
		t.Errorf("extra rules (-want +got):\n%s", diff)
	}
}

// TestControllerAdmissionRoles lists what the webhook adds: its one configuration, its one Secret,
// and the reports that replicas hand over.
func TestControllerAdmissionRoles(t *testing.T) {
	t.Parallel()
	plain, all := kustomize(t, "testdata/controller"), kustomize(t, "testdata/controller-admission")
	got := map[string][]rbacv1.PolicyRule{}
	for key, object := range all {
		if plain[key] == nil && strings.Contains(key, "Role ") {
			got[key] = convert[rbacv1.Role](t, object).Rules
		}
	}
	want := map[string][]rbacv1.PolicyRule{
		"ClusterRole docket:controller-admission": {
			{
				APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"},
				ResourceNames: []string{controllerName}, Verbs: []string{"get", "list", "update", "watch"},
			},
			{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles"}, ResourceNames: []string{"docket:controller"}, Verbs: []string{"get"}},
			{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterrolebindings", "rolebindings"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"reports.kyverno.io"}, Resources: []string{"clusterephemeralreports", "ephemeralreports"}, Verbs: []string{"create", "delete", "get", "list", "watch"}},
		},
		"Role docket:controller-admission": {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"docket-controller-webhook"}, Verbs: []string{"get", "update"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list"}},
		},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	// With cert-manager, it reads no Secret at all: the kubelet mounts one.
	for _, rule := range convert[rbacv1.Role](t, kustomize(t, "testdata/controller-admission-cert-manager")["Role docket:controller-admission"]).Rules {
		if slices.Contains(rule.Resources, "secrets") {
			t.Error("it may read the Secret of cert-manager")
		}
	}
}
