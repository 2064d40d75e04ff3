// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

// API is the API group in which reports are written.
type API string

// The groups of reports, by their names.
const (
	WGPolicy    API = "wgpolicyk8s.io"
	OpenReports API = "openreports.io"
)

// Defaults of [Options].
const (
	DefaultMaxResults = 500
	DefaultMaxBytes   = 256 << 10
	// mostResults is what a record's index can count.
	mostResults = math.MaxUint16
	// leastBytes has room for the largest names and a message.
	leastBytes = 32 << 10
)

// Options of a [Layout].
type Options struct {
	// Split makes a report per policy and namespace instead of one per namespace.
	Split bool
	// API is WGPolicy if empty.
	API API
	// Instance tells the reports of several writers to one server apart. It is a value of [InstanceLabel]; reports
	// of the instance without a name don't have the label.
	Instance string
	// MaxResults is the greatest number of results in a report, at most 65,535; DefaultMaxResults if zero.
	MaxResults int
	// MaxBytes is the greatest size of a report as JSON; DefaultMaxBytes if zero, and at
	// least 32 KiB.
	MaxBytes int
	// Allowed are the outcomes that reports include, as the policy gives them: a failure that is shown as a
	// warning is a failure. Empty means all.
	Allowed []report.Outcome
	// Series is the number of pairs of policy and namespace that have metrics of their own; none if zero.
	Series int
	// Clock gives the times of changes; the real one if nil.
	Clock clock.PassiveClock
}

