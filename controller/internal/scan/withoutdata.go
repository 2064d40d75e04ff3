// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

// needsData reports whether a kind without data has to be listed again because it is to be evaluated now.
// The caller must then stop its source.
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
func (k *kind) setWithoutData(withoutData bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withoutData = withoutData
	k.dataMissing = k.dataMissing && !withoutData // The data are not needed any more.
}

// isDataMissing reports whether the kind is to be evaluated and has not been listed with its data yet.
func (k *kind) isDataMissing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dataMissing
}

// possible returns the policies that the kind has the data for: all, or those for admission only.
func (k *kind) possible(policies []*compiled) []*compiled {
	if !k.isDataMissing() {
		return policies
	}
	return slices.DeleteFunc(slices.Clone(policies), func(c *compiled) bool { return !c.admission })
}
