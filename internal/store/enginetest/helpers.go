// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Resources that tests use. One is a prefix of the other on purpose.
const (
	reports  engine.Resource = "/wgpolicyk8s.io/policyreports/"
	reportsX engine.Resource = "/wgpolicyk8s.io/policyreports/x"
)

// session shortens calls of an engine whose errors end the test.
type session struct {
	testing.TB
	engine Engine
}

func (target Target) session(t testing.TB) session {
	t.Helper()
	return session{t, target.open(t)}
}

// Commit prepares and commits ops, as package writer does.
func Commit(ctx context.Context, e engine.Engine, ops []engine.Op) (engine.Batch, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		release, err := e.Prepare(ctx, &ops[i])
		if err != nil {
			return engine.Batch{}, err
		}
		defer release()
	}
	return e.Commit(ctx, ops)
}

func (s session) commit(ops ...engine.Op) engine.Batch {
	s.Helper()
	batch, err := Commit(s.Context(), s.engine, ops)
	if err != nil {
		s.Fatalf("commit: %v", err)
	}
	if len(batch.Outcomes) != len(ops) {
		s.Fatalf("commit of %d ops gave %d outcomes", len(ops), len(batch.Outcomes))
	}
	return batch
}

// apply commits one op, which must apply.
func (s session) apply(op engine.Op) engine.Outcome {
	s.Helper()
	outcome := s.commit(op).Outcomes[0]
	if outcome.Revision == 0 {
		s.Fatalf("%s of %s did not apply; current row: %v", op.Kind, op.Key, outcome.Current)
	}
	return outcome
}

func (s session) get(resource engine.Resource, key string) *engine.Row {
	s.Helper()
	row, _, err := s.engine.Get(s.Context(), resource, key)
	if err != nil {
		s.Fatalf("get %s: %v", key, err)
	}
	return row
}

func (s session) list(q engine.Query) engine.Page {
	s.Helper()
	page, err := s.engine.List(s.Context(), q)
	if err != nil {
		s.Fatalf("list %+v: %v", q, err)
	}
	return page
}

func (s session) events(after engine.Revision, limit int) []engine.Event {
	s.Helper()
	events, _, err := s.engine.Events(s.Context(), after, limit)
	if err != nil {
		s.Fatalf("events after %d: %v", after, err)
	}
	return events
}

// eventsAfter reads all events above a revision, in as many calls as it takes.
func (s session) eventsAfter(after engine.Revision) []engine.Event {
	s.Helper()
	var all []engine.Event
	for {
		events := s.events(after, 100)
		if len(events) == 0 {
			return all
		}
		for _, event := range events {
			after++
			if event.Revision != after {
				s.Fatalf("event %d came where %d was due", event.Revision, after)
			}
		}
		all = append(all, events...)
	}
}

func (s session) state() engine.State {
	s.Helper()
	state, err := s.engine.State(s.Context())
	if err != nil {
		s.Fatalf("state: %v", err)
	}
	return state
}

func (s session) compact(upTo engine.Revision) {
	s.Helper()
	if err := s.engine.Compact(s.Context(), upTo); err != nil {
		s.Fatalf("compact up to %d: %v", upTo, err)
	}
}

func (s session) usage() engine.Usage {
	s.Helper()
	usage, err := s.engine.Usage(s.Context())
	if err != nil {
		s.Fatalf("usage: %v", err)
	}
	return usage
}

// same fails the test when two answers differ. Times are left out: engines have clocks of their own.
func (s session) same(what string, got, want any) {
	s.Helper()
	if reflect.DeepEqual(want, got) { // A tenth of the time, and nearly always so.
		return
	}
	if diff := cmp.Diff(want, got, cmpOptions...); diff != "" {
		s.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

var cmpOptions = cmp.Options{
	cmpopts.EquateEmpty(),
	// Values of megabytes are compared at once, not byte by byte.
	cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)),
	cmpopts.IgnoreFields(engine.Event{}, "Time"),
	cmpopts.IgnoreFields(engine.Batch{}, "Time"),
	cmpopts.IgnoreFields(engine.State{}, "Incarnation"),
}

// wantClass fails the test unless err is of a class.
func (s session) wantClass(what string, err, class error) {
	s.Helper()
	if !errors.Is(err, class) {
		s.Fatalf("%s: got %v, want %v", what, err, class)
	}
}

func value(data string) engine.Value {
	return engine.Value{Data: []byte(data), Codec: 1, Size: int32(3 * len(data))}
}

func create(key, data string) engine.Op {
	return engine.Op{Kind: engine.Create, Resource: reports, Key: key, Value: value(data)}
}

func update(key string, expect engine.Revision, data string) engine.Op {
	return engine.Op{Kind: engine.Update, Resource: reports, Key: key, Expect: expect, Value: value(data)}
}

func remove(key string, expect engine.Revision) engine.Op {
	return engine.Op{Kind: engine.Delete, Resource: reports, Key: key, Expect: expect}
}

func keysOf(rows []engine.Row) []string {
	keys := make([]string, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

// projection returns result rows that differ by seed: two verdicts of a few, n results, a scope for even seeds.
func projection(seed, n int) *engine.Projection {
	p := &engine.Projection{
		Namespace: "team-a", Name: fmt.Sprintf("report-%d", seed), UID: fmt.Sprintf("uid-%d", seed),
		Kind: "PolicyReport", Source: "kyverno", CreatedAt: 1_700_000_000 + int64(seed),
		Pass: int64(n), Fail: int64(seed % 3),
	}
	if seed%2 == 0 {
		p.Scope = &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "team-a", Name: p.Name, UID: p.UID}
	}
	for i := range n {
		result := engine.Result{
			Index: int32(i),
			Verdict: &engine.Verdict{
				Source: "kyverno", Policy: fmt.Sprintf("policy-%d", (seed+i)%5), Rule: "rule", Severity: "high",
				Result: "pass", Message: "it's fine — so far", Scored: true, Properties: `{"a":"b"}`,
			},
			Seconds: 1_700_000_000,
			Ordinal: int32(seed % 3 * (i % 4)), // Engines keep what they are given.
		}
		if seed%2 == 1 {
			result.Subject = &engine.Subject{Kind: "Pod", Namespace: "team-a", Name: fmt.Sprintf("pod-%d", i)}
		}
		p.Results = append(p.Results, result)
	}
	return p
}
