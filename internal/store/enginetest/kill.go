// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// locationVariable tells a child process of the kill test where to write.
const locationVariable = "DOCKET_ENGINETEST_LOCATION"

// acknowledged is how many commits the kill test waits for before it kills.
const acknowledged = 120

// Child does nothing in an ordinary test run. In a process that RunKill started it opens an engine, commits until it is
// killed and never returns. Call it first in TestMain.
func Child(open func(ctx context.Context, location, cluster string) (Engine, error)) {
	location := os.Getenv(locationVariable)
	if location == "" {
		return
	}
	ctx := context.Background()
	e, err := open(ctx, location, cluster)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		op := create(fmt.Sprintf("%06d", i), fmt.Sprint(i))
		op.Index = []engine.Term{{Name: 1, Value: 1}}
		op.Projection = projection(i, 3)
		batch, err := Commit(ctx, e, []engine.Op{op, create(fmt.Sprintf("pair/%06d", i), "")})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(batch.State.Revision)
	}
}

// RunKill kills a process in the middle of its commits, several times, and checks that nothing acknowledged is lost,
// that no batch is half there and that no revision is given out twice or left out: guarantees S2 and S8. location is
// passed to Child's open; open opens the same database in this process.
func RunKill(t *testing.T, location string, open Open) {
	for round := range 3 {
		last := runChild(t, location)
		s := session{t, open(t, cluster)}
		// The database may still be at the last commit of the process that is gone: this one waits for it, and changes
		// nothing.
		if _, err := Commit(t.Context(), s.engine, []engine.Op{remove("none", 1)}); err != nil {
			t.Fatalf("commit: %v", err)
		}
		state := s.state()
		if state.Revision < last {
			t.Fatalf("round %d: revision %d was acknowledged, the database is at %d", round, last, state.Revision)
		}
		if state.Revision > last+2 { // Nothing was lost, so that clients need not list again.
			t.Errorf("round %d: after revision %d the database leapt to %d", round, last, state.Revision)
		}
		if state.Revision%2 != 1 {
			t.Errorf("round %d: half a batch is there: revision %d", round, state.Revision)
		}
		// Each round starts over with all keys deleted, so that every key that
		// is there was acknowledged or is of the last batch.
		rows := s.list(engine.Query{Resource: reports}).Rows
		events := s.eventsAfter(max(state.Compacted, 1))
		if len(rows) < 2*acknowledged || len(rows)%2 != 0 || len(events) != len(rows) {
			t.Errorf("round %d: %d rows and %d events after %d acknowledged commits", round, len(rows), len(events), acknowledged)
		}
		found := s.list(engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: 1}}})
		s.same("rows with terms", len(found.Rows), len(rows)/2)
		s.wantResults(int64(3 * len(rows) / 2))
		for _, row := range rows {
			s.apply(remove(row.Key, row.Revision))
		}
		s.compact(s.state().Revision)
		if err := s.engine.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
}

// runChild starts a child, kills it after some commits and returns the last revision that it acknowledged.
func runChild(t *testing.T, location string) engine.Revision {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), executable, "-test.run=^$")
	child.Env = append(os.Environ(), locationVariable+"="+location)
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var last engine.Revision
	lines := bufio.NewScanner(output)
	for n := 0; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "error:") {
			t.Errorf("child: %s", lines.Text())
			break
		}
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Errorf("child wrote %q", lines.Text())
			break
		}
		if n == acknowledged {
			// Kill is SIGKILL. Lines that are in the pipe already count as acknowledged too.
			if err := child.Process.Kill(); err != nil {
				t.Errorf("kill: %v", err)
			}
		}
	}
	_ = child.Wait() // The error is that it was killed.
	if t.Failed() {
		t.FailNow()
	}
	return last
}
