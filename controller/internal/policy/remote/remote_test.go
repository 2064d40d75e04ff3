// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/testkit"
)

// TestSame: a policy of another process says and finds what it does here.
func TestSame(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	exception := named("skip")
	exception.Object["spec"] = map[string]any{"policy": "owner", "resource": "excepted"}
	unlabelled := pod("b", "")
	unlabelled.Object.SetLabels(nil)
	secret := pod("c", "")
	secret.Object.SetKind("Secret")
	broken := named("broken")
	broken.Object["spec"].(map[string]any)["problem"] = "no such function"
	for _, object := range []*unstructured.Unstructured{named("owner"), broken} {
		here := trouble{}.Compile(object, []*unstructured.Unstructured{exception})
		there := compile(t, e, object, exception)
		want, got := describe(here), describe(there)
		if !strings.HasPrefix(got.Fingerprint, "test 1 ") {
			t.Errorf("the fingerprint is %q", got.Fingerprint)
		}
		got.Fingerprint = want.Fingerprint
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("description (-here +there):\n%s", diff)
		}
		for _, subject := range []policy.Subject{pod("a", ""), unlabelled, secret, pod("excepted", "")} {
			want, err := here.Evaluate(t.Context(), subject)
			got, broken := there.Evaluate(t.Context(), subject)
			if diff := cmp.Diff(want, got); diff != "" || err != nil || broken != nil {
				t.Errorf("%s %s: %v, %v (-here +there):\n%s", object.GetName(), subject.Object.GetName(), err, broken, diff)
			}
		}
	}
}

// TestNamespace: the namespace of a subject travels.
func TestNamespace(t *testing.T) {
	t.Parallel()
	p := compile(t, newEngine(t, nil), named("owner"))
	subject := pod("a", "namespace")
	subject.NamespaceLabels = map[string]string{"env": "test"}
	subject.NamespaceObject = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Annotations: map[string]string{"cost": "1"}}}
	if got, want := evaluate1(t.Context(), p, subject), "pass: map[cost:1] map[env:test] /v1, Resource=pods"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func request(name, do string) *policy.Request {
	subject := pod(name, do)
	return &policy.Request{
		AdmissionRequest: &admissionv1.AdmissionRequest{UID: "u1", Operation: admissionv1.Create, Object: apiruntime.RawExtension{Raw: []byte(`{"raw":true}`)}},
		New:              subject.Object, NamespaceLabels: map[string]string{"env": "test"},
		NamespaceObject: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		Roles: func() ([]string, []string, error) {
			return []string{"team:edit"}, []string{"view"}, errors.New("some are unknown")
		},
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	p := compile(t, newEngine(t, nil), named("owner"))
	want, err := (&troubled{}).Review(t.Context(), request("a", ""))
	if err != nil {
		t.Fatal(err)
	}
	want[0].Message = strings.Replace(want[0].Message, "[team:edit] [view]", "[] []", 1) // An error says enough.
	got, err := p.Review(t.Context(), request("a", ""))
	if err != nil {
		t.Fatal(err)
	}
	got[0].Message = strings.Replace(got[0].Message, "[team:edit] [view]", "[] []", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-here +there):\n%s", diff)
	}
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Review(limited, request("a", "wait")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a review that takes too long: %v", err)
	}
}

// TestNotThere: whatever is wrong with the program is said; nothing waits for it, and nothing is found.
func TestNotThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no program":      {func(c *Config) { c.Path = filepath.Join(t.TempDir(), "none") }, "no such file"},
		"no engine":       {mode("no engine"), `it is no engine: it begins with "hello, world"`},
		"another version": {mode("another version"), "it speaks version 2 of the protocol of engines, and this program version 1"},
		"ends at once":    {mode("ends at once"), "exit status 3: there is no memory"},
		"refuses":         {func(c *Config) { mode("refuses")(c); c.Settings = []byte("wrong") }, "settings: wrong for test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, test.change)
			object := named("owner")
			object.SetLabels(map[string]string{policy.DisabledLabel: ""})
			p := e.Compile(object, nil)
			if !policy.Outdated(p) || p.Problem() == nil || !strings.Contains(p.Problem().Error(), test.want) {
				t.Fatalf("outdated %v, problem %v; want %q", policy.Outdated(p), p.Problem(), test.want)
			}
			if p.Identity().String() != "ClusterPolicy/owner" || p.Reported() || len(p.Targets()) > 0 {
				t.Errorf("%+v", describe(p))
			}
			for what, err := range map[string]error{"Ready": e.Ready(), "Away": policy.Away(p)} {
				var away *policy.AwayError
				if !errors.As(err, &away) || away.Engine != "test" {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got := evaluate1(t.Context(), p, pod("a", "")); !strings.HasPrefix(got, "error: the engine test is away") {
				t.Errorf("an evaluation: %s", got)
			}
		})
	}
}

// TestSize: large objects travel; what is too large is an error of the evaluation, and nothing else ends.
func TestSize(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	p := compile(t, e, named("owner"))
	for size, want := range map[int]string{8 << 20: fmt.Sprint("pass: ", 8<<20), maxObject: "error: the object has 64 MiB"} {
		subject := pod("a", "")
		subject.Object.SetAnnotations(map[string]string{"do": "size", "large": strings.Repeat("x", size)})
		if got := evaluate1(t.Context(), p, subject); !strings.HasPrefix(got, want) {
			t.Errorf("%d bytes: %.80s", size, got)
		}
	}
}

