// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"github.com/docket-project/docket/internal/reports/registry"
)

// REST is what serves a kind, for tests.
func (r *Reports) REST(kind registry.Kind) *registry.REST {
	for _, served := range r.opened {
		if served.Kind().GroupVersionKind == kind.GroupVersionKind {
			return served
		}
	}
	return nil
}
