// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

// fatten reports whether a lean kind has to be listed again because it is to be evaluated. The source
// is to be stopped then.
func (k *kind) fatten(w *wish) bool {
	if !k.lean || w.lean() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.partial = true
	return true
}

// setLean is called before the source starts.
func (k *kind) setLean(lean bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lean = lean
	k.partial = k.partial && !lean // Nobody asks for the data any more.
}

// isPartial reports whether data are missing.
func (k *kind) isPartial() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.partial
}

// possible returns the policies that the kind has the data for.
func (k *kind) possible(policies []*compiled) []*compiled {
	if !k.isPartial() {
		return policies
	}
	return slices.DeleteFunc(slices.Clone(policies), func(c *compiled) bool { return !c.admission })
}
