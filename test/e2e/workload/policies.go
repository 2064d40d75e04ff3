// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload is what policy engines look at in tests and measurements: pods, and
// policies about them.
package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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

// Namespaces that the pods are in.
const Namespaces = 10

// Namespace is the name of one of them.
func Namespace(i int) string { return fmt.Sprintf("team-%02d", i) }

// NewPod returns a pod. Of four, one meets every policy and one breaks many.
func NewPod(i int) *corev1.Pod {
	yes, no := true, false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("app-%05d", i), Namespace: Namespace(i % Namespaces), Labels: map[string]string{"app": fmt.Sprintf("app-%d", i%50)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}, AutomountServiceAccountToken: &no},
	}
	switch (i / Namespaces) % 4 {
	case 0:
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	case 1:
		pod.Spec.HostNetwork, pod.Spec.HostPID = true, true
		pod.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
	}
	return pod
}

// podWriters create pods side by side.
const podWriters = 16

// CreatePods creates n pods. Their namespaces have to be there.
func CreatePods(ctx context.Context, client kubernetes.Interface, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(podWriters)
	for i := range n {
		group.Go(func() error {
			pod := NewPod(i)
			_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}
