// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

// detail says what is kept of a kind's resources. The order matters: the greater value includes the smaller one.
type detail uint8

const (
	// detailNone: hashes only. Nothing is evaluated.
	detailNone detail = iota
	// detailNoStatus: everything but the status, which no policy reads.
	detailNoStatus
	// detailAll: everything that policies can see.
	detailAll
)

// keeping says what is kept of each resource.
type keeping struct {
	// detail is what is kept of a resource that the source brings. It changes only while there is no source.
	detail detail
	// codec is for the source.
	codec codecOf
	// budget bounds the data of all kinds.
	budget *budget
	// kept is what is kept of all resources. dataMissing is true from the time when more is needed until they
	// have been listed again.
	kept        detail
	dataMissing bool
}

// detail returns what the policy needs of a resource.
func (c *compiled) detail() detail {
	switch {
	case c.admission:
		return detailNone
	case c.policy.ReadsStatus():
		return detailAll
	default:
		return detailNoStatus
	}
}

// detail returns what has to be kept of the resources. Namespaces are always kept whole: they are few, and
// policies read them.
func (w *wantedKind) detail() detail {
	if w.resource.GroupResource() == namespacesResource {
		return detailAll
	}
	most := detailNone
	for _, c := range w.policies {
		most = max(most, c.detail())
	}
	if most > detailNone && w.withStatus {
		return detailAll
	}
	return most
}

// needsData reports whether a kind has to be listed again because more of its resources is needed than is kept.
// The caller must then stop its source.
func (k *kind) needsData(w *wantedKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.detail >= w.detail() {
		return false
	}
	k.dataMissing = true
	return true
}

// setDetail is called before the source starts.
func (k *kind) setDetail(d detail) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.detail = d
	k.dataMissing = k.dataMissing && k.kept < d // The data are not needed any more.
}

// isDataMissing reports whether more of the resources is needed and they have not been listed again yet.
func (k *kind) isDataMissing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dataMissing
}

// possible returns the policies that the kind has the data for.
func (k *kind) possible(policies []*compiled) []*compiled {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dataMissing {
		return policies
	}
	return slices.DeleteFunc(slices.Clone(policies), func(c *compiled) bool { return c.detail() > k.kept })
}
