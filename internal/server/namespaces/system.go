// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// system are the namespaces that are always there.
func system() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}
}

// EnsureSystem makes the namespaces default, kube-system and kube-public if they
// are missing. A running Controller makes them again if they are deleted.
func EnsureSystem(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range system() {
		_, err := client.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}
