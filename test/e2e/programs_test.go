// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/tools/producers"
	"github.com/docket-project/docket/test/e2e/harness"
)

// backing is what keeps the reports of a cluster.
type backing struct {
	name string
	// serve starts Docket for a cluster, nil where reports are custom resources.
	serve func(*testing.T, *harness.Cluster) *harness.Replica
}

func onCRDs() backing { return backing{name: "CRDs"} }

func onSQLite() backing {
	return backing{"SQLite", func(t *testing.T, c *harness.Cluster) *harness.Replica { return c.Serve(t) }}
}

func onPostgres() backing {
	return backing{"PostgreSQL", func(t *testing.T, c *harness.Cluster) *harness.Replica {
		return c.Serve(t, "--database", testenv.Postgres(t).Database(t))
	}}
}

// programCluster is a cluster on which programs run one after the other.
type programCluster struct {
	cluster   *harness.Cluster
	config    *rest.Config // without a limit
	namespace string       // for the program alone
}

// program is one that needs a cluster for a short time.
type program struct {
	producers.Run

	// run runs it and returns what it, or its user, saw.
	run func(*testing.T, *programCluster) []string
}

// TestProgramClients runs programs one after the other, on CRDs and on Docket. What they
// see is the same, line by line.
func TestProgramClients(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	backings := []backing{onCRDs(), onPostgres(), onSQLite()}
	programs := clients(t)
	found := onEach(t, backings, func(t *testing.T, b backing) map[string][]string { return runPrograms(t, b, programs) })
	if found == nil {
		return
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			for i, b := range backings[1:] {
				wantSame(t, b.name, found[0][name], found[i+1][name])
			}
			p.Engines = engines(backings)
			harness.Record(t, p.Run)
		})
	}
}

// wantSame compares what a program saw step by step.
func wantSame(t *testing.T, name string, onCRDs, onDocket []string) {
	t.Helper()
	if len(onCRDs) == 0 || len(onCRDs) != len(onDocket) {
		t.Errorf("%d steps on %s, %d on CRDs", len(onDocket), name, len(onCRDs))
		return
	}
	for i, want := range onCRDs {
		if want != onDocket[i] {
			step, _, _ := strings.Cut(want, "\n")
			t.Errorf("%s: %.100s (-CRDs +Docket):\n%.3000s", name, step, cmp.Diff(strings.Split(want, "\n"), strings.Split(onDocket[i], "\n")))
		}
	}
}

func runPrograms(t *testing.T, b backing, programs map[string]program) map[string][]string {
	t.Helper()
	c := harness.StartCluster(t)
	if register(t, c, b) == nil {
		c.InstallPublishedCRDs(t)
	}
	config := c.RESTConfig(t)
	config.QPS = -1
	found := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		t.Run(name, func(t *testing.T) {
			c.EnsureNamespace(t, name)
			found[name] = programs[name].run(t, &programCluster{c, config, name})
		})
	}
	return found
}

// register lets Docket serve the reports of a cluster, if the backing is Docket.
func register(t *testing.T, c *harness.Cluster, b backing) *harness.Replica {
	t.Helper()
	if b.serve == nil {
		return nil
	}
	replica := b.serve(t, c)
	c.Register(t, replica.Port)
	return replica
}

// engines are the names of all backings except CRDs.
func engines(backings []backing) []string {
	var names []string
	for _, b := range backings {
		if b.serve != nil {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	return names
}

// onEach runs a program side by side on clusters with each backing, and returns what it
// found, nil if it failed on one.
func onEach[T any](t *testing.T, backings []backing, run func(*testing.T, backing) T) []T {
	t.Helper()
	found := make([]T, len(backings))
	passed := t.Run("on", func(t *testing.T) {
		for i, b := range backings {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				found[i] = run(t, b)
			})
		}
	})
	if !passed {
		return nil
	}
	return found
}

// slowBackings are for programs that take long: CRDs to compare with only where everything is tested, and the second
// engine only where the table of programs is written.
func slowBackings() []backing {
	if testing.Short() {
		return []backing{onSQLite()}
	}
	if producers.Folder() == "" {
		return []backing{onCRDs(), onPostgres()}
	}
	return []backing{onCRDs(), onPostgres(), onSQLite()}
}

// What differs from line to line of a log, or from run to run.
var variable = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-[a-z0-9]{5})?`), "UID"},
	{regexp.MustCompile(`\b(app|team)-\d+`), "NAME"},
	{regexp.MustCompile(`\d+`), "N"},
}

// sayings returns what lines of a log say, once each.
func sayings(lines []string) []string {
	said := make([]string, len(lines))
	for i, line := range lines {
		for _, v := range variable {
			line = v.pattern.ReplaceAllString(line, v.instead)
		}
		said[i] = line
	}
	slices.Sort(said)
	return slices.Compact(said)
}

// wantNoNewComplaints fails the test where a program complains on Docket and not on CRDs.
func wantNoNewComplaints(t *testing.T, onCRDs, onDocket []string) {
	t.Helper()
	known := sayings(onCRDs)
	for _, saying := range sayings(onDocket) {
		if !slices.Contains(known, saying) {
			t.Errorf("the program says on Docket and not on CRDs: %s", saying)
		}
	}
}
