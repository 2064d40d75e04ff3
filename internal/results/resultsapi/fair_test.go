// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

func as(ctx context.Context, name string) context.Context {
	return request.WithUser(ctx, &user.DefaultInfo{Name: name})
}

// held answers everybody but ann, whose questions last until the end of their context.
type held struct{ *fakeEngine }

func (h held) Clusters(ctx context.Context, _ []engine.ReportKind) ([]engine.Cluster, error) {
	if who, _ := request.UserFrom(ctx); who.GetName() == "ann" {
		<-ctx.Done()
	}
	return nil, ctx.Err()
}

// TestQuestionsInTurn: a person who asks too much has to wait, and others don't notice.
func TestQuestionsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFair(held{example()})
		ctx, cancel := context.WithTimeout(as(t.Context(), "ann"), time.Minute)
		defer cancel()
		var group sync.WaitGroup
		ask := func(ctx context.Context) error {
			_, err := f.Clusters(ctx, nil)
			return err
		}
		for i := range 1 + waitingQuestions {
			group.Go(func() {
				// The first one ends by itself, and all others before they begin.
				if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) && !apierrors.IsTooManyRequests(err) {
					t.Errorf("question %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		refused := ask(ctx)
		if seconds, ok := apierrors.SuggestsClientDelay(refused); !apierrors.IsTooManyRequests(refused) || !ok || seconds != retryQuestion || !strings.Contains(refused.Error(), `"ann" has 20`) {
			t.Errorf("one more of ann: %v", refused)
		}
		if err := ask(as(t.Context(), "system:serviceaccount:shop:bot")); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		group.Wait()
		if err := ask(as(t.Context(), "ben")); err != nil {
			t.Errorf("after that: %v", err)
		}
	})
}

// TestRefusedQuestions: when an engine refuses a question, the client gets a client error with a remedy.
func TestRefusedQuestions(t *testing.T) {
	t.Parallel()
	for want, refusal := range map[string]error{
		"leave out conditions on message": &engine.CostlyError{Cost: 2, Allowed: 1, Most: engine.FieldMessage}, "group by fewer fields": &engine.CrowdedError{Allowed: 1},
	} {
		e := example()
		e.before = func(*fakeEngine) error { return refusal }
		_, err := storageOf[*queryStorage](t, e, "resultqueries").Create(t.Context(), &v1alpha1.ResultQuery{}, nil, nil)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		_, err = storageOf[*resultStorage](t, e, "policyresults").List(inNamespace(t, "shop"), nil)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("list: got %v, want %q", err, want)
		}
	}
}

// watched notes the namespaces of which something is counted.
type watched struct {
	*fakeEngine

	counted []string
}

func (w *watched) Count(ctx context.Context, q engine.CountQuery) (engine.Counts, error) {
	if q.Namespace != nil {
		w.counted = append(w.counted, *q.Namespace)
	}
	return w.fakeEngine.Count(ctx, q)
}

// TestTextsOfOneNamespace: labels with a hash are looked up in the namespace of the request, whatever the selectors
// say.
func TestTextsOfOneNamespace(t *testing.T) {
	t.Parallel()
	e := &watched{fakeEngine: example()}
	label := v1alpha1.LabelPolicy + "=" + v1alpha1.LabelValue("bench/1.2.3 long name")
	for _, selector := range []string{"metadata.namespace=bank", "metadata.namespace=shop"} {
		if got := listed(t, storageOf[*resultStorage](t, e, "policyresults"), "shop", options(t, label, selector, 0, "")); len(got) > 0 {
			t.Errorf("%s: got %q", selector, got)
		}
	}
	if !slices.Equal(e.counted, []string{"shop", "shop"}) {
		t.Errorf("counted in %q", e.counted)
	}
}

