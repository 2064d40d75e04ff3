// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "fmt"

// CheckOps returns an error for ops that no engine commits together: of an unknown kind, or with the same key.
func CheckOps(ops []Op) error {
	type place struct {
		resource Resource
		key      string
	}
	seen := make(map[place]struct{}, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Kind < Create || op.Kind > Delete {
			return fmt.Errorf("op for %s%s has the unknown kind %d", op.Resource, op.Key, op.Kind)
		}
		seen[place{op.Resource, op.Key}] = struct{}{}
		if len(seen) == i {
			return fmt.Errorf("two ops for %s%s", op.Resource, op.Key)
		}
	}
	return nil
}
