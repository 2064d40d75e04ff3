// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

// action is what to do at the destination.
type action int

const (
	doNothing action = iota
	doCreate
	doUpdate
	// doReplace deletes the object with a different UID, and creates this one.
	doReplace
	doDelete
)

// present is an object at the destination.
type present struct {
	uid string
	// mark is the zero value if the object was not imported.
	mark Mark
	// fingerprint of its current content.
	fingerprint string
}

// untouched reports whether the object is unchanged since it was imported.
func (p *present) untouched() bool {
	return p.mark.Fingerprint != "" && p.mark.Fingerprint == p.fingerprint
}

// wanted is an object at the source.
type wanted struct {
	uid         string
	version     uint64
	fingerprint string
	known       bool
}

// decidePut decides what to do about an object of the source. current is the object at the
// destination, nil if there is none.
func decidePut(mode Mode, scope Scope, want wanted, current *present) (action, Result) {
	if current == nil {
		if mode == Tail && want.known {
			return doNothing, Gone
		}
		return doCreate, Created
	}
	sameUID := scope == Portable || current.uid == want.uid
	if current.fingerprint == want.fingerprint && sameUID && !(mode == Mirror && current.mark.Version != want.version) {
		return doNothing, Same
	}
	if mode == Fill || mode == Tail && !current.untouched() {
		return doNothing, Kept
	}
	if mode.annotates() && current.untouched() && want.version != 0 && want.version < current.mark.Version {
		return doNothing, Same
	}
	if !sameUID {
		return doReplace, Updated
	}
	return doUpdate, Updated
}

// decideDelete decides what to do about an object that the source no longer has.
func decideDelete(mode Mode, scope Scope, uid string, version uint64, current *present) (action, Result) {
	if current == nil {
		return doNothing, Same
	}
	if uid != "" && scope == Exact && current.uid != uid {
		// It is a new one, created after the deletion.
		return doNothing, Same
	}
	switch mode {
	case Mirror, Replace:
		return doDelete, Deleted
	case Tail:
		if !current.untouched() {
			return doNothing, Kept
		}
		if version != 0 && current.mark.Version > version {
			return doNothing, Same
		}
		return doDelete, Deleted
	case Fill:
	}
	return doNothing, Kept
}
