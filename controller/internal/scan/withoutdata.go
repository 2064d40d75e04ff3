// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

// needsData reports whether a lean kind has to be listed again because it is to be evaluated. The source
// is to be stopped then.
func (k *kind) needsData(w *wantedKind) bool {
	if !k.withoutData || w.admissionOnly() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dataMissing = true
	return true
}

// setWithoutData is called before the source starts.
func (k *kind) setWithoutData(lean bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withoutData = lean
	k.dataMissing = k.dataMissing && !lean // Nobody asks for the data any more.
}

// isDataMissing reports whether data are missing.
func (k *kind) isDataMissing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dataMissing
}

// possible returns the policies that the kind has the data for.
func (k *kind) possible(policies []*compiled) []*compiled {
	if !k.isDataMissing() {
		return policies
	}
	return slices.DeleteFunc(slices.Clone(policies), func(c *compiled) bool { return !c.admission })
}
