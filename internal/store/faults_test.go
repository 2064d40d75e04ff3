// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/storetest"
)

// faulty is an engine that fails on demand.
type faulty struct {
	engine.Engine

	mu sync.Mutex
	// fail returns the error of a call, by the name of the method. It may be called by several at a time.
	fail func(method string) error
	// jump is added to revisions and incarnation: what a restore looks like.
	jump engine.Revision
}

func (f *faulty) set(fail func(method string) error, jump engine.Revision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.jump = fail, jump
}

func (f *faulty) check(method string) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(method)
}

func (f *faulty) jumped(s engine.State) engine.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jump > 0 {
		s.Revision += f.jump
		s.Compacted, s.Incarnation = s.Revision, s.Incarnation+1
	}
	return s
}

func (f *faulty) Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error) {
	if err := f.check("Commit"); err != nil {
		return engine.Batch{}, err
	}
	return f.Engine.Commit(ctx, ops)
}

func (f *faulty) Get(ctx context.Context, resource engine.Resource, key string) (*engine.Row, engine.State, error) {
	if err := f.check("Get"); err != nil {
		return nil, engine.State{}, err
	}
	return f.Engine.Get(ctx, resource, key)
}

func (f *faulty) List(ctx context.Context, q engine.Query) (engine.Page, error) {
	if err := f.check("List"); err != nil {
		return engine.Page{}, err
	}
	return f.Engine.List(ctx, q)
}

func (f *faulty) State(ctx context.Context) (engine.State, error) {
	if err := f.check("State"); err != nil {
		return engine.State{}, err
	}
	state, err := f.Engine.State(ctx)
	return f.jumped(state), err
}

func (f *faulty) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	if err := f.check("Events"); err != nil {
		return nil, engine.State{}, err
	}
	f.mu.Lock()
	jumped := f.jump > 0
	f.mu.Unlock()
	if jumped {
		state, err := f.State(ctx)
		return nil, state, err
	}
	return f.Engine.Events(ctx, after, limit)
}

// The types in which the API server has PolicyReports.
type (
	policyReport     = document.Object
	policyReportList = document.List
)

func policyReports() registry.Kind {
	kind, err := registry.KindOf(schema.GroupResource{Group: wgpolicy.SchemeGroupVersion.Group, Resource: "policyreports"})
	if err != nil {
		panic(err)
	}
	return kind
}

func emptyReport() *policyReport { return policyReports().New().(*policyReport) }

func emptyList() *policyReportList { return policyReports().NewList().(*policyReportList) }

// reports is a store of PolicyReports, the way the API server makes it.
type reports struct {
	*store.Resource
	store  *store.Store
	engine *faulty
	config store.ResourceConfig
}

// newReports is on an engine that can be made to fail.
func newReports(t *testing.T) *reports {
	t.Helper()
	f := &faulty{Engine: openModel(t)}
	r := newReportsOn(t, f)
	r.engine = f
	return r
}

func newReportsOn(t *testing.T, e engine.Engine) *reports {
	t.Helper()
	return newReportsWith(t, store.Options{Engine: e})
}

func newReportsWith(t testing.TB, options store.Options) *reports {
	t.Helper()
	s := storetest.Start(t, options)
	config := store.ResourceConfig{
		GroupResource: schema.GroupResource{Group: wgpolicy.SchemeGroupVersion.Group, Resource: "policyreports"},
		Prefix:        "/wgpolicyk8s.io/policyreports", OneVersion: true,
		Codec:       policyReports().Codec(),
		NewFunc:     func() runtime.Object { return emptyReport() },
		NewListFunc: func() runtime.Object { return emptyList() },
	}
	return &reports{store: s, config: config, Resource: s.Resource(config)}
}

func key(name string) string { return "/wgpolicyk8s.io/policyreports/ns/" + name }

func (r *reports) create(t *testing.T, name string) *policyReport {
	t.Helper()
	out := emptyReport()
	in := emptyReport()
	in.Namespace, in.Name = "ns", name
	if err := r.Create(t.Context(), key(name), in, out, 0); err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return out
}

var everything = storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything()}