// entries answers queries, and counts.
type entries struct {
	numbers []any
	asked   atomic.Int32
	ended   chan struct{}
}

func (e *entries) Query(ctx context.Context, query policy.Query) (any, error) {
	e.asked.Add(1)
	switch query.Entry.Name {
	case "numbers":
		return e.numbers, nil
	case "text":
		return "x", nil
	case "nothing":
		return nil, nil
	case "slow":
		<-ctx.Done()
		e.ended <- struct{}{}
		return nil, ctx.Err()
	}
	return nil, errors.New("there is no entry " + query.Entry.Name)
}

// TestQuery: the process asks for cached data; a large result that has not changed travels once.
func TestQuery(t *testing.T) {
	t.Parallel()
	data := &entries{numbers: []any{1.0, "a", nil, map[string]any{"b": true}}, ended: make(chan struct{}, 100)}
	e := newEngine(t, func(c *Config) { c.Entries = data })
	p := compile(t, e, named("owner"))
	ask := func(name, want string) {
		t.Helper()
		if got := evaluate1(t.Context(), p, pod("a", "ask "+name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s, err := e.there()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ask("numbers", "pass: []interface {} [1 a <nil> map[b:true]]")
		if s.answers.last != 1 {
			t.Errorf("the same result has the tag %d", s.answers.last)
		}
	}
	data.numbers = []any{2.0}
	ask("numbers", "pass: []interface {} [2]")
	ask("text", "pass: string x")
	ask("nothing", "pass: <nil> <nil>")
	ask("other", "error: there is no entry other")
	if n := data.asked.Load(); n != 7 {
		t.Errorf("%d queries", n)
	}
	// On a busy machine, the time may be over before the query is there.
	for limit := 100 * time.Millisecond; data.asked.Load() == 7; limit *= 2 {
		limited, cancel := context.WithTimeout(t.Context(), limit)
		if got := evaluate1(limited, p, pod("a", "ask slow")); !strings.Contains(got, context.DeadlineExceeded.Error()) {
			t.Errorf("a slow query: %s", got)
		}
		cancel()
	}
	<-data.ended
}

// TestBatch: a slow policy does not hold up the others of its batch, and the end of a context ends evaluations.
func TestBatch(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	policies := []policy.Policy{compile(t, e, named("p0")), compile(t, e, named("slow")), compile(t, e, named("p2")), trouble{}.Compile(named("here"), nil)}
	file := filepath.Join(t.TempDir(), "touched")
	subject := pod("a", "touch "+file+" for slow")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	batch, end := policy.Batch(ctx, policies, subject, patience)
	defer end()
	for _, i := range []int{0, 2, 3} {
		if got := evaluate1(batch, policies[i], subject); got != "pass: it is me" {
			t.Errorf("policy %d: %s", i, got)
		}
	}
	testkit.Eventually(t, "the slow policy is evaluated", func() bool { _, err := os.Stat(file); return err == nil })
	cancel()
	if got := evaluate1(batch, policies[1], subject); !strings.Contains(got, context.Canceled.Error()) {
		t.Errorf("the slow policy: %s", got)
	}
	testkit.Eventually(t, "the process ends the evaluation", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
	// Another subject, or a batch that has ended, takes nothing from the batch.
	if got := evaluate1(context.WithoutCancel(batch), policies[0], pod("b", "panic")); !strings.Contains(got, "the evaluation has panicked: trouble") {
		t.Errorf("another subject: %s", got)
	}
}

// TestBatchEnds: what nobody waits for is not evaluated any more.
func TestBatchEnds(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	p := compile(t, e, named("p"))
	file := filepath.Join(t.TempDir(), "touched")
	subject := pod("a", "touch "+file)
	_, end := policy.Batch(t.Context(), []policy.Policy{p}, subject, 0)
	testkit.Eventually(t, "the policy is evaluated", func() bool { _, err := os.Stat(file); return err == nil })
	end()
	testkit.Eventually(t, "the process ends the evaluation", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
}

// TestLimit: the limit of a batch holds in the process, too.
func TestLimit(t *testing.T) {
	t.Parallel()
	p := compile(t, newEngine(t, nil), named("p"))
	subject := pod("a", "wait")
	batch, end := policy.Batch(t.Context(), []policy.Policy{p}, subject, 1)
	defer end()
	if got := evaluate1(batch, p, subject); got != "error: context deadline exceeded" {
		t.Error(got)
	}
}

// TestForgets: the process is to be told of a policy that nobody has any more.
func TestForgets(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(c *Config) { c.pingInterval = time.Hour }) // A ping takes the list.
	compile(t, e, named("p"))
	testkit.Eventually(t, "the policy is released", func() bool {
		runtime.GC()
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.released) > 0
	})
}

// TestServeEndsWithItsParent even if something is evaluated.
func TestServeEndsWithItsParent(t *testing.T) {
	t.Parallel()
	in, write := io.Pipe()
	var out closingBuffer
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), in, &out, Host{NewCompiler: func(string, []byte, policy.Entries) (policy.Compiler, string, error) { return trouble{}, "", nil }})
	}()
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(out.String(), hello(protocolVersion)) {
		t.Errorf("%q", out.String())
	}
}

type closingBuffer struct{ bytes.Buffer }

func (*closingBuffer) Close() error { return nil }
