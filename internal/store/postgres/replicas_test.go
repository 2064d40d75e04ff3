// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

const reports engine.Resource = "/wgpolicyk8s.io/policyreports/"

func create(key string) engine.Op {
	return engine.Op{
		Kind: engine.Create, Resource: reports, Key: key, Value: engine.Value{Data: []byte(key), Codec: 1, Size: 9},
		Index: []engine.Term{{Name: 1, Value: 2}},
		Projection: &engine.Projection{Name: key, Kind: "PolicyReport", Results: []engine.Result{
			{Verdict: &engine.Verdict{Policy: key, Result: "fail"}},
		}},
	}
}

// execute runs a statement as an administrator would, beside the engines.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// TestCommitsOfAnotherReplica checks that a replica is woken by the other's
// commits, and not by its own, and reads their events.
func TestCommitsOfAnotherReplica(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	a, b := open(t, url, "main"), open(t, url, "main")
	stranger := open(t, url, "other")
	for _, e := range []*postgres.Engine{a, b, stranger} {
		<-e.Wake() // The session has begun to listen.
	}
	for i := range 20 {
		commit(t, a, []engine.Op{create(fmt.Sprint(i))})
		testkit.Receive(t, "the other replica is woken", b.Wake())
		events, state, err := b.Events(t.Context(), engine.Revision(i+1), 10)
		if err != nil || len(events) != 1 || state.Revision != engine.Revision(i+2) || events[0].Key != fmt.Sprint(i) {
			t.Fatalf("events: %+v, %+v, %v", events, state, err)
		}
	}
	// Sessions hear notifications in order: b's commit comes after all of a's own.
	commit(t, b, []engine.Op{create("last")})
	<-a.Wake()
	select {
	case <-a.Wake():
		t.Error("a replica was woken by its own commits")
	case <-stranger.Wake():
		t.Error("a cluster was woken by commits of another one")
	default:
	}
}