// Guarantee S9: what a client gets for each class of failure.
func TestErrorsForClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err        error
		code       int32
		retryAfter int
	}{
		{engine.ErrUnavailable, http.StatusServiceUnavailable, 1},
		{engine.ErrClosed, http.StatusServiceUnavailable, 1},
		{engine.ErrReadOnly, http.StatusServiceUnavailable, 1},
		{engine.ErrUnknownOutcome, http.StatusGatewayTimeout, 0},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, 0},
		{engine.ErrFull, http.StatusInsufficientStorage, 0},
		{engine.ErrTooLarge, http.StatusRequestEntityTooLarge, 0},
		{engine.ErrCorrupt, http.StatusInternalServerError, 0},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			t.Parallel()
			r := newReports(t)
			r.create(t, "there")
			r.engine.set(func(string) error { return fmt.Errorf("SELECT secret: %w", c.err) }, 0)
			out := emptyReport()
			for operation, err := range map[string]error{
				"get":    r.Get(t.Context(), key("there"), storage.GetOptions{}, out),
				"create": r.Create(t.Context(), key("new"), emptyReport(), out, 0),
				"delete": r.Delete(t.Context(), key("there"), out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}),
				"list":   r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{Recursive: true, Predicate: everything}, emptyList()),
			} {
				var status apierrors.APIStatus
				if !errors.As(err, &status) || status.Status().Code != c.code {
					t.Errorf("%s: %v, want code %d", operation, err, c.code)
					continue
				}
				if seconds, _ := apierrors.SuggestsClientDelay(err); seconds != c.retryAfter {
					t.Errorf("%s: Retry-After %d, want %d", operation, seconds, c.retryAfter)
				}
				if message := status.Status().Message; message == "" || strings.Contains(message, "secret") {
					t.Errorf("%s: message %q is empty or tells SQL", operation, message)
				}
			}
		})
	}
}

// Guarantee S9: a database that goes away in mid-list gives an error, not the
// pages that were read.
func TestListFailsWhole(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	for i := range 1500 {
		r.create(t, fmt.Sprintf("report-%04d", i))
	}
	var calls atomic.Int32
	r.engine.set(func(method string) error {
		if method == "List" && calls.Add(1) == 2 {
			return engine.ErrUnavailable
		}
		return nil
	}, 0)
	list := emptyList()
	err := r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{Recursive: true, Predicate: everything}, list)
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list of %d items, %v; want 503", len(list.Items), err)
	}
}

// Guarantee S8: after a restore, open watches end with 410 in the stream.
func TestRestoreEndsWatches(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	created := r.create(t, "before")
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
		Recursive: true, Predicate: everything, ResourceVersion: created.ResourceVersion,
	}))(t)
	defer w.Stop()
	r.engine.set(nil, 1_000_000)
	testkit.Must(r.GetCurrentResourceVersion(t.Context()))(t)
	expectExpired(t, w)
	late, err := r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
		Recursive: true, Predicate: everything, ResourceVersion: created.ResourceVersion,
	})
	if err != nil {
		t.Fatalf("watch from before the restore: %v; want an open stream that tells 410", err)
	}
	defer late.Stop()
	expectExpired(t, late)
}

func expectExpired(t *testing.T, w watch.Interface) {
	t.Helper()
	event, _ := testkit.Receive(t, "the watch ends after the restore", w.ResultChan())
	status, ok := event.Object.(*metav1.Status)
	if !ok || status.Code != http.StatusGone || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("got %s %v, want 410 Expired", event.Type, event.Object)
	}
}

// If the database is away when a watch starts, the stream says so: some clients never recover from a watch that is
// refused.
func TestWatchOfDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	r.engine.set(func(string) error { return engine.ErrUnavailable }, 0)
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{Recursive: true, Predicate: everything}))(t)
	defer w.Stop()
	event := <-w.ResultChan()
	status, ok := event.Object.(*metav1.Status)
	if !ok || status.Code != http.StatusServiceUnavailable {
		t.Errorf("got %s %v, want 503 in the stream", event.Type, event.Object)
	}
}

// TestWatchBeginsBeforeItIsOpen: an open watch shows everything written from then on, even what is deleted right after,
// and however slow the database is. (CRDs do so: their watch cache begins before it answers.)
func TestWatchBeginsBeforeItIsOpen(t *testing.T) {
	t.Parallel()
	for name, initial := range map[string]*bool{"legacy": nil, "with initial events": new(true), "without": new(false)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testWatchBeginsBeforeItIsOpen(t, initial) })
		})
	}
}

