// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trivyWorkload returns a report of the vulnerabilities in a workload's image. The
// CVE numbers are of the form of real ones; what they say is made up.
func (c Cluster) trivyWorkload(k int) *unstructured.Unstructured {
	random := c.random("trivy", k)
	about := c.workload(k)
	at := c.ago(random)
	image := map[string]string{
		"registry":   pick(random, []string{"registry.example.com", "images.example.org"}),
		"repository": about.namespace + "/" + about.name[:len(about.name)-6],
		"tag":        fmt.Sprintf("%d.%d.%d", random.IntN(4)+1, random.IntN(20), random.IntN(10)),
	}
	entries := make([]any, 4+random.IntN(12))
	for n := range entries {
		entries[n] = vulnerability(random, n, image, result{at: at, about: &about})
	}
	return report{
		kind: Kinds()[0], name: "trivy-vuln-polr-" + about.name, namespace: about.namespace,
		labels: map[string]any{
			"app.kubernetes.io/managed-by":      "trivy-operator-polr-adapter",
			"trivy-operator.source":             "VulnerabilityReport",
			"trivy-operator.resource.kind":      about.kind,
			"trivy-operator.resource.name":      about.name,
			"trivy-operator.resource.namespace": about.namespace,
		},
		about: &about, results: entries,
	}.object()
}

func vulnerability(random *rand.Rand, n int, image map[string]string, r result) map[string]any {
	library := pick(random, []string{
		"openssl", "zlib", "curl", "glibc", "busybox", "golang.org/x/net", "log4j-core",
		"libxml2", "expat", "krb5", "ncurses", "perl-base", "systemd", "tar",
	})
	weakness := pick(random, []string{
		"out-of-bounds write", "integer overflow", "use after free", "request smuggling",
		"uncontrolled recursion", "improper certificate validation", "denial of service",
	})
	installed := fmt.Sprintf("%d.%d.%d", random.IntN(3)+1, random.IntN(12), random.IntN(8))
	score := float64(random.IntN(100)+1) / 10
	id := fmt.Sprintf("CVE-%d-%05d", 2021+random.IntN(5), 10000+n*997+random.IntN(900))

	r.source, r.policy, r.rule, r.category = "Trivy Vulnerability", id, library, "Vulnerability Scan"
	r.severity, r.outcome = severityOf(score), "fail"
	if r.severity == "low" {
		r.outcome = "warn"
	}
	r.message = library + ": " + weakness
	r.properties = map[string]any{
		"artifact.repository": image["repository"],
		"artifact.tag":        image["tag"],
		"registry.server":     image["registry"],
		"resource":            library,
		"installedVersion":    installed,
		"fixedVersion":        installed + pick(random, []string{"-r1", "-r2", ".1"}),
		"score":               strconv.FormatFloat(score, 'f', 1, 64),
		"resultID":            fmt.Sprintf("%016x", random.Uint64()),
	}
	return r.object()
}

// severityOf is the qualitative rating that CVSS 3 gives a score.
func severityOf(score float64) string {
	switch {
	case score >= 9:
		return "critical"
	case score >= 7:
		return "high"
	case score >= 4:
		return "medium"
	default:
		return "low"
	}
}

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