func (o *Options) complete() {
	o.API = cmp.Or(o.API, WGPolicy)
	if o.MaxResults <= 0 {
		o.MaxResults = DefaultMaxResults
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxResults = min(o.MaxResults, mostResults)
	o.MaxBytes = max(o.MaxBytes, leastBytes)
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
}

// allows reports whether reports include results with an outcome.
func (o *Options) allows(outcome report.Outcome) bool {
	return len(o.Allowed) == 0 || slices.Contains(o.Allowed, outcome)
}

// noPolicy is the identity for reports on all policies.
var noPolicy policy.Identity

// Layout has all current results and the report that each is in. It is safe for concurrent use.
type Layout struct {
	options Options
	// changed wakes the writer when there are changes.
	changed *broadcast.Trigger

	mu       sync.Mutex
	policies map[policy.Identity]*policyState
	subjects map[subjectKey]*subject
	groups   map[groupKey]*group
	chunks   map[reportKey]*chunk
	arena    arena
	// counts has the number of results by the outcome that is shown.
	counts  tally
	changes changes
	pruned  bool
	// old is a buffer that replace reuses.
	old []handle
}

// NewLayout returns a layout without results.
func NewLayout(options Options) *Layout {
	options.complete()
	return &Layout{
		options: options, changed: broadcast.NewTrigger(),
		policies: map[policy.Identity]*policyState{}, subjects: map[subjectKey]*subject{},
		groups: map[groupKey]*group{}, chunks: map[reportKey]*chunk{},
		counts: newTally(options.Series), changes: newChanges(),
	}
}

// Present sets what the results of a policy say in addition to their outcome. If it has changed, all reports
// with results of the policy change. It should be called before Set: until then, failures are scored and
// have no source.
func (l *Layout) Present(id policy.Identity, presentation policy.Presentation) {
	presentation = fitPresentation(presentation)
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.policy(id)
	p.presented = true
	if p.presentation != presentation {
		l.present(p, presentation)
	}
}

// present changes the presentation of p, and moves records that no longer fit into their chunks.
func (l *Layout) present(p *policyState, presentation policy.Presentation) {
	affected := l.chunksOf(p)
	for _, c := range affected {
		l.recount(c, p, -1)
	}
	p.present(presentation)
	for _, c := range affected {
		l.recount(c, p, 1)
		l.markChanged(c)
	}
	for _, c := range affected {
		for len(c.records) > 1 && c.bytes > c.group.capacity {
			h := c.records[len(c.records)-1]
			l.removeFromChunk(h)
			l.assignChunk(h, c)
		}
	}
}

// recount adds or, with -1, subtracts what depends on the presentation of p.
func (l *Layout) recount(c *chunk, p *policyState, sign int) {
	size := c.listing(p)
	for _, h := range c.records {
		if r := l.arena.records.at(h); r.owner() == p {
			size += p.size
			l.counts.add(l.arena.pair(r), r.shown(), sign)
		}
	}
	c.grow(sign * size)
	c.group.reopen(c)
}

// chunksOf returns the chunks with results of p.
func (l *Layout) chunksOf(p *policyState) []*chunk {
	var chunks []*chunk
	for key, g := range l.groups {
		if key.owner == p {
			chunks = append(chunks, g.chunks...)
			continue
		}
		for _, c := range g.chunks {
			if c.owners[p] > 0 {
				chunks = append(chunks, c)
			}
		}
	}
	return chunks
}

// Set replaces the results of a policy for a subject; no results remove them. An unchanged result keeps its
// time and does not change its report. Results whose outcome is not allowed are left out.
func (l *Layout) Set(id policy.Identity, reference policy.Reference, results []policy.Result) {
	l.SetRules(id, reference, results, nil)
}

// SetRules is Set for the results of some rules; those of other rules stay. If of is nil, it is for all.
func (l *Layout) SetRules(id policy.Identity, reference policy.Reference, results []policy.Result, of func(rule string) bool) {
	now := seconds(l.options.Clock.Now().Unix())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(id, fitReference(reference), l.allowed(results), of, now)
}

// Adopt is SetRules for results that others found at a time, which changed results get. It leaves results that
// are newer as they are.
func (l *Layout) Adopt(id policy.Identity, reference policy.Reference, results []policy.Result, of func(rule string) bool, at time.Time) {
	reference = fitReference(reference)
	l.mu.Lock()
	defer l.mu.Unlock()
	now, newer := seconds(at.Unix()), map[string]bool{}
	if p, s := l.policies[id], l.subjects[keyOfSubject(reference)]; p != nil && s != nil {
		for _, h := range s.records {
			if r := l.arena.records.at(h); r.owner() == p && r.changed > now {
				newer[r.rule()] = true
			}
		}
	}
	older := func(rule string) bool { return !newer[rule] && of(rule) }
	results = slices.DeleteFunc(slices.Clone(l.allowed(results)), func(r policy.Result) bool { return !older(r.Rule) })
	l.set(id, reference, results, older, now)
}

// set is called with the mutex.
func (l *Layout) set(id policy.Identity, reference policy.Reference, results []policy.Result, of func(rule string) bool, now uint32) {
	p, s := l.policies[id], l.subjects[keyOfSubject(reference)]
	if len(results) == 0 && (p == nil || s == nil) {
		return
	}
	if p == nil {
		p = l.policy(id)
	}
	if s == nil {
		s = l.addSubject(reference)
	}
	l.replace(p, s, results, of, now)
}

// allowed returns the results whose outcome is allowed; the same slice if all outcomes are.
func (l *Layout) allowed(results []policy.Result) []policy.Result {
	if len(l.options.Allowed) == 0 {
		return results
	}
	return slices.DeleteFunc(slices.Clone(results), func(r policy.Result) bool { return !l.options.allows(r.Outcome) })
}

// replace replaces the records of a policy for a subject, or those of some of its rules. It pairs new and old
// results by rule; of several results of a rule, the nth with the nth.
func (l *Layout) replace(p *policyState, s *subject, results []policy.Result, of func(rule string) bool, now uint32) {
	old := l.old[:0]
	for _, h := range s.records {
		if r := l.arena.records.at(h); r.owner() == p && (of == nil || of(r.rule())) {
			old = append(old, h)
		}
	}
	var added []handle
	hint := 0
	for i := range results {
		t := fitText(p, results[i], l.options.MaxBytes)
		at := l.find(old, t, hint)
		if at < 0 {
			h := l.arena.records.add(record{text: t, subject: s.self, changed: now})
			l.assignChunk(h, nil)
			added = append(added, h)
			continue
		}
		l.update(old[at], t, now)
		old[at] = 0
		hint = at + 1
	}
	s.add(added)
	l.forget(slices.DeleteFunc(old, func(h handle) bool { return h == 0 }))
	l.old = old[:0]
}

// find returns the index of a record with the rule of t, or -1. It begins at hint, since results usually keep
// their order.
func (l *Layout) find(records []handle, t sharedText, hint int) int {
	rule := t.Value().rule
	for i := range records {
		at := (hint + i) % len(records)
		if h := records[at]; h != 0 && l.arena.records.at(h).rule() == rule {
			return at
		}
	}
	return -1
}

// update gives a record a new text. It stays in its chunk if it fits.
func (l *Layout) update(h handle, t sharedText, now uint32) {
	r := l.arena.records.at(h)
	r.origin = set
	before, after := r.shown(), t.shown()
	same := r.says(t)
	if same && before == after {
		r.text, r.unscored = t, false
		return
	}
	if !same {
		r.changed = now
	}
	c := l.arena.chunk(r)
	grown := int(t.Value().size - r.text.Value().size)
	if len(c.records) > 1 && c.bytes+grown > c.group.capacity {
		l.removeFromChunk(h)
		r.text, r.unscored = t, false
		l.assignChunk(h, c)
		return
	}
	about := l.arena.pair(r)
	l.counts.add(about, after, 1)
	l.counts.add(about, before, -1)
	r.text, r.unscored = t, false
	c.grow(grown)
	c.group.reopen(c)
	l.markChanged(c)
}

// RemovePolicy removes all results of a policy.
func (l *Layout) RemovePolicy(id policy.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.policies[id]
	if p == nil {
		return
	}
	p.presented = false
	l.forget(l.recordsOf(p, nil))
	delete(l.policies, id)
}

// RemoveRules removes the results of some rules of a policy.
func (l *Layout) RemoveRules(id policy.Identity, of func(rule string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.policies[id]; p != nil {
		l.forget(l.recordsOf(p, of))
	}
}

// recordsOf returns the records of a policy, or those of some of its rules.
func (l *Layout) recordsOf(p *policyState, of func(rule string) bool) []handle {
	var found []handle
	for _, c := range l.chunksOf(p) {
		for _, h := range c.records {
			if r := l.arena.records.at(h); r.owner() == p && (of == nil || of(r.rule())) {
				found = append(found, h)
			}
		}
	}
	return found
}

// Kinds returns the kinds of the subjects that have results, by policy.
func (l *Layout) Kinds() map[policy.Identity][]schema.GroupVersionKind {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[policy.Identity][]schema.GroupVersionKind{}
	for _, s := range l.subjects {
		at := s.place.Value()
		kind := schema.FromAPIVersionAndKind(at.apiVersion, at.kind)
		for _, h := range s.records {
			if id := l.arena.records.at(h).owner().id; !slices.Contains(found[id], kind) {
				found[id] = append(found[id], kind)
			}
		}
	}
	return found
}

// PruneUnseen removes results that were loaded from stored reports and not set since, unless keep returns
// true. It may be called several times. Obsolete reports are deleted only after the first call.
func (l *Layout) PruneUnseen(keep func(id policy.Identity, subject policy.Reference, rule string) bool) {
	unseen := l.unseen()
	// Without the lock, since keep may wait for a goroutine that calls Set.
	for h, r := range unseen {
		if keep(r.text.Value().owner.id, r.subject.reference(), r.text.Value().rule) {
			delete(unseen, h)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var gone []handle
	for h, r := range l.unseenNow() {
		if before, ok := unseen[h]; ok && before == r {
			gone = append(gone, h)
		}
	}
	l.forget(gone)
	l.pruned = true
	l.changed.Fire()
}

// loadedResult is what a loaded record is about.
type loadedResult struct {
	text    sharedText
	subject *subject
}

// unseen returns the loaded records that have not been set.
func (l *Layout) unseen() map[handle]loadedResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Collect(l.unseenNow())
}

// unseenNow is called with the mutex.
func (l *Layout) unseenNow() iter.Seq2[handle, loadedResult] {
	return func(yield func(handle, loadedResult) bool) {
		for _, s := range l.subjects {
			for _, h := range s.records {
				if r := l.arena.records.at(h); r.origin != set && !yield(h, loadedResult{r.text, s}) {
					return
				}
			}
		}
	}
}

// forget removes records.
func (l *Layout) forget(records []handle) {
	if len(records) == 0 {
		return
	}
	affected := map[*subject]struct{}{}
	for _, h := range records {
		l.removeFromChunk(h)
		affected[l.arena.subject(l.arena.records.at(h))] = struct{}{}
	}
	for s := range affected {
		rest := slices.DeleteFunc(s.records, func(h handle) bool { return l.arena.records.at(h).chunk == 0 })
		if s.records = slices.Clone(rest); len(rest) == 0 {
			delete(l.subjects, s.subjectKey)
			l.arena.subjects.drop(s.self)
		}
	}
	l.arena.records.drop(records...)
}

// policy returns the state of a policy, and adds it if there is none.
func (l *Layout) policy(id policy.Identity) *policyState {
	p := l.policies[id]
	if p == nil {
		p = newPolicyState(id)
		l.policies[id] = p
	}
	return p
}