func testWatchBeginsBeforeItIsOpen(t *testing.T, initial *bool) {
	t.Helper()
	r := newReports(t)
	written := make(chan struct{})
	r.engine.set(func(method string) error {
		if method == "List" || method == "State" {
			select {
			case <-written:
			case <-time.After(200 * time.Millisecond): // Over once all else waits for the watch, as it should.
			}
		}
		return nil
	}, 0)
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
		Recursive: true, Predicate: everything, SendInitialEvents: initial,
	}))(t)
	defer w.Stop()
	r.create(t, "brief")
	testkit.NoError(t, r.Delete(t.Context(), key("brief"), emptyReport(), nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}))
	close(written)
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		if event, _ := testkit.Receive(t, "the watch gets "+string(want), w.ResultChan()); event.Type != want {
			t.Errorf("the watch got %s, want %s", event.Type, want)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	r.awaitReady(t)
	r.engine.set(func(string) error { return engine.ErrUnavailable }, 0)
	if err := r.store.Ready(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("ready without a database: %v", err)
	}
	idle := testkit.Must(store.New(t.Context(), store.Options{Engine: openModel(t)}))(t)
	if idle.Ready(t.Context()) == nil {
		t.Error("a store that doesn't run says it is ready")
	}
}

// What the cache holds is never changed by those who got it.
func TestCacheIsNotShared(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	first := r.create(t, "x")
	first.Labels = map[string]string{"changed": "by the creator"}
	second := emptyReport()
	testkit.NoError(t, r.Get(t.Context(), key("x"), storage.GetOptions{}, second))
	second.Labels = map[string]string{"changed": "by a reader"}
	third := emptyReport()
	testkit.NoError(t, r.Get(t.Context(), key("x"), storage.GetOptions{}, third))
	if len(third.Labels) != 0 {
		t.Errorf("labels %v came from the cache, want none", third.Labels)
	}
}

func TestRebuildResults(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	for i := range 250 {
		r.create(t, fmt.Sprintf("report-%03d", i))
	}
	var last, total int64
	testkit.NoError(t, r.store.RebuildResults(t.Context(), func(done, of int64) { last, total = done, of }))
	if last != 250 || total != 250 {
		t.Errorf("rebuilt %d of %d, want 250 of 250", last, total)
	}
}

// meddling is an engine on which an object is written, so that its rows are kept, just before rows are derived.
type meddling struct {
	engine.Engine

	meddle  func()
	derived map[string]engine.Revision
}

func (m *meddling) Derive(ctx context.Context, items []engine.Derived) error {
	if m.meddle != nil {
		m.meddle()
		m.meddle = nil
	}
	for _, item := range items {
		m.derived[item.Key] = item.Revision
	}
	return m.Engine.Derive(ctx, items)
}

// TestRebuildBesideWrites: rows of an object that was written in between, and kept them, are made of what was written.
func TestRebuildBesideWrites(t *testing.T) {
	t.Parallel()
	m := &meddling{Engine: openModel(t), derived: map[string]engine.Revision{}}
	r := newReportsOn(t, m)
	for i := range 3 {
		r.create(t, fmt.Sprintf("report-%d", i))
	}
	const resource, name = "/wgpolicyk8s.io/policyreports/", "ns/report-1"
	m.meddle = func() {
		row, _ := testkit.Must2(m.Get(t.Context(), resource, name))(t)
		op := engine.Op{Kind: engine.Update, Resource: resource, Key: name, Expect: row.Revision, Value: row.Value, KeepDerived: true}
		testkit.Must(m.Commit(t.Context(), []engine.Op{op}))(t)
	}
	testkit.NoError(t, r.store.RebuildResultsOf(t.Context(), wgpolicy.SchemeGroupVersion.WithResource("policyreports").GroupResource()))
	row, _ := testkit.Must2(m.Get(t.Context(), resource, name))(t)
	if len(m.derived) != 3 || m.derived[name] != row.Revision {
		t.Errorf("rows were derived of the revisions %v; that of %s is %d", m.derived, name, row.Revision)
	}
}

// TestRebuildBesideDamage: an object that can't be read is named, and the others are rebuilt.
func TestRebuildBesideDamage(t *testing.T) {
	t.Parallel()
	e := openModel(t)
	r := newReportsOn(t, e)
	for i := range 150 {
		r.create(t, fmt.Sprintf("report-%03d", i))
	}
	broken := engine.Op{
		Kind: engine.Create, Resource: "/wgpolicyk8s.io/policyreports/", Key: "ns/broken",
		Value: engine.Value{Data: []byte("nothing"), Codec: 99, Size: 7},
	}
	testkit.Must(e.Commit(t.Context(), []engine.Op{broken}))(t)
	var last int64
	err := r.store.RebuildResults(t.Context(), func(done, _ int64) { last = done })
	if last != 151 || !errors.Is(err, engine.ErrSchema) || !strings.Contains(err.Error(), "ns/broken") {
		t.Errorf("rebuilt %d of 151; the error is %v", last, err)
	}
}
