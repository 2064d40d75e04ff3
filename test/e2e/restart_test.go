// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestUpKeepsReports ends the server in order and by a crash. What was acknowledged is
// there afterwards, and resource versions go on rising.
func TestUpKeepsReports(t *testing.T) {
	t.Parallel()
	for engine, arguments := range map[string]func() []string{
		"sqlite":   func() []string { return nil },
		"postgres": func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			server := harness.Up(t, arguments()...)
			r := newResource(t, server, sample.Kinds()[0], "restart")
			r.create(t, "a")
			last := version(t, r, "a")
			for _, step := range []struct {
				short string
				end   func(testing.TB)
			}{
				{"b", server.Stop},
				{"c", server.Kill},
			} {
				step.end(t)
				server.Start(t)
				r.create(t, step.short)
				next := version(t, r, step.short)
				if next <= last {
					t.Errorf("resource version %d comes after %d", next, last)
				}
				last = next
			}
			wantNames(t, []string{"a", "b", "c"}, r.names(t))
		})
	}
}

func version(t *testing.T, r *resource, short string) int {
	t.Helper()
	return testkit.Must(strconv.Atoi(r.field(t, short, ".metadata.resourceVersion")))(t)
}

// TestUpDemo looks at what a newcomer sees first.
func TestUpDemo(t *testing.T) {
	t.Parallel()
	server := harness.Up(t, "--demo")
	kubectl := server.Kubectl(t, "default")
	// The demo loads after the server is ready; the watch shows it as it comes.
	events := kubectl.Watch(t, "policyreports", "-A")
	for range 5 {
		harness.Next(t, events)
	}
	wantOutput(t, kubectl.Run(t, "get", "policyreports", "-A"), "NAMESPACE", "shop")
}
