// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// named returns names of reports: kept-3, kept-4 and so on.
func named(prefix string, from, to int) []string {
	var names []string
	for n := from; n < to; n++ {
		names = append(names, fmt.Sprintf("%s-%02d", prefix, n))
	}
	return names
}

// The changes before a disaster, those that it undoes, and as many after it, whose resource versions could be the
// same as those that were undone.
func (s *server) changeKept(t *testing.T) { t.Helper(); s.change(t, named("kept", 0, 20), nil, nil) }
func (s *server) changeLost(t *testing.T) {
	t.Helper()
	s.change(t, named("lost", 0, 10), named("kept", 0, 5), named("kept", 5, 10))
}

func (s *server) changeAfter(t *testing.T) {
	t.Helper()
	s.change(t, named("after", 0, 10), named("kept", 10, 15), named("kept", 15, 20))
}

// survivors are what there is in the end.
func survivors() []string { return slices.Concat(named("after", 0, 10), named("kept", 0, 15)) }

// expectSurvivors expects that all informers have the surviving reports, and none of the lost ones.
func (s *server) expectSurvivors(t *testing.T, informers ...*informer) {
	t.Helper()
	testkit.NoDiff(t, cmp.Diff(survivors(), s.expectEqual(t, informers...)), "reports in the end (-want +got)")
}

// TestStandbyThatLacksCommits: the primary dies, and the standby that is promoted has not got the last commits. Servers
// that die with it no longer know the lost reports when they start again, but their clients do.
func TestStandbyThatLacksCommits(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for name, survivor := range map[string]bool{"a server survives": true, "no server survives": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := testenv.NewPostgres(t)
			database := primary.Database(t)
			standby := primary.Standby(t)
			url := testenv.WithAddr(t, database, primary.Addr()+","+standby.Addr()) + "&target_session_attrs=read-write"
			dies, other := newServer(t, url), newServer(t, url)
			informers := []*informer{dies.inform(t), dies.inform(t), other.inform(t)}
			dies.changeKept(t)
			dies.expectEqual(t, informers...)

			primary.GoOnAlone(t)
			standby.Stop(t)
			dies.changeLost(t)
			dies.expectEqual(t, informers...)
			primary.Kill(t)
			dies.kill()
			if !survivor {
				other.kill()
			}
			standby.Start(t)
			standby.Promote(t)
			if !survivor {
				other.start()
			}
			other.changeAfter(t)
			dies.start()
			other.expectSurvivors(t, informers...)
			dies.expectSurvivors(t, informers...)
		})
	}
}

// TestSnapshotOfPostgres: the folder of a PostgreSQL that was stopped is put back later.
func TestSnapshotOfPostgres(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, s *server, url string, putBack func(), informers []*informer){
		"server runs":          underServer,
		"no server runs":       withoutServer,
		"no server runs, said": withoutServerSaid,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := testenv.NewPostgres(t)
			url := database.Database(t)
			s := newServer(t, url)
			informers := []*informer{s.inform(t), s.inform(t)}
			s.changeKept(t)
			database.Stop(t)
			restore := database.Save(t)
			database.Start(t)
			s.changeLost(t)
			s.expectEqual(t, informers...)
			back(t, s, url, func() {
				database.Stop(t)
				restore()
				database.Start(t)
			}, informers)
			s.expectSurvivors(t, informers...)
		})
	}
}

// underServer: the server knows what it saw before.
func underServer(t *testing.T, s *server, _ string, putBack func(), _ []*informer) {
	t.Helper()
	putBack()
	s.changeAfter(t)
}

// withoutServer: nobody knows, until the first client comes with a resource version of the time that is gone, and has
// all of them leapt over. What is written before it comes has versions that it knows: nobody can tell.
func withoutServer(t *testing.T, s *server, _ string, putBack func(), informers []*informer) {
	t.Helper()
	s.kill()
	putBack()
	s.start()
	s.expectEqual(t, informers...)
	s.changeAfter(t)
}

// withoutServerSaid: nobody knows, and much is written before the first client comes, but an administrator said it.
func withoutServerSaid(t *testing.T, s *server, url string, putBack func(), _ []*informer) {
	t.Helper()
	s.kill()
	putBack()
	replaced(t, url)
	newServer(t, url).changeAfter(t)
	s.start()
}

// replaced tells a database that it was put back.
func replaced(t *testing.T, url string) {
	t.Helper()
	path := testenv.Program(t, currentVersion)
	if output, err := exec.CommandContext(t.Context(), path, "restore", "--database", url, "--replaced").CombinedOutput(); err != nil {
		t.Fatalf("docket restore --replaced: %v\n%s", err, output)
	}
}

// TestCopyOfSQLiteFolder: the whole folder of a server that was stopped is put back later, with all that could show it.
func TestCopyOfSQLiteFolder(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	informers := []*informer{s.inform(t), s.inform(t)}
	s.changeKept(t)
	s.kill()
	saved := filepath.Join(t.TempDir(), "saved")
	copyFolder(t, s.dir, saved)
	s.start()
	s.changeLost(t)
	s.expectEqual(t, informers...)
	s.kill()
	testkit.NoError(t, os.RemoveAll(s.dir))
	copyFolder(t, saved, s.dir)
	s.start()
	s.expectEqual(t, informers...) // As in withoutServer: the clients come first.
	s.changeAfter(t)
	s.expectSurvivors(t, informers...)
}

// copyFolder copies a folder with its rights.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, output)
	}
}
