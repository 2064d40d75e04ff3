// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload is what policy engines look at in tests and measurements: pods, and
// policies about them.
package workload

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

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
