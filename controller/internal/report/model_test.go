// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// model is what a layout has to say: results by policy and subject.
type model struct {
	results       map[modelKey][]policy.Result
	presentations map[policy.Identity]policy.Presentation
	rand          *rand.Rand
	layout        *Layout
	maxResults    int
	maxBytes      int
}

type modelKey struct {
	id      policy.Identity
	subject policy.Reference
}

func (m *model) identity() policy.Identity {
	kind := []string{policy.ClusterPolicy, policy.ValidatingPolicy}[m.rand.IntN(2)]
	id := policy.Identity{Kind: kind, Name: fmt.Sprintf("policy-%d", m.rand.IntN(3))}
	if _, ok := m.presentations[id]; !ok {
		m.present(id, presentation())
	}
	return id
}

// present gives each kind of policy a source of its own, as engines do.
func (m *model) present(id policy.Identity, shown policy.Presentation) {
	shown.Source = "source, " + id.Kind
	m.layout.Present(id, shown)
	m.presentations[id] = shown
}

func (m *model) subject() policy.Reference {
	return pod([]string{"", "one", "two"}[m.rand.IntN(3)], fmt.Sprintf("pod-%d", m.rand.IntN(40)))
}

func (m *model) some() []policy.Result {
	results := make([]policy.Result, m.rand.IntN(5))
	for i := range results {
		results[i] = policy.Result{Rule: fmt.Sprintf("rule-%d", i), Outcome: report.Outcomes()[m.rand.IntN(5)]}
		if m.rand.IntN(3) == 0 {
			results[i].Message = strings.Repeat("m", m.rand.IntN(3000))
		}
		if m.rand.IntN(5) == 0 {
			results[i].Properties = map[string]string{"p": fmt.Sprint(m.rand.IntN(2))}
		}
	}
	m.rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	return results
}

// step does something at random and returns the groups (as prefixes of names) that may change.
func (m *model) step() {
	id := m.identity()
	switch m.rand.IntN(40) {
	case 0:
		m.layout.RemovePolicy(id)
		maps.DeleteFunc(m.results, func(key modelKey, _ []policy.Result) bool { return key.id == id })
		delete(m.presentations, id)
	case 1:
		shown := presentation()
		shown.Scored, shown.Category = m.rand.IntN(2) == 0, strings.Repeat("c", m.rand.IntN(300))
		m.present(id, shown)
	case 2, 3:
		m.layout.compactChunk()
	case 4: // Many subjects go at once.
		for key := range m.results {
			if m.rand.IntN(3) == 0 {
				m.layout.Set(key.id, key.subject, nil)
				delete(m.results, key)
			}
		}
	default:
		key, results := modelKey{id, m.subject()}, m.some()
		m.layout.Set(key.id, key.subject, results)
		if m.results[key] = results; len(results) == 0 {
			delete(m.results, key)
		}
	}
}

func resultLine(about string, r policy.Result, outcome report.Outcome) string {
	return fmt.Sprintf("%s rule %s: %s %q %v", about, r.Rule, outcome, r.Message, r.Properties["p"])
}

func (m *model) want() []string {
	var lines []string
	for key, results := range m.results {
		shown, presented := m.presentations[key.id]
		for _, r := range results {
			outcome := r.Outcome
			if presented && !shown.Scored && outcome == report.OutcomeFail {
				outcome = report.OutcomeWarn
			}
			lines = append(lines, resultLine(fmt.Sprintf("%s about %s/%s", key.id.ResultName(), key.subject.Namespace, key.subject.Name), r, outcome))
		}
	}
	slices.Sort(lines)
	return lines
}

// check compares the reports with the model and tests their bounds.
func (m *model) check(t *testing.T) {
	t.Helper()
	var lines []string
	numbers := map[string]bool{}
	for object := range m.layout.Reports() {
		if n := len(object.GetResults()); n == 0 || n > m.maxResults {
			t.Fatalf("%s has %d results", object.GetName(), n)
		}
		if size := len(asJSON(t, object)); size > m.maxBytes {
			t.Fatalf("%s has %d bytes", object.GetName(), size)
		}
		about := fmt.Sprint(object.GetNamespace(), object.GetAnnotations()[PolicyAnnotation], object.GetLabels()[ChunkLabel])
		if numbers[about] {
			t.Fatalf("two reports are %s", about)
		}
		numbers[about] = true
		for _, r := range object.GetResults() {
			subject := r.Resources[0]
			if subject.Namespace != object.GetNamespace() {
				t.Fatalf("%s is in namespace %q", subject.Name, object.GetNamespace())
			}
			lines = append(lines, resultLine(fmt.Sprintf("%s about %s/%s", r.Policy, subject.Namespace, subject.Name), policy.Result{Rule: r.Rule, Message: r.Message, Properties: r.Properties}, r.Result))
		}
	}
	slices.Sort(lines)
	if !slices.Equal(lines, m.want()) {
		t.Fatalf("got %d results, want %d", len(lines), len(m.want()))
	}
	m.checkCounters(t)
}

