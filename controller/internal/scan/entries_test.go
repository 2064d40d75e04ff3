// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestChangedEntry: all resources of the policies that read it are evaluated once, those of others
// are not, and results stay.
func TestChangedEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "entry")
	for _, name := range []string{"a", "b", "c"} {
		w.configMap(t, "entry", name)
	}
	reading := map[string][]policy.Entry{
		"entry-cached": {{Kind: policy.CachedContextEntry, Name: "other"}, {Kind: policy.CachedContextEntry, Name: "services"}},
		"entry-global": {{Kind: policy.GlobalContextEntry, Name: "services"}},
		"entry-any":    {{Kind: policy.CachedContextEntry, Name: policy.AnyName}},
		"entry-inline": {{Resource: policy.EntryResource{Kind: "Service"}}},
		"entry-none":   nil,
	}
	for name, entries := range reading {
		w.policy(t, name, spec{Targets: targets("ConfigMap"), Rules: asking("team"), Entries: entries})
	}
	r := w.scan(t)
	r.rest(t)
	before := slices.DeleteFunc(r.results.lines("ClusterPolicy/entry-"), func(line string) bool {
		return !strings.Contains(line, " ConfigMap/entry/") // Objects of other tests come and go.
	})
	if len(before) == 0 {
		t.Fatal("there are no results")
	}
	changed := func(entry policy.Entry, evaluated ...string) {
		t.Helper()
		r.compiler.reset()
		r.scanner.EntriesChanged([]policy.Entry{entry}, true)
		want := map[string]int{}
		for _, name := range evaluated {
			want[name] = 1
		}
		testkit.Settles(t, func() string {
			for name, count := range want {
				for _, subject := range []string{"a", "b", "c"} {
					if r.compiler.count("ClusterPolicy/"+name, "ConfigMap/entry/"+subject) < count {
						return name + " is not evaluated for " + subject
					}
				}
			}
			return ""
		})
		r.rest(t)
		for name := range reading {
			if n := r.compiler.count("ClusterPolicy/"+name, "ConfigMap/entry/"); n != 3*want[name] {
				t.Errorf("%+v: %s is evaluated %d times", entry, name, n)
			}
		}
	}
	changed(policy.Entry{Kind: policy.CachedContextEntry, Name: "services"}, "entry-cached", "entry-global", "entry-any")
	changed(policy.Entry{Resource: policy.EntryResource{Kind: "Service"}}, "entry-inline")
	for _, line := range before {
		r.want(t, line, line)
	}
}
