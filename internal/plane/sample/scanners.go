// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// falcoNamespace returns a report of things that happened in one namespace, about
// several pods. Its producer rewrites one report a namespace again and again.
func (c Cluster) falcoNamespace(k int) *unstructured.Unstructured {
	random := c.random("falco", k)
	name := "falco-policy-report"
	if round := k / c.namespaceCount(); round > 0 {
		name = fmt.Sprintf("%s-%d", name, round)
	}
	namespace := namespaceName(k % c.namespaceCount())
	entries := make([]any, 3+random.IntN(10))
	for n := range entries {
		event := pick(random, []struct{ rule, severity, details string }{
			{"Terminal shell in container", "medium", "A shell with an attached terminal was started"},
			{"Read sensitive file untrusted", "high", "A file with credentials was opened for reading"},
			{"Contact K8S API Server From Container", "low", "A connection to the API server was made"},
			{"Drop and execute new binary in container", "critical", "A binary that is not in the image was run"},
			{"Launch Privileged Container", "high", "A privileged container was started"},
		})
		pod := c.workload(k%c.namespaceCount() + n*c.namespaceCount())
		entries[n] = result{
			source: "Falco", policy: event.rule, category: "SI - System and Information Integrity",
			severity: event.severity, outcome: pick(random, []string{"fail", "fail", "warn"}),
			message: fmt.Sprintf("%s (user=root pod=%s container=%012x)", event.details, pod.name, random.Uint64()>>16),
			at:      c.ago(random), about: &pod,
			properties: map[string]any{
				"proc.name":    pick(random, []string{"bash", "sh", "curl", "python3"}),
				"user.name":    "root",
				"container.id": fmt.Sprintf("%012x", random.Uint64()>>16),
			},
		}.object()
	}
	return report{
		kind: Kinds()[0], name: name, namespace: namespace, results: entries,
		labels: map[string]any{"app.kubernetes.io/created-by": "falcosidekick"},
	}.object()
}

// kubewardenWorkload returns an audit report in the newer group.
func (c Cluster) kubewardenWorkload(k int) *unstructured.Unstructured {
	random := c.random("kubewarden", k)
	about := c.workload(k)
	at := c.ago(random)
	var entries []any
	for _, policy := range []struct{ name, category, severity, remedy string }{
		{"clusterwide-do-not-run-as-root", "PSP", "medium", "run as a user other than root"},
		{"clusterwide-do-not-share-host-paths", "PSP", "high", "remove volumes of type hostPath"},
		{"clusterwide-no-privileged-pod", "PSP", "critical", "drop the privileged flag"},
		{"namespaced-trusted-registries", "Supply chain", "high", "pull from a registry on the list"},
		{"namespaced-resource-limits", "Resource validation", "low", "set limits for cpu and memory"},
	} {
		outcome := pick(random, []string{"pass", "pass", "pass", "fail", "warn"})
		message := ""
		if outcome != "pass" {
			message = fmt.Sprintf("%s %s is rejected: %s", about.kind, about.name, policy.remedy)
		}
		entries = append(entries, result{
			source: "kubewarden", policy: policy.name,
			category: policy.category, severity: policy.severity, outcome: outcome, message: message,
			at: at, properties: map[string]any{
				"policy-uid":              uid(c.random(policy.name, 0)),
				"policy-resource-version": "4711",
				"validating":              "true",
			},
		}.object())
	}
	return report{
		kind: Kinds()[2], name: about.uid, namespace: about.namespace, source: "kubewarden",
		labels: map[string]any{
			"app.kubernetes.io/managed-by":        "kubewarden",
			"kubewarden.io/audit-scanner-run-uid": uid(c.random("kubewarden run", 0)),
			"kubewarden.io/policyreport-version":  "v2",
		},
		about: &about, results: entries,
	}.object()
}

// kubeBenchNode returns a report of how a node's settings follow a benchmark.
func (c Cluster) kubeBenchNode(k int) *unstructured.Unstructured {
	random := c.random("kube-bench", k)
	about := c.node(k)
	at := c.ago(random)
	var entries []any
	for n, check := range []struct{ topic, file string }{
		{"kubelet service file permissions", "/etc/systemd/system/kubelet.service.d/kubeadm.conf"},
		{"kubelet service file ownership", "/etc/systemd/system/kubelet.service.d/kubeadm.conf"},
		{"kubelet.conf permissions", "/etc/kubernetes/kubelet.conf"},
		{"client CA file permissions", "/etc/kubernetes/pki/ca.crt"},
		{"anonymous authentication", "/var/lib/kubelet/config.yaml"},
		{"authorization mode", "/var/lib/kubelet/config.yaml"},
		{"read-only port", "/var/lib/kubelet/config.yaml"},
		{"certificate rotation", "/var/lib/kubelet/config.yaml"},
	} {
		number := fmt.Sprintf("4.%d.%d", n/4+1, n%4+1)
		entries = append(entries, result{
			source: "Kube Bench", policy: "CIS Kubernetes Benchmark", rule: number + " " + check.topic,
			category: "CIS Worker Node", severity: pick(random, []string{"high", "medium", "info"}),
			outcome: weighted(random), message: "checked " + check.topic + " in " + check.file,
			scored: true, at: at, about: &about,
			properties: map[string]any{"index": number, "audit": "stat -c %a " + check.file, "type": "node"},
		}.object())
	}
	return report{
		kind: Kinds()[1], name: "kube-bench-" + about.name, results: entries,
		labels: map[string]any{"app.kubernetes.io/created-by": "kube-bench-adapter"},
	}.object()
}
