// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	baseline   = "Pod Security Standards (Baseline)"
	restricted = "Pod Security Standards (Restricted)"
)

// podRule is a rule of the widely used pod security policies for Kyverno: their
// names are facts; the messages are made up.
type podRule struct {
	policy, rule, category, severity, path string
}

func podRules() []podRule {
	return []podRule{
		{"disallow-capabilities", "adding-capabilities", baseline, "medium", "/spec/containers/0/securityContext/capabilities/add/"},
		{"disallow-capabilities-strict", "require-drop-all", restricted, "medium", "/spec/containers/0/securityContext/capabilities/drop/"},
		{"disallow-host-namespaces", "host-namespaces", baseline, "high", "/spec/hostNetwork/"},
		{"disallow-host-path", "host-path", baseline, "high", "/spec/volumes/0/hostPath/"},
		{"disallow-host-ports", "host-ports-none", baseline, "medium", "/spec/containers/0/ports/0/hostPort/"},
		{"disallow-host-process", "host-process-containers", baseline, "medium", "/spec/securityContext/windowsOptions/hostProcess/"},
		{"disallow-privilege-escalation", "privilege-escalation", restricted, "medium", "/spec/containers/0/securityContext/allowPrivilegeEscalation/"},
		{"disallow-privileged-containers", "privileged-containers", baseline, "critical", "/spec/containers/0/securityContext/privileged/"},
		{"disallow-proc-mount", "check-proc-mount", baseline, "medium", "/spec/containers/0/securityContext/procMount/"},
		{"disallow-selinux", "selinux-type", baseline, "medium", "/spec/securityContext/seLinuxOptions/type/"},
		{"require-run-as-non-root-user", "run-as-non-root-user", restricted, "medium", "/spec/securityContext/runAsUser/"},
		{"require-run-as-nonroot", "run-as-non-root", restricted, "medium", "/spec/securityContext/runAsNonRoot/"},
		{"restrict-apparmor-profiles", "app-armor", baseline, "medium", "/metadata/annotations/"},
		{"restrict-seccomp", "check-seccomp", baseline, "medium", "/spec/securityContext/seccompProfile/type/"},
		{"restrict-seccomp-strict", "check-seccomp-strict", restricted, "medium", "/spec/securityContext/seccompProfile/"},
		{"restrict-sysctls", "check-sysctls", baseline, "medium", "/spec/securityContext/sysctls/0/name/"},
		{"restrict-volume-types", "restricted-volumes", restricted, "low", "/spec/volumes/0/"},
		{"disallow-capabilities-strict", "adding-capabilities-strict", restricted, "medium", "/spec/containers/0/securityContext/capabilities/add/"},
		{"disallow-selinux", "selinux-user-role", baseline, "medium", "/spec/securityContext/seLinuxOptions/user/"},
	}
}

// kyverno returns a report of one resource, named by the resource's UID.
func (c Cluster) kyverno(kind Kind, about subject, i, results int) *unstructured.Unstructured {
	random := c.random("kyverno "+kind.Resource, i)
	at := c.ago(random)
	rules := podRules()
	entries := make([]any, results)
	for n := range entries {
		rule := rules[n%len(rules)]
		if round := n / len(rules); round > 0 {
			rule.policy = fmt.Sprintf("%s-%d", rule.policy, round+1)
		}
		outcome := weighted(random)
		entries[n] = result{
			source: "kyverno", policy: rule.policy, rule: rule.rule, category: rule.category,
			severity: rule.severity, outcome: outcome, message: kyvernoMessage(rule, outcome),
			scored: true, at: at, properties: map[string]any{"process": "background scan"},
		}.object()
	}
	r := report{
		kind: kind, name: about.uid, namespace: about.namespace, source: "kyverno",
		labels: map[string]any{"app.kubernetes.io/managed-by": "kyverno"},
		about:  &about, results: entries,
	}
	if kind.ephemeral() {
		r.name = fmt.Sprintf("%s-%05x", about.uid, random.IntN(1<<20))
		c.markEphemeral(&r)
	}
	return r.object()
}

// markEphemeral adds what tells Kyverno's aggregator which resource a report is for.
func (c Cluster) markEphemeral(r *report) {
	group, version, found := strings.Cut(r.about.apiVersion, "/")
	if !found {
		group, version = "", group
	}
	r.labels["audit.kyverno.io/source"] = "background-scan"
	r.labels["audit.kyverno.io/resource.uid"] = r.about.uid
	r.labels["audit.kyverno.io/resource.group"] = group
	r.labels["audit.kyverno.io/resource.version"] = version
	r.labels["audit.kyverno.io/resource.kind"] = r.about.kind
	r.annotations = map[string]any{
		"audit.kyverno.io/resource.name":      r.about.name,
		"audit.kyverno.io/resource.namespace": r.about.namespace,
	}
}

func kyvernoMessage(rule podRule, outcome string) string {
	switch outcome {
	case "pass":
		return fmt.Sprintf("validation rule '%s' passed.", rule.rule)
	case "skip":
		return fmt.Sprintf("rule '%s' is skipped: its preconditions are not met", rule.rule)
	case "error":
		return fmt.Sprintf("rule '%s' can't be evaluated: variable substitution at %s: unknown key", rule.rule, rule.path)
	default:
		return fmt.Sprintf("validation error: the value at %s is not one that %s allows. rule %s failed at path %s",
			rule.path, rule.category, rule.rule, rule.path)
	}
}

func (c Cluster) kyvernoWorkload(k int) *unstructured.Unstructured {
	return c.kyverno(Kinds()[0], c.workload(k), k, len(podRules())-2)
}

func (c Cluster) kyvernoEphemeral(k int) *unstructured.Unstructured {
	return c.kyverno(Kinds()[4], c.workload(k), k, 3)
}

// kyvernoNamespace returns a report of rules for namespaces, in the newer group.
func (c Cluster) kyvernoNamespace(k int) *unstructured.Unstructured {
	random := c.random("namespace rules", k)
	about := c.namespaceSubject(k)
	at := c.ago(random)
	var entries []any
	for _, rule := range []podRule{
		{"require-labels", "check-for-labels", "Best Practices", "medium", "/metadata/labels/owner/"},
		{"require-quota", "has-resource-quota", "Multi-Tenancy", "low", "/metadata/annotations/quota/"},
		{"require-network-policy", "default-deny", "Network Security", "high", "/metadata/name/"},
	} {
		outcome := weighted(random)
		entries = append(entries, result{
			source: "kyverno", policy: rule.policy, rule: rule.rule, category: rule.category,
			severity: rule.severity, outcome: outcome, message: kyvernoMessage(rule, outcome),
			scored: true, at: at, properties: map[string]any{"process": "background scan"},
		}.object())
	}
	return report{
		kind: Kinds()[3], name: about.uid, source: "kyverno",
		labels: map[string]any{"app.kubernetes.io/managed-by": "kyverno"},
		about:  &about, results: entries,
	}.object()
}