// TestSimpleQuestionBesideMany: while one person asks 50 costly questions at a time, again and again, those of
// another take a moment.
func TestSimpleQuestionBesideMany(t *testing.T) {
	testkit.Full(t)
	for name, open := range map[string]func() (enginetest.Engine, error){
		"sqlite": func() (enginetest.Engine, error) {
			return sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "c"})
		},
		"postgres": func() (enginetest.Engine, error) {
			return postgres.Open(t.Context(), postgres.Options{URL: testenv.Postgres(t).Database(t), Cluster: "c"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := testkit.Must(open())(t)
			defer func() { _ = e.Close() }()
			const reports, simple = 2500, 1000
			fill(t, e, reports)
			f := newFair(e)
			many := costly(490)
			_, counts := f.Count(t.Context(), many)
			_, first := f.First(t.Context(), engine.OrderQuery{Kinds: reportKinds, Filter: many.Filter, OrderBy: engine.FieldSeconds, Limit: 1})
			_, rows := f.Rows(t.Context(), engine.RowQuery{Kinds: reportKinds, Filter: many.Filter, Limit: 1})
			for _, err := range []error{counts, first, rows} {
				if !errors.As(err, new(*engine.CostlyError)) {
					t.Errorf("490 conditions on each of %d results: %v", 17*reports, err)
				}
			}
			stop := askAllTheTime(t, f, 50, costly(10))
			defer stop()
			ctx, cancel := context.WithTimeout(as(t.Context(), "ben"), 30*time.Second)
			defer cancel()
			var times []time.Duration
			namespace := "team-07"
			q := engine.CountQuery{Kinds: reportKinds, Namespace: &namespace, By: []engine.Field{engine.FieldPolicy, engine.FieldResult}, Limit: 100}
			for range simple {
				start := time.Now()
				if _, err := f.Count(ctx, q); err != nil {
					t.Fatalf("after %d questions: %v", len(times), err)
				}
				times = append(times, time.Since(start))
			}
			answered := stop()
			slices.Sort(times)
			p50, p99 := times[simple/2], times[simple*99/100]
			t.Logf("%s: p50 %s, p99 %s, beside %d costly questions", name, p50, p99, answered)
			if p99 > 200*time.Millisecond {
				t.Errorf("p99 %s, more than 200 ms", p99)
			}
		})
	}
}

var reportKinds = []engine.ReportKind{{Kind: "PolicyReport", Resource: "/wgpolicyk8s.io/policyreports/"}}

// costly is a question with some conditions on each result.
func costly(conditions int) engine.CountQuery {
	filter := &engine.Filter{Operator: engine.Any}
	for range conditions {
		filter.Operands = append(filter.Operands, &engine.Filter{Operator: engine.Contains, Field: engine.FieldSubjectName, Values: []string{"nowhere"}})
	}
	return engine.CountQuery{Kinds: reportKinds, Filter: filter, By: []engine.Field{engine.FieldSubjectName}, Subjects: true, Limit: 1}
}

func fill(t *testing.T, e engine.Engine, reports int64) {
	t.Helper()
	var ops []engine.Op
	for n := range reports {
		ops = append(ops, enginetest.Report(n+1))
	}
	for batch := range slices.Chunk(ops, 250) {
		testkit.Must(e.Commit(t.Context(), batch))(t)
	}
	testkit.NoError(t, errors.Join(e.Tally(t.Context()), e.Analyze(t.Context())))
}

// askAllTheTime has ann ask the same several times at once until stop is called, which returns how many answers she
// got.
func askAllTheTime(t *testing.T, f *fair, at int, q engine.CountQuery) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(as(t.Context(), "ann"))
	var mu sync.Mutex
	answers := 0
	var group sync.WaitGroup
	for range at {
		group.Go(func() {
			for ctx.Err() == nil {
				_, err := f.Count(ctx, q)
				switch {
				case err == nil:
					mu.Lock()
					answers++
					mu.Unlock()
				case apierrors.IsTooManyRequests(err):
					<-time.After(10 * time.Millisecond) // As a client that is in a hurry.
				case ctx.Err() == nil:
					t.Error(err)
					return
				}
			}
		})
	}
	return func() int {
		cancel()
		group.Wait()
		return answers
	}
}
