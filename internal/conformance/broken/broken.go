// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"slices"
)

// Breakage is a way to break a server.
type Breakage struct {
	// Check is the identifier of the check that fails then.
	Check string
	// What the server does wrong.
	What string
	// Break returns the handler that breaks what next answers.
	Break func(next http.Handler) http.Handler
}

// Server returns it without the check.
func (b *Breakage) Server() Server { return That(b.What, b.Break) }

// All returns the breakages of all checks, in the order of the checks.
func All() []Breakage {
	return slices.Concat(
		namespaces(), dependents(),
	)
}

// NeedControllers returns the checks that apply only where the garbage collector and the quota
// controller of Kubernetes run.
func NeedControllers() []string {
	return []string{"dependents-collected", "owners-collected", "dependents-kept", "quota-counted", "quota-enforced"}
}
