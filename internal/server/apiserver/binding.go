// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// bindCluster says to which cluster the share of the database has to belong. Without the
// right to see its own UID, a server that was given a name uses the share unbound.
func (o CompletedOptions) bindCluster(ctx context.Context, c *Config, client kubernetes.Interface) error {
	auto := c.Database.Cluster == ClusterAuto
	uid, denied, err := systemUID(ctx, client)
	switch {
	case err != nil:
		return err
	case denied != nil && auto:
		return fmt.Errorf("--cluster=%s: get namespace %s: %w; grant that, or name the cluster yourself", c.Database.Cluster, metav1.NamespaceSystem, denied)
	case denied != nil:
		klog.InfoS("The share of the database is not bound to this cluster: the namespace that tells clusters apart can't be read",
			"cluster", c.Database.Cluster, "namespace", metav1.NamespaceSystem, "cause", denied.Error())
		return nil
	}
	if auto {
		c.Database.Cluster = uid
	}
	c.Database.Binding = engine.Binding{UID: uid, Auto: auto, Adopt: o.Storage.AdoptCluster}
	return nil
}

// systemUID returns the UID that identifies the cluster. If the cluster does not reveal it, denied says why.
func systemUID(ctx context.Context, client kubernetes.Interface) (uid string, denied, err error) {
	err = patiently(ctx, "for its UID", func(ctx context.Context) error {
		namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			denied = err
			return nil
		}
		if err == nil {
			uid = string(namespace.UID)
		}
		return err
	})
	return uid, denied, err
}
