// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// reload gives the reports of a layout to another as a server would, in any order.
func (m *model) reload(t *testing.T, from *Layout, to *Layout) {
	t.Helper()
	all := slices.Collect(from.Reports())
	m.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, object := range all {
		stored := kindOf(from.options.API, object.GetNamespace() != "").empty()
		testkit.NoError(t, json.Unmarshal([]byte(asJSON(t, object)), stored))
		stored.SetUID("somebody")
		stored.SetResourceVersion("17")
		stored.SetLabels(with(stored.GetLabels(), "team", "a"))
		current := from.options.API == to.options.API && from.options.Split == to.options.Split
		if to.load(stored, from.options.API) != current {
			t.Fatalf("%s is taken for current: %v", object.GetName(), !current)
		}
	}
}

func with(labels map[string]string, key, value string) map[string]string {
	labels[key] = value
	return labels
}

func newModel(t *testing.T, seed uint64, options Options) *model {
	t.Helper()
	options.MaxResults, options.MaxBytes = 12, 32<<10
	m := &model{results: map[modelKey][]policy.Result{}, presentations: map[policy.Identity]policy.Presentation{}, rand: seeded(seed), maxResults: options.MaxResults, maxBytes: options.MaxBytes}
	clock := m.newLayout(options)
	for range 300 {
		m.step()
		clock.Step(time.Duration(m.rand.IntN(100)) * time.Second)
	}
	return m
}

func (m *model) newLayout(options Options) interface{ Step(time.Duration) } {
	options.MaxResults, options.MaxBytes = m.maxResults, m.maxBytes
	layout, clock := newTestLayout(options)
	m.layout = layout
	return clock
}

// setAll is what a scan after a start does.
func (m *model) setAll() {
	for id, shown := range m.presentations {
		m.layout.Present(id, shown)
	}
	for key, results := range m.results {
		m.layout.Set(key.id, key.subject, results)
	}
}

// TestRestart: a scan that finds what stored reports say changes not a byte of them, not even
// while it runs.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{Split: true}, {}, {Split: true, API: OpenReports}} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%+v,seed=%d", options, seed), func(t *testing.T) {
				t.Parallel()
				m := newModel(t, seed, options)
				before := m.layout
				m.newLayout(options).Step(time.Hour)
				m.reload(t, before, m.layout)
				want := texts(t, before)
				if changed := differing(want, texts(t, m.layout)); len(changed) > 0 {
					t.Fatalf("loading changed %v", changed)
				}
				m.layout.takeChanges()
				m.setAll()
				m.layout.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
				if changed := differing(want, texts(t, m.layout)); len(changed) > 0 {
					t.Errorf("the scan changed %v", changed)
				}
				if taken := m.layout.takeChanges(); len(taken.reports) > 0 {
					t.Errorf("the scan touched %v", taken.reports)
				}
				m.check(t)
			})
		}
	}
}

// TestSwitchKeepsTimes: results go to reports of another layout or API as they are, at once.
func TestSwitchKeepsTimes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		old, options := Options{Split: seed%2 == 0}, Options{Split: seed%2 == 1}
		if seed == 2 {
			options = Options{Split: true, API: OpenReports}
		}
		m := newModel(t, seed, old)
		before := m.layout
		m.newLayout(options).Step(time.Hour)
		m.reload(t, before, m.layout)
		m.check(t)
		if got, want := times(m.layout), times(before); !slices.Equal(got, want) {
			t.Errorf("switching changed times: %d and %d results", len(got), len(want))
		}
		m.setAll()
		m.layout.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
		m.check(t)
		if got, want := times(m.layout), times(before); !slices.Equal(got, want) {
			t.Error("the scan changed times")
		}
		// Reports of both layouts are there after a switch that did not come to its end.
		mixed := m.layout
		m.newLayout(options)
		m.reload(t, mixed, m.layout)
		m.reload(t, before, m.layout)
		if changed := differing(texts(t, mixed), texts(t, m.layout)); len(changed) > 0 {
			t.Errorf("an interrupted switch changed %v", changed)
		}
		m.check(t)
	}
}

