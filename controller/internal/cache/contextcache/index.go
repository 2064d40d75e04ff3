// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"errors"
	"fmt"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// index has all entries at one time. It never changes.
type index struct {
	entries map[policy.Entry]*entry
	// names has the entries that show a dataset.
	names map[*dataset][]policy.Entry
	kinds map[string]kindState
	// revision counts the changes of the inputs that the index is made of: see [Cache].
	revision uint64
	// changed is closed when there is a next index.
	changed chan struct{}
}

// entry is a definition with its data, or the reason why there can't be any; neither
// until the resources of the API are known.
type entry struct {
	definition *definition
	data       *dataset
	err        error
	// warning is what may be wrong with where the data come from.
	warning string
}

// kindState is what is known of a kind of objects that declare entries.
type kindState struct {
	// decided tells that there is no point in waiting for its objects.
	decided bool
	// absent tells that the kind is not served.
	absent bool
	err    error
}

// verdict is what policies get of an entry.
func (e *entry) verdict() verdict {
	switch {
	case e == nil || e.err != nil:
		return fails
	case e.data == nil:
		return undecided
	default:
		return e.data.state.Load().verdict()
	}
}

// find returns the entry that a policy refers to; neither an entry nor an error while that is not
// known.
func (x *index) find(id policy.Entry) (*entry, error) {
	if e := x.entries[id]; e != nil || id.Kind == "" {
		return e, nil
	}
	for _, kind := range entryKinds {
		if e := x.entries[policy.Entry{Kind: kind, Name: id.Name}]; e != nil {
			return e, nil
		}
	}
	for _, kind := range entryKinds {
		if !x.kinds[kind].decided {
			return nil, nil // Not known.
		}
	}
	return nil, x.unknown(id)
}

// unknown says that there is no object with a name, or that nobody can tell.
func (x *index) unknown(id policy.Entry) error {
	if err := errors.Join(x.kinds[policy.CachedContextEntry].err, x.kinds[policy.GlobalContextEntry].err); err != nil {
		return fmt.Errorf("can't be found: %w", err)
	}
	hint := "create it, or correct the name in the policy"
	if x.kinds[policy.CachedContextEntry].absent && x.kinds[policy.GlobalContextEntry].absent {
		hint = "the cluster has no such kind; install its definition, and create it"
	}
	return fmt.Errorf("there is no CachedContextEntry or GlobalContextEntry of the name %q: %s", id.Name, hint)
}

// compare returns the entries that tell policies something else in the next index.
func (x *index) compare(next *index) []policy.Entry {
	var changed []policy.Entry
	for id, was := range x.entries {
		is := next.entries[id]
		if is == nil || (!was.equal(is) && is.verdict() != undecided) {
			changed = append(changed, id)
		}
	}
	for id, is := range next.entries {
		if x.entries[id] == nil && is.verdict() != undecided {
			changed = append(changed, id)
		}
	}
	return changed
}

func (e *entry) equal(other *entry) bool {
	if e.definition != other.definition || e.data != other.data {
		return false
	}
	return (e.err == nil) == (other.err == nil) && (e.err == nil || e.err.Error() == other.err.Error())
}

// inlineEntry is an entry that a policy declares, or that a query names although no current policy declares it: the
// policy has just been created or is being deleted.
type inlineEntry struct {
	declared bool
	// used and at are when an undeclared one was used last.
	used int64
	at   time.Time
}
