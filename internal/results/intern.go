// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"hash/maphash"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/store/engine"
)

// interner makes the verdicts and subjects of one report, each distinct one once.
// A split report says the same about thousands of subjects; Kyverno's ordinary
// report says different things about one.
//
// The keys of verdicts are hashes: a map with whole verdicts as keys costs an
// allocation for each, and a third of the time of a projection.
type interner struct {
	seed     maphash.Seed
	verdicts map[uint64]*engine.Verdict
	subjects map[engine.Subject]*engine.Subject
	// last saves most look-ups in reports that repeat themselves.
	last *engine.Verdict
	// free is room for verdicts, allocated together. Pointers into it are given
	// away, so it is never grown, but replaced.
	free []engine.Verdict
}

// slab is how many verdicts are allocated together. Distinct verdicts of a report
// are few, however many entries it has.
const slab = 32

func newInterner(entries int) *interner {
	size := min(entries, slab)
	return &interner{
		seed:     maphash.MakeSeed(),
		verdicts: make(map[uint64]*engine.Verdict, size),
		free:     make([]engine.Verdict, 0, size),
	}
}

func (n *interner) verdict(entry *report.Result, reportSource string, about names) *engine.Verdict {
	v := engine.Verdict{
		Source:     text(entry.GetSource()),
		Policy:     text(entry.Policy),
		Rule:       text(entry.Rule),
		Category:   text(entry.Category),
		Severity:   text(string(entry.Severity)),
		Result:     text(string(entry.Result)),
		Message:    about.template(text(entry.Message)),
		Scored:     entry.Scored != nil && *entry.Scored,
		Properties: engine.JSON(object(entry.Properties)),
	}
	if v.Source == "" {
		v.Source = reportSource
	}
	if n.last == nil || *n.last != v {
		n.last = n.shared(&v)
	}
	return n.last
}

// shared returns the verdict that equals v and was made first.
func (n *interner) shared(v *engine.Verdict) *engine.Verdict {
	hash := maphash.Comparable(n.seed, *v)
	for n.verdicts[hash] != nil {
		if *n.verdicts[hash] == *v {
			return n.verdicts[hash]
		}
		hash++ // Another verdict has this hash: look where it would have moved v.
	}
	if len(n.free) == cap(n.free) {
		n.free = make([]engine.Verdict, 0, slab)
	}
	n.free = append(n.free, *v)
	made := &n.free[len(n.free)-1]
	n.verdicts[hash] = made
	return made
}

// subject returns nil for a reference that names nothing.
func (n *interner) subject(reference *report.ObjectReference) *engine.Subject {
	if reference == nil {
		return nil
	}
	s := engine.Subject{
		APIVersion: text(reference.APIVersion),
		Kind:       text(reference.Kind),
		Namespace:  text(reference.Namespace),
		Name:       text(reference.Name),
		UID:        text(string(reference.UID)),
	}
	if s == (engine.Subject{}) {
		return nil
	}
	shared, ok := n.subjects[s]
	if !ok {
		shared = &s
		if n.subjects == nil {
			n.subjects = make(map[engine.Subject]*engine.Subject, 1)
		}
		n.subjects[s] = shared
	}
	return shared
}
