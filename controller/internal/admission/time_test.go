// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestTimeouts: the answer comes in time whatever policies do, others are evaluated all the same, and
// a policy has no more time than it asks for.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testTimeouts)
}

func testTimeouts(t *testing.T) {
	release, begin := make(chan struct{}), time.Now()
	defer close(release)
	stuck := func(p *fakePolicy) {
		p.review = func(context.Context, *policy.Request) ([]policy.Verdict, error) {
			<-release
			return nil, nil
		}
	}
	patient := func(p *fakePolicy) {
		p.admission.Timeout = 50 * time.Millisecond
		p.review = func(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
			<-ctx.Done()
			return []policy.Verdict{{Result: policy.Result{Rule: "r", Outcome: report.OutcomeError, Message: fmt.Sprint("after ", time.Since(begin))}}}, nil
		}
	}
	u := newUnit(t, nil, newPolicy("stuck", stuck), newPolicy("patient", patient), newPolicy("warns", says(policy.Verdict{Warn: true, Result: policy.Result{Rule: "r"}})),
		newPolicy("closed", closed, stuck))
	got := u.ask(t, PathIgnore+"?timeout=1s", request(pod("default", "a")))
	if took := time.Since(begin); took != 950*time.Millisecond {
		t.Errorf("the answer took %v", took)
	}
	text := strings.Join(got.Warnings, "\n")
	if !got.Allowed || len(got.Warnings) != 3 || !strings.Contains(text, errLate.Error()) || !strings.Contains(text, "after 50ms") || !strings.Contains(text, "policy warns.r") {
		t.Errorf("the answer is %+v", got)
	}
	got = u.ask(t, PathFail+"?timeout=200ms", request(pod("default", "a")))
	if got.Allowed || !strings.Contains(got.Result.Message, errLate.Error()) {
		t.Errorf("the answer of a policy that is closed: %+v", got)
	}
}

func TestParseTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]time.Duration{
		"":      {9 * time.Second, 9500 * time.Millisecond},
		"10s":   {9 * time.Second, 9500 * time.Millisecond},
		"500ms": {400 * time.Millisecond, 450 * time.Millisecond},
		"100ms": {50 * time.Millisecond, 75 * time.Millisecond},
		"11s":   {9 * time.Second, 9500 * time.Millisecond},
		"10h":   {9 * time.Second, 9500 * time.Millisecond},
	} {
		if limit, late, err := parseTimeout(text, 10*time.Second); limit != want[0] || late != want[1] || err != nil {
			t.Errorf("%q: %v, %v, %v", text, limit, late, err)
		}
	}
}

// TestTimeoutOfCallerNeverExceedsOurs: whatever a request says, policies have no more time than the webhook
// configuration gives it: the default, or more if a policy asks for more.
func TestTimeoutOfCallerNeverExceedsOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testTimeoutOfCaller)
}

func testTimeoutOfCaller(t *testing.T) {
	var had time.Duration
	look := func(p *fakePolicy) {
		p.review = func(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
			end, _ := ctx.Deadline()
			had = time.Until(end)
			return nil, nil
		}
	}
	patient := func(p *fakePolicy) { p.admission.Timeout = 20 * time.Second }
	for name, test := range map[string]struct {
		policies []policy.Policy
		want     time.Duration
	}{
		"usual":             {[]policy.Policy{newPolicy("p", look)}, 2700 * time.Millisecond},
		"patient":           {[]policy.Policy{newPolicy("p", look, patient)}, 18 * time.Second},
		"patient elsewhere": {[]policy.Policy{newPolicy("p", look), newPolicy("closed", closed, patient)}, 2700 * time.Millisecond},
	} {
		u := newUnit(t, func(c *Config) { c.Timeout = 3 * time.Second }, test.policies...)
		for _, query := range []string{"", "?timeout=10h"} {
			u.ask(t, PathIgnore+query, request(pod("default", "a")))
			if had != test.want {
				t.Errorf("%s: with %q the policy has %v, want %v", name, query, had, test.want)
			}
		}
	}
}

// TestClientThatGoesAway leaves nothing behind: neither a slot that is taken nor results.
func TestClientThatGoesAway(t *testing.T) {
	t.Parallel()
	var leave context.CancelFunc
	u := newUnit(t, nil, newPolicy("p", func(p *fakePolicy) {
		p.review = func(ctx context.Context, r *policy.Request) ([]policy.Verdict, error) {
			if r.Name == "gone" {
				leave()
				<-ctx.Done()
			}
			return nil, ctx.Err()
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.sender.Run(ctx) }()
	u.post(t, PathIgnore, encodeReview(t, request(pod("default", "gone"))), func(r *http.Request) {
		var gone context.Context
		gone, leave = context.WithCancel(r.Context())
		// Contexts derived from one that the library does not know end each in a goroutine of its own, in
		// any order: so what depends on their order fails often.
		*r = *r.WithContext(foreignContext{Context: gone, done: forward(gone.Done())})
	})
	u.ask(t, PathIgnore, request(pod("default", "stays")))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var owners []string
	for _, action := range u.client.Actions() {
		if create, ok := action.(clienttesting.CreateAction); ok {
			object := create.GetObject().(*unstructured.Unstructured)
			name, _, _ := unstructured.NestedString(object.Object, "spec", "owner", "name")
			owners = append(owners, name)
		}
	}
	if strings.Join(owners, " ") != "stays" {
		t.Errorf("handed over are the results of %q", owners)
	}
	testkit.Eventually(t, "the slots are free", func() bool { return len(u.webhooks[PathIgnore].gate.slots) == 0 })
}

// foreignContext is one that package context can't look into.
type foreignContext struct {
	context.Context //nolint:containedctx // It is a context.

	done <-chan struct{}
}

func (c foreignContext) Done() <-chan struct{} { return c.done }

// forward returns a channel that is closed once done is.
func forward(done <-chan struct{}) <-chan struct{} {
	forwarded := make(chan struct{})
	go func() {
		<-done
		close(forwarded)
	}()
	return forwarded
}

// TestSlowBody: a client that does not send all of its request has a slot for no longer than the
// request may take.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testSlowBody)
}

func testSlowBody(t *testing.T) {
	u := newUnit(t, nil, newPolicy("p"))
	_, client := serve(t, u.handler)
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	go func() { _, _ = writer.Write([]byte(`{"apiVersion":`)) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+PathIgnore+"?timeout=500ms", reader)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	answer, err := client.Do(r)
	if took := time.Since(begin); took != 400*time.Millisecond {
		t.Errorf("it had a slot for %v", took)
	}
	if err == nil {
		if answer.StatusCode != http.StatusRequestTimeout {
			t.Errorf("the answer is %s", answer.Status)
		}
		_ = answer.Body.Close()
	}
	testkit.Eventually(t, "the slot is free", func() bool { return len(u.webhooks[PathIgnore].gate.slots) == 0 })

	// A connection serves one request after the other.
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+PathIgnore+"?timeout=30s", bytes.NewReader(encodeReview(t, request(pod("default", "a")))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"allowed":true`) {
			t.Errorf("%s %s %v", answer.Status, body, err)
		}
		_ = answer.Body.Close()
	}
}
