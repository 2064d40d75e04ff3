// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/store/engine"
)

// lastName is above all names that an object can have, which are ASCII.
const lastName = "\x7f"

// Namespaces returns the namespaces in which namespaced resources have objects, in
// order. It reads one row a namespace and resource, not all.
func (s *Store) Namespaces(ctx context.Context, resources []schema.GroupResource) ([]string, error) {
	found := map[string]bool{}
	for _, resource := range resources {
		q := engine.Query{Resource: StoredAs(resource), Limit: 1}
		for {
			page, err := s.engine.List(ctx, q)
			if err != nil {
				return nil, fmt.Errorf("namespaces of %s: %w", resource, err)
			}
			if len(page.Rows) == 0 {
				break
			}
			namespace, _, _ := strings.Cut(page.Rows[0].Key, "/")
			found[namespace] = true
			q.After = namespace + "/" + lastName
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Count returns how many objects of a resource are stored.
func (s *Store) Count(ctx context.Context, resource schema.GroupResource) (int64, error) {
	stats, err := s.engine.Stats(ctx, StoredAs(resource))
	if err != nil {
		return 0, apiError("count "+resource.String(), err)
	}
	return stats.Objects, nil
}
