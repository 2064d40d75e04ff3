// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

// action is what is to be done at the destination.
type action int

const (
	doNothing action = iota
	doCreate
	doUpdate
	// doReplace deletes the report of another UID before it creates this one.
	doReplace
	doDelete
)

// present is the report that the destination has.
type present struct {
	uid string
	// mark is the zero value when the report was not imported.
	mark Mark
	// fingerprint of its content now.
	fingerprint string
}

// untouched says that nobody changed the report since it was imported.
func (p *present) untouched() bool {
	return p.mark.Fingerprint != "" && p.mark.Fingerprint == p.fingerprint
}

// wanted is the report as the source has it.
type wanted struct {
	uid         string
	version     uint64
	fingerprint string
	known       bool
}

// decidePut says what a report of the source means for the destination, which has
// current, or nothing when that is nil.
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

// decideDelete says what it means that the source has a report no more.
func decideDelete(mode Mode, scope Scope, uid string, version uint64, current *present) (action, Result) {
	if current == nil {
		return doNothing, Same
	}
	if uid != "" && scope == Exact && current.uid != uid {
		// It is another one, made after the deletion.
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
