// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// reader polls a server and fails for each result that is missing at any time.
type reader struct {
	mu    sync.Mutex
	polls int
	stop  func()
}

// read starts a reader of APIs. Results may go from one that is read to one that is read later.
func (s *server) read(t *testing.T, want map[string]bool, apis ...API) *reader {
	t.Helper()
	want = maps.Clone(want) // The caller's may be written to meanwhile.
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	r := &reader{}
	r.stop = func() {
		cancel()
		polling.Wait()
	}
	polling.Go(func() {
		for ctx.Err() == nil && !t.Failed() {
			found, err := s.results(ctx, apis...)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Error(err)
			}
			for about := range want {
				if !found[about] {
					t.Errorf("a reader does not find %s", about)
				}
			}
			r.mu.Lock()
			r.polls++
			r.mu.Unlock()
		}
	})
	return r
}

// again waits until the reader has read all once more.
func (r *reader) again(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	enough := r.polls + 2
	r.mu.Unlock()
	testkit.Eventually(t, "the reader goes on", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.polls >= enough || t.Failed()
	})
}

// TestSwitch: whichever way the layout or the API changes, each result can be found all the
// time, and only reports of the new kind are left.
func TestSwitch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.namespace(t, "team-a")
	policies := []policy.Identity{clusterPolicy("a"), {Kind: policy.ValidatingPolicy, Name: "a"}, clusterPolicy("b")}
	want := map[string]bool{}
	scan := func(l *Layout) {
		for _, id := range policies {
			shown := presentation()
			shown.Source = id.Kind
			l.Present(id, shown)
			for i := range 20 {
				for _, namespace := range []string{"default", "team-a", ""} {
					subject := pod(namespace, fmt.Sprint(i))
					l.Set(id, subject, []policy.Result{pass(id.Kind)})
					want[fmt.Sprintf("%s %s %s/%s", id.ResultName(), id.Kind, namespace, subject.Name)] = true
				}
			}
		}
	}
	before := Options{Split: true, API: WGPolicy, MaxResults: 15}
	first := s.world(t, before)
	scan(first.layout)
	first.flush(t)
	for step, options := range []Options{{}, {Split: true}, {Split: true, API: OpenReports}, {API: OpenReports}, {Split: true}} {
		options.MaxResults = 15
		w := s.world(t, options)
		options = w.layout.options
		r := s.read(t, want, before.API, options.API)
		w.load(t)
		end := w.run(t)
		scan(w.layout)
		w.idle(t)
		r.again(t)
		if s.having(t, before) == 0 || s.having(t, options) == 0 {
			t.Errorf("step %d: %d old and %d new reports before the layout is pruned", step, s.having(t, before), s.having(t, options))
		}
		w.prune()
		w.idle(t)
		r.again(t)
		end()
		r.stop()
		if s.having(t, before) != 0 || len(s.reports(t, otherAPI(options.API))) != 0 {
			t.Errorf("step %d: old reports are left", step)
		}
		if found, err := s.results(t.Context(), options.API); len(found) != len(want) || err != nil {
			t.Errorf("step %d: %d results, want %d, error %v", step, len(found), len(want), err)
		}
		before = options
	}
}

// having returns the number of reports of an API and a layout.
func (s *server) having(t *testing.T, options Options) int {
	t.Helper()
	n := 0
	for _, object := range s.list(t, options.API) {
		if object.GetLabels()[LayoutLabel] == options.label() {
			n++
		}
	}
	return n
}

// TestCompactWithoutGap: results that move to another report can be found all the time.
func TestCompactWithoutGap(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true, MaxResults: 10})
	w.load(t)
	id := clusterPolicy("a")
	for i := range 100 {
		w.layout.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{pass("r")})
	}
	w.flush(t)
	want := map[string]bool{}
	for i := range 100 {
		if i%10 > 1 {
			w.layout.Set(id, pod("default", fmt.Sprint(i)), nil)
			continue
		}
		want[fmt.Sprintf("a r default/%d", i)] = true
	}
	r := w.read(t, want, WGPolicy)
	for range 10 {
		w.flush(t)
	}
	r.again(t)
	r.stop()
	if n := len(w.reports(t, WGPolicy)); n != 3 {
		t.Errorf("%d reports are left", n)
	}
}

// TestOtherAPIMissing: a server need not have the API that is not written to, but the other.
func TestOtherAPIMissing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.world(t, Options{Split: true})
	var missing API
	w.gateway.set(func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.URL.Path, string(missing)) {
			return refusal(request, http.StatusNotFound, metav1.StatusReasonNotFound, "no such path"), nil
		}
		return nil, nil
	})
	missing = OpenReports
	w.load(t)
	missing = WGPolicy
	if err := w.writer.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "wgpolicyk8s.io") {
		t.Errorf("without the API that is written to: %v", err)
	}
}

// TestOneFlipOneWrite: of 100,000 results in one namespace one changes: one write of at most
// 256 KiB.
func TestOneFlipOneWrite(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.load(t)
	const first = "polr-ns-default-a"
	// The other 200 reports need not be real.
	w.gateway.set(func(request *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(request.Body)
		if err != nil || bytes.Contains(body, []byte(`"name":"`+first+`"`)) {
			request.Body = io.NopCloser(bytes.NewReader(body))
			return nil, err
		}
		return answer(request, http.StatusCreated, `{"metadata":{"uid":"u","resourceVersion":"1"}}`), nil
	})
	id := clusterPolicy("a")
	w.layout.Present(id, presentation())
	for i := range 100_000 {
		w.layout.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{fail("r", "the field spec.containers[0].image has no tag, or one that moves")})
	}
	w.flush(t)
	if writes := w.gateway.taken(); len(writes) != 1 || len(w.layout.keys()) < 200 {
		t.Fatalf("the server has taken %q of %d reports", writes, len(w.layout.keys()))
	}
	w.gateway.set(nil)
	w.layout.Set(id, pod("default", "17"), []policy.Result{pass("r")})
	w.flush(t)
	w.gateway.mu.Lock()
	bodies := w.gateway.bodies
	w.gateway.mu.Unlock()
	if writes := w.gateway.taken(); !slices.Equal(writes, []string{"PUT " + first}) || bodies[0] > DefaultMaxBytes || bodies[0] < 100_000 {
		t.Errorf("one flip wrote %q of %v bytes", writes, bodies)
	}
}
