// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// slowly has a policy take its time, as far as the request has it.
func slowly(d time.Duration) func(*fakePolicy) {
	return func(p *fakePolicy) {
		p.review = func(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			return nil, nil
		}
	}
}

// aloneVariable names the test that has a process of its own.
const aloneVariable = "DOCKET_TEST_ALONE"

// TestFlood: of 2,000 requests a second for a policy that can take 160, those that find no slot are
// told so at once, and memory does not grow. Its process is its own, because it measures that.
func TestFlood(t *testing.T) {
	t.Parallel()
	if os.Getenv(aloneVariable) == t.Name() {
		synctest.Test(t, testFlood)
		return
	}
	// The program is this test.
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, output)
	}
}

func testFlood(t *testing.T) {
	const slots = 8
	u := newUnit(t, func(c *Config) { c.Concurrency = slots }, newPolicy("slow", slowly(50*time.Millisecond)))
	body := encodeReview(t, request(pod("default", "a")))
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	var requests sync.WaitGroup
	var answered, refused, other atomic.Int64
	var most int
	flood := func(n int) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		const together = 2
		for sent := 0; sent < n; sent += together {
			<-tick.C
			for range together {
				requests.Go(func() {
					switch u.post(t, PathIgnore+"?timeout=2s", body).Code {
					case http.StatusOK:
						answered.Add(1)
					case http.StatusServiceUnavailable:
						refused.Add(1)
					default:
						other.Add(1)
					}
				})
			}
			most = max(most, runtime.NumGoroutine())
		}
	}
	quiet := runtime.NumGoroutine()
	flood(1000)
	before := heap()
	flood(4000)
	after := heap()
	requests.Wait()
	if answered.Load() < 50 || refused.Load() < 500 || other.Load() != 0 {
		t.Errorf("%d answered, %d refused, %d otherwise", answered.Load(), refused.Load(), other.Load())
	}
	// Each slot has a request and a policy; requests that wait have no more than themselves.
	if limit := quiet + slots*(2+waitingEach) + 100; most > limit {
		t.Errorf("%d goroutines, want at most %d", most, limit)
	}
	if after > before+8<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	testkit.Eventually(t, "all slots are free", func() bool { return len(u.webhooks[PathIgnore].gate.slots) == 0 })
}

// TestPolicyThatNeverEndsKeepsItsSlots: what it holds does not grow with requests, the other webhook
// goes on, and once it ends all is well.
func TestPolicyThatNeverEndsKeepsItsSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testPolicyThatNeverEnds)
}

func testPolicyThatNeverEnds(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	var running atomic.Int64
	stuck := newPolicy("stuck", func(p *fakePolicy) {
		p.review = func(context.Context, *policy.Request) ([]policy.Verdict, error) {
			running.Add(1)
			defer running.Add(-1)
			<-release
			return nil, nil
		}
	})
	u := newUnit(t, func(c *Config) { c.Concurrency = 2 }, stuck, newPolicy("closed", closed))
	body := encodeReview(t, request(pod("default", "a")))
	for i := range 6 {
		answer := u.post(t, PathIgnore+"?timeout=200ms", body)
		want := http.StatusOK
		if i >= 2 {
			want = http.StatusServiceUnavailable
		}
		if answer.Code != want || i >= 2 && !strings.Contains(answer.Body.String(), errOverload.Error()) {
			t.Errorf("request %d: %d %s", i, answer.Code, answer.Body)
		}
	}
	if running.Load() != 2 {
		t.Errorf("%d evaluations", running.Load())
	}
	if answer := u.post(t, PathFail, body); answer.Code != http.StatusOK {
		t.Errorf("the other webhook: %d %s", answer.Code, answer.Body)
	}
	free()
	testkit.Eventually(t, "requests find a slot again", func() bool { return u.post(t, PathIgnore, body).Code == http.StatusOK })
}

func TestGate(t *testing.T) {
	t.Parallel()
	g := newGate(1)
	testkit.NoError(t, g.enter(t.Context(), time.Minute))
	if err := g.enter(t.Context(), time.Millisecond); !errors.Is(err, errOverload) {
		t.Errorf("without a slot: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.enter(ended, time.Minute); err == nil {
		t.Error("a request whose client has gone gets a slot")
	}
	entered := make(chan error)
	for range waitingEach {
		go func() { entered <- g.enter(t.Context(), time.Minute) }()
	}
	testkit.Eventually(t, "all wait", func() bool { return len(g.waiting) == waitingEach })
	if err := g.enter(t.Context(), time.Minute); !errors.Is(err, errOverload) {
		t.Errorf("without a slot to wait: %v", err)
	}
	for range waitingEach {
		g.leave()
		if err := <-entered; err != nil {
			t.Error(err)
		}
	}
}

// TestPoliciesAreEvaluatedSideBySide, but not more than a few.
func TestPoliciesAreEvaluatedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testSideBySide)
}

func testSideBySide(t *testing.T) {
	var running atomic.Int64
	release := make(chan struct{})
	policies := make([]policy.Policy, 0, 3*parallel)
	for range 3 * parallel {
		policies = append(policies, newPolicy("p", func(p *fakePolicy) {
			p.review = func(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
				running.Add(1)
				defer running.Add(-1)
				select {
				case <-release:
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			}
		}))
	}
	u := newUnit(t, nil, policies...)
	go func() {
		synctest.Wait()
		if n := running.Load(); n != parallel {
			t.Errorf("%d at a time", n)
		}
		close(release)
	}()
	if got := u.ask(t, PathIgnore+"?timeout=30s", request(pod("default", "a"))); len(got.Warnings) > 0 {
		t.Errorf("warnings: %q", got.Warnings)
	}
}