// TestLostListener checks that a replica listens again, and wakes up since it may
// have missed something, when its session was ended.
func TestLostListener(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	a, b := open(t, url, "main"), open(t, url, "main")
	<-a.Wake()
	<-b.Wake()
	execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'docket listen'`)
	<-a.Wake()
	<-b.Wake()
	commit(t, a, []engine.Op{create("a")})
	<-b.Wake()
}

// acknowledged collects what commits promised.
type acknowledged struct {
	mu        sync.Mutex
	revisions map[string]engine.Revision
	unknown   map[string]bool
}

// load commits with several engines until ctx ends or each has done its share, and waits for what they had begun.
// Errors that the contract knows are part of the game.
func load(ctx context.Context, t *testing.T, engines []*postgres.Engine, name string, each int) *acknowledged {
	t.Helper()
	known := &acknowledged{revisions: map[string]engine.Revision{}, unknown: map[string]bool{}}
	var group sync.WaitGroup
	for i, e := range engines {
		group.Go(func() {
			for n := 0; n < each && ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%s/%d/%06d", name, i, n)
				batch, err := e.Commit(t.Context(), []engine.Op{create(key), create(key + "-duplicate")})
				known.mu.Lock()
				switch {
				case err == nil:
					known.revisions[key] = batch.Outcomes[0].Revision
				case errors.Is(err, engine.ErrUnknownOutcome):
					known.unknown[key] = true
				case !errors.Is(err, engine.ErrUnavailable):
					t.Errorf("commit: %v", err)
				}
				known.mu.Unlock()
			}
		})
	}
	group.Wait()
	return known
}

// check reads everything back: what was acknowledged is there at its revision,
// nothing is there that nobody wrote, batches are whole, and events have no gap.
func (known *acknowledged) check(t *testing.T, e engine.Engine) {
	t.Helper()
	found := map[string]engine.Revision{}
	for after := engine.Revision(1); ; {
		events, _ := testkit.Must2(e.Events(t.Context(), after, 500))(t)
		if len(events) == 0 {
			break
		}
		for _, event := range events {
			found[event.Key] = event.Revision
			after = event.Revision
		}
	}
	for key, revision := range known.revisions {
		if found[key] != revision || found[key+"-duplicate"] != revision+1 {
			t.Errorf("%s was acknowledged at %d, its event is at %d, its duplicate's at %d", key, revision, found[key], found[key+"-duplicate"])
		}
	}
	for key := range known.unknown {
		if (found[key] == 0) != (found[key+"-duplicate"] == 0) {
			t.Errorf("half of the batch of %s is there", key)
		}
		if found[key] != 0 {
			known.revisions[key] = found[key]
		}
	}
	if len(found) != 2*len(known.revisions) {
		t.Errorf("%d events for %d commits of two", len(found), len(known.revisions))
	}
	usage, err := e.Usage(t.Context())
	if err != nil || usage.Results != int64(len(found)) {
		t.Errorf("%d results for %d objects: %v", usage.Results, len(found), err)
	}
}

// TestTerminatedConnections ends all sessions again and again under load.
func TestTerminatedConnections(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	engines := []*postgres.Engine{open(t, url, "main"), open(t, url, "main"), open(t, url, "main")}
	admin := connect(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		for range 15 {
			_, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid), pg_sleep(0.02) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	known := load(ctx, t, engines, "load", 1<<30)
	group.Wait()
	t.Logf("%d acknowledged, %d unknown", len(known.revisions), len(known.unknown))
	if len(known.revisions) == 0 {
		t.Error("nothing was committed")
	}
	known.check(t, engines[0])
}

// TestKilledServer kills the server under load and starts it again, with engines
// that stay open.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	url := server.Database(t)
	engines := []*postgres.Engine{open(t, url, "main"), open(t, url, "main")}
	all := &acknowledged{revisions: map[string]engine.Revision{}, unknown: map[string]bool{}}
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			defer cancel()
			// After some commits of this round, by any replica.
			for target := engine.Revision(len(all.revisions)*2 + 40); ; {
				state, err := engines[0].State(ctx)
				if err != nil || state.Revision >= target {
					break
				}
			}
			server.Kill(t)
		})
		known := load(ctx, t, engines, fmt.Sprint(round), 1<<30)
		group.Wait()
		server.Start(t)
		start := time.Now()
		for _, e := range engines {
			if _, err := e.State(t.Context()); err != nil {
				t.Errorf("read right after the start: %v", err)
			}
			commit(t, e, nil)
		}
		t.Logf("round %d: %d acknowledged, %d unknown; first reads after %s",
			round, len(known.revisions), len(known.unknown), time.Since(start))
		for key, revision := range known.revisions {
			all.revisions[key] = revision
		}
		for key := range known.unknown {
			all.unknown[key] = true
		}
	}
	all.check(t, engines[1])
	state, err := engines[0].State(t.Context())
	if err != nil || state.Compacted != 0 {
		t.Errorf("a crash is no failover: %+v, %v", state, err)
	}
}

// attempts are closed when one has tried to connect to nobody a hundred times, each time after a tenth of a second:
// what begins now and takes longer makes far more attempts than a few, however busy the machine is.
func attempts(t *testing.T) <-chan struct{} {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
				_ = conn.Close()
			}
			<-time.After(100 * time.Millisecond)
		}
	}()
	return done
}

// TestServerAway checks that calls end with ErrUnavailable while there is no
// server, and soon.
func TestServerAway(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	url := server.Database(t)
	e := open(t, url, "main")
	commit(t, e, []engine.Op{create("a")})
	server.Stop(t)
	calls := map[string]func() error{
		"commit": func() error { _, err := e.Commit(t.Context(), []engine.Op{create("b")}); return err },
		"get":    func() error { _, _, err := e.Get(t.Context(), reports, "a"); return err },
		"list":   func() error { _, err := e.List(t.Context(), engine.Query{Resource: reports}); return err },
		"events": func() error { _, _, err := e.Events(t.Context(), 1, 10); return err },
		"state":  func() error { _, err := e.State(t.Context()); return err },
		"tidy":   func() error { return e.Tidy(t.Context()) },
	}
	for name, call := range calls {
		late := attempts(t)
		if err := call(); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: got %v, want %v", name, err, engine.ErrUnavailable)
		}
		select {
		case <-late:
			t.Errorf("%s took longer than a hundred attempts to connect", name)
		default:
		}
	}
	server.Start(t)
	commit(t, e, []engine.Op{create("b")})
	page, err := e.List(t.Context(), engine.Query{Resource: reports})
	if err != nil || len(page.Rows) != 2 {
		t.Errorf("list after the restart: %+v, %v", page.Rows, err)
	}
}

// TestTidyUnderLoad removes verdicts and subjects while two replicas use them, each
// with a memory of its own of what is in the tables.
func TestTidyUnderLoad(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	writers := []*postgres.Engine{open(t, url, "main"), open(t, url, "main")}
	tidier := open(t, url, "main")
	var writing, tidying sync.WaitGroup
	done := make(chan struct{})
	tidying.Go(func() {
		for {
			if err := tidier.Tidy(t.Context()); err != nil {
				t.Errorf("tidy: %v", err)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i, e := range writers {
		writing.Go(func() {
			for n := range 60 {
				op := create(fmt.Sprint(i))
				// Few facts, so that they come and go, and both replicas share them.
				subject := &engine.Subject{Kind: "Pod", Name: fmt.Sprint(n % 3)}
				op.Projection.Scope = subject
				op.Projection.Results = []engine.Result{
					{Verdict: &engine.Verdict{Policy: fmt.Sprint(n % 4)}}, {Verdict: &engine.Verdict{Policy: "own " + op.Key}, Subject: subject},
				}
				created := commit(t, e, []engine.Op{op}).Outcomes[0].Revision
				execute(t, url, `SELECT 1 / (count(*) = 0)::int FROM (
						SELECT object, cluster, verdict, subject FROM docket.result
						UNION ALL SELECT object, cluster, nullif(unnest(verdicts), 0), NULL FROM docket.report
					) r
					LEFT JOIN docket.verdict v ON v.id = r.verdict AND v.cluster = r.cluster
					LEFT JOIN docket.subject s ON s.id = r.subject AND s.cluster = r.cluster
					LEFT JOIN docket.report p ON p.object = r.object AND p.cluster = r.cluster
					LEFT JOIN docket.subject scope ON scope.id = p.scope AND scope.cluster = p.cluster
					WHERE v.id IS NULL OR scope.id IS NULL OR r.subject IS NOT NULL AND s.id IS NULL`)
				commit(t, e, []engine.Op{{Kind: engine.Delete, Resource: reports, Key: op.Key, Expect: created}})
			}
		})
	}
	writing.Wait()
	close(done)
	tidying.Wait()
	for range 2 { // The first may go on in the middle of a table.
		testkit.NoError(t, tidier.Tidy(t.Context()))
	}
	execute(t, url, `SELECT 1 / ((SELECT count(*) FROM docket.verdict) + (SELECT count(*) FROM docket.subject) = 0)::int`)
}

// TestNULInResults checks that people can query results whose texts PostgreSQL
// can't store as they are.
func TestNULInResults(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	op := create("a")
	op.Projection.Results[0].Verdict = &engine.Verdict{Message: "a\x00b", Properties: `{"a":"\u0000","b":"\\u0000"}`}
	commit(t, e, []engine.Op{op})
	var message, a, b string
	err := connect(t, url).QueryRow(t.Context(),
		`SELECT message, properties ->> 'a', properties ->> 'b' FROM docket.policy_results`).Scan(&message, &a, &b)
	if err != nil || message != "a\uFFFDb" || a != "\uFFFD" || b != `\u0000` {
		t.Errorf("message %q, properties %q and %q, %v", message, a, b, err)
	}
}
