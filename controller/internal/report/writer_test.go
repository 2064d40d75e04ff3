// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
)

// TestWriteAndRestart: what the layout says is on the server, and a start that finds the same
// writes nothing.
func TestWriteAndRestart(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	scan := func(w *world) {
		for _, name := range []string{"a", "b"} {
			w.layout.Present(clusterPolicy(name), presentation())
			for i := range 30 {
				w.layout.Set(clusterPolicy(name), pod("default", fmt.Sprint(i)), []policy.Result{fail("r", "<m>"), pass("s")})
			}
			w.layout.Set(clusterPolicy(name), policy.Reference{APIVersion: "v1", Kind: "Namespace", Name: "default"}, []policy.Result{pass("r")})
		}
	}
	options := Options{Split: true, MaxResults: 40}
	first := s.world(t, options)
	first.load(t)
	scan(first)
	first.prune()
	first.flush(t)
	want := []string{"clusterpolicyreport-a", "clusterpolicyreport-b", "default/polr-ns-default-a", "", "default/polr-ns-default-b", ""}
	got := s.reports(t, WGPolicy)
	if len(got) != len(want) || got[0] != want[0] || got[2] != want[2] {
		t.Fatalf("the server has %q", got)
	}
	if n := len(first.gateway.taken()); n != 6 {
		t.Errorf("%d writes for 6 reports", n)
	}
	second := s.world(t, options)
	second.load(t)
	stop := second.run(t)
	scan(second)
	second.prune()
	second.idle(t)
	stop()
	second.flush(t)
	if writes := second.gateway.taken(); len(writes) > 0 {
		t.Errorf("a restart with nothing changed wrote %q", writes)
	}
	second.layout.Set(clusterPolicy("a"), pod("default", "3"), []policy.Result{pass("r"), pass("s")})
	second.flush(t)
	if writes := second.gateway.taken(); len(writes) != 1 {
		t.Errorf("one flip wrote %q", writes)
	}
	second.layout.RemovePolicy(clusterPolicy("b"))
	second.flush(t)
	if got := s.reports(t, WGPolicy); len(got) != 3 || slices.Contains(got, "clusterpolicyreport-b") {
		t.Errorf("after the policy went the server has %q", got)
	}
}
