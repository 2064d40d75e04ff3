// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// policiesFolder may name a folder with other policies, such as those of Kyverno's collection.
// They are expected to have as many rules.
const policiesFolder = "POLICIES"

// RulesPerPod of the 17 policies.
const RulesPerPod = 19

// podPolicy is one rule about Pods, as text of YAML.
type podPolicy struct{ policy, rule, validate string }

// everyContainer is a pattern of a Pod whose containers of all sorts meet a pattern.
func everyContainer(pattern string) string {
	return fmt.Sprintf("pattern: {spec: {=(ephemeralContainers): [%[1]s], =(initContainers): [%[1]s], containers: [%[1]s]}}", pattern)
}

// podPolicies are of the shape of the Pod Security Standards: patterns, alternatives, loops and
// conditions.
func podPolicies() []podPolicy {
	const containers = "request.object.spec.[ephemeralContainers, initContainers, containers][]"
	loop := func(conditions string) string {
		return fmt.Sprintf("foreach: [{list: %q, deny: {conditions: {all: [%s]}}}]", containers, conditions)
	}
	return []podPolicy{
		{"capabilities-strict", "drop-all", loop(`{key: ALL, operator: AnyNotIn, value: "{{ element.securityContext.capabilities.drop[] || '' }}"}`)},
		{"capabilities-strict", "add-few", loop(`{key: "{{ element.securityContext.capabilities.add[] || '' }}", operator: AnyNotIn, value: [NET_BIND_SERVICE, ""]}`)},
		{"capabilities", "add-known", fmt.Sprintf(`deny: {conditions: {all: [{key: "{{ %s.securityContext.capabilities.add[] }}", operator: AnyNotIn, value: [AUDIT_WRITE, CHOWN, FOWNER, KILL, NET_BIND_SERVICE, SETGID, SETUID]}]}}`, containers)},
		{"host-namespaces", "none", `pattern: {spec: {=(hostPID): "false", =(hostIPC): "false", =(hostNetwork): "false"}}`},
		{"host-path", "none", `pattern: {spec: {=(volumes): [{X(hostPath): "null"}]}}`},
		{"host-ports", "none", everyContainer("{=(ports): [{=(hostPort): 0}]}")},
		{"host-process", "none", everyContainer(`{=(securityContext): {=(windowsOptions): {=(hostProcess): "false"}}}`)},
		{"privilege-escalation", "denied", everyContainer(`{securityContext: {allowPrivilegeEscalation: "false"}}`)},
		{"privileged", "denied", everyContainer(`{=(securityContext): {=(privileged): "false"}}`)},
		{"proc-mount", "default", everyContainer(`{=(securityContext): {=(procMount): Default}}`)},
		{"selinux", "type", everyContainer(`{=(securityContext): {=(seLinuxOptions): {=(type): container_t | container_init_t | container_kvm_t}}}`)},
		{"selinux", "user-role", everyContainer(`{=(securityContext): {=(seLinuxOptions): {X(user): "null", X(role): "null"}}}`)},
		{"non-root-user", "above-zero", everyContainer(`{=(securityContext): {=(runAsUser): ">0"}}`)},
		{"non-root", "set", `anyPattern: [{spec: {securityContext: {runAsNonRoot: "true"}, containers: [{=(securityContext): {=(runAsNonRoot): "true"}}]}}, {spec: {containers: [{securityContext: {runAsNonRoot: "true"}}]}}]`},
		{"apparmor", "known", `pattern: {=(metadata): {=(annotations): {=(container.apparmor.security.beta.kubernetes.io/*): runtime/default | localhost/*}}}`},
		{"seccomp-strict", "set", `anyPattern: [{spec: {securityContext: {seccompProfile: {type: RuntimeDefault | Localhost}}}}, {spec: {containers: [{securityContext: {seccompProfile: {type: RuntimeDefault | Localhost}}}]}}]`},
		{"seccomp", "known", everyContainer(`{=(securityContext): {=(seccompProfile): {=(type): RuntimeDefault | Localhost}}}`)},
		{"sysctls", "known", `pattern: {spec: {=(securityContext): {=(sysctls): [{=(name): kernel.shm_rmid_forced | net.ipv4.ip_local_port_range | net.ipv4.tcp_syncookies}]}}}`},
		{"volume-types", "known", `deny: {conditions: {all: [{key: "{{ request.object.spec.volumes[].keys(@)[] || '' }}", operator: AnyNotIn, value: [name, configMap, csi, downwardAPI, emptyDir, projected, secret, ""]}]}}`},
	}
}

// PodSecurity returns the documents of 17 policies.
func PodSecurity(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv(policiesFolder); folder != "" {
		return readAll(t, folder)
	}
	var text strings.Builder
	name := ""
	for _, p := range podPolicies() {
		if p.policy != name {
			name = p.policy
			fmt.Fprintf(&text, `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: pss-%s
  annotations: {policies.kyverno.io/category: Pod Security Standards, policies.kyverno.io/severity: medium}
spec:
  background: true
  validationFailureAction: Audit
  rules:
`, name)
		}
		fmt.Fprintf(&text, "  - name: %s\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      message: %s is not met\n      %s\n", p.rule, p.rule, p.validate)
	}
	return text.String()
}

func readAll(t testing.TB, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s=%s has no policies: %v", policiesFolder, folder, err)
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // In the folder that the caller names.
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(data) + "\n")
	}
	return text.String()
}

// AddedRule is a JSON patch of a policy: Pods need the label app.
const AddedRule = `[{"op":"add","path":"/spec/rules/-","value":{"name":"bench","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"message":"app","pattern":{"metadata":{"labels":{"app":"?*"}}}}}}]`