// times returns what results say with their times.
func times(l *Layout) []string {
	var lines []string
	for object := range l.Reports() {
		for _, r := range object.GetResults() {
			lines = append(lines, fmt.Sprint(r.Policy, r.Rule, r.Resources, r.Result, r.Message, r.Timestamp.Seconds))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestPruneUnseen: stored results that nobody finds again go, except those that are to be kept.
func TestPruneUnseen(t *testing.T) {
	t.Parallel()
	m := &model{rand: seeded(1)}
	before, _ := newTestLayout(Options{Split: true})
	for _, name := range []string{"found", "deleted", "unlisted"} {
		before.Set(clusterPolicy("a"), pod("default", name), []policy.Result{pass("r"), pass("s")})
	}
	before.Set(clusterPolicy("deleted"), pod("default", "found"), []policy.Result{pass("r")})
	l, _ := newTestLayout(Options{Split: true})
	m.reload(t, before, l)
	l.Set(clusterPolicy("a"), pod("default", "found"), []policy.Result{pass("r")})
	l.PruneUnseen(func(id policy.Identity, subject policy.Reference, _ string) bool {
		if id != clusterPolicy("a") && id != clusterPolicy("deleted") || subject.UID == "" {
			t.Errorf("asked about %s and %+v", id, subject)
		}
		l.Present(clusterPolicy("a"), presentation()) // keep may use the layout.
		return subject.Name == "unlisted"
	})
	want := []string{"a r found", "a r unlisted", "a s unlisted"}
	if got := brief(l); !slices.Equal(got, want) {
		t.Errorf("the results are %q", got)
	}
	l.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
	if got := brief(l); !slices.Equal(got, want[:1]) {
		t.Errorf("the results are %q after all is listed", got)
	}
	if len(l.subjects) != 1 {
		t.Errorf("%d subjects are known", len(l.subjects))
	}
}

func brief(l *Layout) []string {
	var lines []string
	for object := range l.Reports() {
		for _, r := range object.GetResults() {
			lines = append(lines, fmt.Sprintf("%s %s %s", r.Policy, r.Rule, r.Resources[0].Name))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestLoadAfterChangeOfScored: a stored warning is an unscored failure if that is found again.
func TestLoadAfterChangeOfScored(t *testing.T) {
	t.Parallel()
	m := &model{rand: seeded(1)}
	before, _ := newTestLayout(Options{Split: true})
	shown := presentation()
	shown.Scored = false
	before.Present(clusterPolicy("a"), shown)
	before.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{fail("r", "m")})
	l, clock := newTestLayout(Options{Split: true})
	clock.Step(time.Hour)
	m.reload(t, before, l)
	l.Present(clusterPolicy("a"), presentation()) // Scored now.
	l.takeChanges()
	l.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{fail("r", "m")})
	if len(l.takeChanges().reports) != 1 {
		t.Error("the failure is not seen as a change of the report")
	}
	for object := range l.Reports() {
		if r := object.GetResults()[0]; r.Result != report.OutcomeFail || r.Timestamp.Seconds != start.Unix() {
			t.Errorf("the result is %s", asJSON(t, r))
		}
	}
	if total := l.counts.total; total[position(report.OutcomeFail)] != 1 || total[position(report.OutcomeWarn)] != 0 {
		t.Errorf("counted %v", l.counts.total)
	}
}

// TestLoadSmallerLimits: stored reports that are too large now are split.
func TestLoadSmallerLimits(t *testing.T) {
	t.Parallel()
	m := newModel(t, 3, Options{Split: true})
	before := m.layout
	m.maxResults = 5
	m.newLayout(Options{Split: true})
	m.reload(t, before, m.layout)
	m.check(t)
}

// TestLoadStrange: what somebody has written into a report of ours does no harm.
func TestLoadStrange(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	before, _ := newTestLayout(Options{Split: true})
	before.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
	for name, change := range map[string]func(report.Accessor){
		"no annotation": func(o report.Accessor) { o.SetAnnotations(nil) },
		"other name":    func(o report.Accessor) { o.SetName("other") },
		"chunk":         func(o report.Accessor) { o.GetLabels()[ChunkLabel] = "x" },
		"large chunk":   func(o report.Accessor) { o.GetLabels()[ChunkLabel] = "99999999999" },
		"negative":      func(o report.Accessor) { o.GetLabels()[ChunkLabel] = "-1" },
		"layout":        func(o report.Accessor) { delete(o.GetLabels(), LayoutLabel) },
		"other policy":  func(o report.Accessor) { o.GetResults()[0].Policy = "other" },
		"resources":     func(o report.Accessor) { o.GetResults()[0].Resources = nil },
		"namespace":     func(o report.Accessor) { o.GetResults()[0].Resources[0].Namespace = "other" },
		"time":          func(o report.Accessor) { o.GetResults()[0].Timestamp = nil },
		"result":        func(o report.Accessor) { o.GetResults()[0].Result = "maybe" },
	} {
		for object := range before.Reports() {
			change(object)
			current := l.load(object, WGPolicy)
			if want := slices.Contains([]string{"other policy", "resources", "namespace", "time", "result"}, name); current != want {
				t.Errorf("%s: the report is taken for current: %v", name, current)
			}
		}
	}
	l.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
	l.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
	if got := brief(l); !slices.Equal(got, []string{"a r x"}) {
		t.Errorf("the results are %q", got)
	}
}
