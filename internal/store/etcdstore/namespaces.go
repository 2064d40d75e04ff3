// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lastName is above all names that an object can have, which are ASCII.
const lastName = "\x7f"

// Namespaces returns the namespaces in which namespaced resources have objects, in
// order. It reads one key a namespace and resource, not all.
func (s *Store) Namespaces(ctx context.Context, resources []schema.GroupResource) ([]string, error) {
	found := map[string]bool{}
	for _, resource := range resources {
		prefix := s.root() + resourcePrefix(resource) + "/"
		from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
		for {
			answer, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly())
			if err != nil {
				return nil, fmt.Errorf("namespaces of %s: %w", resource, explained(err))
			}
			if len(answer.Kvs) == 0 {
				break
			}
			namespace, _, _ := strings.Cut(strings.TrimPrefix(string(answer.Kvs[0].Key), prefix), "/")
			found[namespace] = true
			from = prefix + namespace + "/" + lastName
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