// checkCounters compares the counters with the reports.
func (m *model) checkCounters(t *testing.T) {
	t.Helper()
	found := map[pair]counts{}
	for _, c := range m.layout.chunks {
		size := 0
		for at := range c.records {
			r := c.at(at)
			if m.layout.arena.chunk(r) != c || int(r.index) != at {
				t.Fatal("a record does not know its index")
			}
			key := m.layout.arena.pair(r)
			there := found[key]
			there[position(r.shown())]++
			found[key] = there
			size += m.layout.arena.size(r) + r.owner().size
		}
		for owner := range c.owners {
			size += c.listing(owner)
		}
		if c.bytes != size {
			t.Fatalf("%s: %d bytes are counted, %d are there", c.key, c.bytes, size)
		}
	}
	for _, g := range m.layout.groups {
		count, bytes := 0, 0
		for _, c := range g.chunks {
			count, bytes = count+len(c.records), bytes+c.bytes
		}
		if g.count != count || g.bytes != bytes {
			t.Fatalf("%d results and %d bytes are counted, %d and %d are there", g.count, g.bytes, count, bytes)
		}
	}
	m.checkTally(t, found)
}

// checkTally compares the tally with the results.
func (m *model) checkTally(t *testing.T, found map[pair]counts) {
	t.Helper()
	got := &m.layout.counts
	var total, rest counts
	listed := 0
	for key, there := range found {
		p := got.pairs[key]
		if got.limit > 0 && (p == nil || p.counts != there) {
			t.Fatalf("%v: %+v is counted, %v is there", key, p, there)
		}
		for at, n := range there {
			total[at] += n
			if p != nil && !p.listed {
				rest[at] += n
			}
		}
		if p != nil && p.listed {
			listed++
		}
	}
	if got.total != total || got.rest != rest || got.listed != listed || listed > got.limit || got.limit > 0 && len(got.pairs) != len(found) {
		t.Fatalf("counted %+v; there are %v, %v of them of others, %d of %d pairs are listed", got, total, rest, listed, len(found))
	}
}

// TestRandomOperations: whatever happens, each result is in exactly one report, reports are
// within their bounds, and what was not reported as changed has not changed.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{true, false} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("split=%v,seed=%d", split, seed), func(t *testing.T) {
				t.Parallel()
				m := &model{results: map[modelKey][]policy.Result{}, presentations: map[policy.Identity]policy.Presentation{}, rand: seeded(seed), maxResults: 12, maxBytes: 32 << 10}
				m.layout, _ = newTestLayout(Options{Split: split, MaxResults: m.maxResults, MaxBytes: m.maxBytes, Series: 5})
				before, most := texts(t, m.layout), 0
				for i := range 500 {
					m.step()
					if i%5 > 0 {
						continue
					}
					m.check(t)
					after := texts(t, m.layout)
					reported := m.layout.takeChanges().reports
					for _, name := range differing(before, after) {
						namespace, rest, _ := strings.Cut(name, "/")
						if _, ok := reported[reportKey{namespace, rest}]; !ok {
							t.Fatalf("step %d: %s changed, but only %v was reported", i, name, reported)
						}
					}
					before, most = after, max(most, len(after))
				}
				if most < 10 {
					t.Errorf("never more than %d reports: the test does too little", most)
				}
			})
		}
	}
}

// TestCompactChunks: after most results have gone, reports that are not needed go, too, one
// at a time.
func TestCompactChunks(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true, MaxResults: 10})
	id := clusterPolicy("a")
	for i := range 100 {
		l.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{pass("r")})
	}
	for i := range 100 {
		if i%10 > 1 { // Two of each chunk stay.
			l.Set(id, pod("default", fmt.Sprint(i)), nil)
		}
	}
	if n := len(texts(t, l)); n != 10 {
		t.Fatalf("%d reports before", n)
	}
	for reports := 10; l.compactChunk(); reports-- {
		before := texts(t, l)
		if len(before) != reports-1 {
			t.Fatalf("%d reports after one step, want %d", len(before), reports-1)
		}
	}
	if n := len(texts(t, l)); n != 3 { // Of three, half is one, where 20 results have no room.
		t.Errorf("%d reports at the end", n)
	}
}

// TestOneFlip: of 100,000 results in one namespace one changes, and so does one report.
func TestOneFlip(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	id := clusterPolicy("a")
	l.Present(id, presentation())
	for i := range 100_000 {
		l.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{fail("r", "the field spec.containers[0].image has no tag")})
	}
	if n := len(l.takeChanges().reports); n != 200 {
		t.Errorf("100,000 results are in %d reports", n)
	}
	l.Set(id, pod("default", "4711"), []policy.Result{pass("r")})
	taken := l.takeChanges().reports
	if len(taken) != 1 {
		t.Errorf("one flip changes %d reports", len(taken))
	}
	for key := range taken {
		object, _ := l.report(key)
		if size := len(asJSON(t, object)); size > DefaultMaxBytes {
			t.Errorf("the report has %d bytes", size)
		}
	}
}
