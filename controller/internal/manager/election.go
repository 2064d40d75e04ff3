// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// elect calls lead with the shards that this process holds the leases of, as [shard.Run] does.
func elect(ctx context.Context, client kubernetes.Interface, namespace string, shards int, lead func(context.Context, shard.Set) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this replica: %w", err)
	}
	return shard.Run(ctx, shard.Config{
		Leases: client.CoordinationV1().Leases(namespace), Name: leaseName, Count: shards, Identity: host + "_" + string(uuid.NewUUID()),
	}, lead)
}

// podNamespace returns the value of a flag or, if it is empty, the namespace of the pod.
func podNamespace(flag, value string) (string, error) {
	if value != "" {
		return value, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("--%s: is required outside a pod; for a single replica without admission, --leader-elect=false will do: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}
