// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestOutcomes(t *testing.T) {
	get := func(p *runner.Probe) *runner.Response {
		return p.Send(runner.Get(p.Collection()))
	}
	report := testkit.Must(run(t.Context(), good(t),
		makes("passes", nil),
		makes("fails", func(p *runner.Probe) {
			get(p).WantStatus(metav1.StatusReasonGone, http.StatusGone)
		}),
		makes("leaves", func(*runner.Probe) { runner.Leave("nothing to see") }),
		makes("undecided", func(*runner.Probe) { runner.Stop(errTest) }),
		makes("setup", func(p *runner.Probe) {
			p.Read("missing")
		}),
		runner.Check{ID: "without verb", PerResource: true, Verbs: []string{"impersonate"}},
		runner.Check{ID: "does not apply", PerResource: true, Applies: func(*runner.Resource) string { return "no reason" }},
	))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{
		"passes": runner.Passed, "fails": runner.Failed, "leaves": runner.Skipped, "undecided": runner.Undecided,
		"setup": runner.Undecided, "without verb": runner.Skipped, "does not apply": runner.Skipped,
	})
	failure := report.Results[1].Failure
	wantText(t, failure.Expected, "410 Gone with a Status whose reason is Gone")
	wantText(t, failure.Exchange.String(), "GET /apis/wgpolicyk8s.io/v1alpha2/namespaces/docket-conformance-", "/policyreports → 200 ", `"kind":"PolicyReportList"`)
	wantText(t, report.Results[4].Reason, "read the object")
	wantText(t, report.Results[4].Exchange.String(), "404", "NotFound")
	wantText(t, report.Results[5].Reason, "no verb impersonate")
	if !report.Troubled() || len(report.Left) > 0 || len(report.Troubles) > 0 {
		t.Errorf("troubles: %v, left: %q", report.Troubles, report.Left)
	}
	wantNothingLeft(t)
}

func TestSkipAndOnly(t *testing.T) {
	checks := []runner.Check{makes("one", nil), makes("two", nil), makes("three", nil)}
	for _, test := range []struct {
		name       string
		skip, only []string
		want       map[string]runner.Outcome
	}{
		{"skip", []string{"two"}, nil, map[string]runner.Outcome{"one": runner.Passed, "two": runner.Skipped, "three": runner.Passed}},
		{"only", nil, []string{"two"}, map[string]runner.Outcome{"one": runner.Skipped, "two": runner.Passed, "three": runner.Skipped}},
		{"both", []string{"two"}, []string{"two", "one"}, map[string]runner.Outcome{"one": runner.Passed, "two": runner.Skipped, "three": runner.Skipped}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := testkit.Must(runner.Run(t.Context(), runner.Options{
				Config: good(t), GroupVersion: reports, Resources: []string{"policyreports"}, Checks: checks, Skip: test.skip, Only: test.only,
			}))(t)
			wantOutcomes(t, report, test.want)
			if report.Troubled() {
				t.Errorf("troubles: %v, left: %q", report.Troubles, report.Left)
			}
		})
	}
	_, err := runner.Run(t.Context(), runner.Options{Config: good(t), GroupVersion: reports, Checks: checks, Skip: []string{"four"}})
	wantText(t, err.Error(), `there is no check "four"`)
}

// TestNamesDiffer: no two checks of a run use one name, however many there are.
func TestNamesDiffer(t *testing.T) {
	const many = 20_000
	var mu sync.Mutex
	names := map[string]struct{}{}
	check := runner.Check{PerResource: true, Run: func(p *runner.Probe) {
		mu.Lock()
		defer mu.Unlock()
		names[p.Name()] = struct{}{}
	}}
	checks := make([]runner.Check, many)
	for i := range checks {
		checks[i] = check
		checks[i].ID = strconv.Itoa(i)
	}
	testkit.Must(run(t.Context(), good(t), checks...))(t)
	if len(names) != many {
		t.Errorf("%d checks have %d names", many, len(names))
	}
}

// TestIsolated: isolated checks find an empty namespace one after the other, whatever they leave.
func TestIsolated(t *testing.T) {
	var running atomic.Int32
	isolated := func(id string) runner.Check {
		check := makes(id, func(p *runner.Probe) {
			if running.Add(1) > 1 {
				runner.Stop(errTest)
			}
			defer running.Add(-1)
			p.Create(withFinalizer(p.New()))
			response := p.Send(runner.Get(p.Collection()))
			if items, _ := response.JSON()["items"].([]any); len(items) != 2 {
				response.Fail("two objects")
			}
		})
		check.Isolated = true
		return check
	}
	report := testkit.Must(run(t.Context(), good(t), isolated("one"), isolated("two"), isolated("three"), makes("four", nil)))(t)
	passed := runner.Passed
	wantOutcomes(t, report, map[string]runner.Outcome{"one": passed, "two": passed, "three": passed, "four": passed})
	wantNothingLeft(t)
}

func withFinalizer(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetFinalizers([]string{runner.Finalizer})
	return object
}

// TestWithoutNamespace: objects without a namespace are made when they are asked for by name, and
// never where more than they could be deleted.
func TestWithoutNamespace(t *testing.T) {
	isolated := makes("isolated", nil)
	isolated.Isolated = true
	for resources, want := range map[string]runner.Outcome{"": runner.Skipped, "clusterpolicyreports": runner.Passed} {
		options := runner.Options{Config: good(t), GroupVersion: reports, Checks: []runner.Check{makes("makes", func(p *runner.Probe) {
			p.Create(withFinalizer(p.New()))
		}), isolated}}
		if resources != "" {
			options.Resources, options.Namespace = []string{resources}, "default" // Which does not matter to them.
		}
		report := testkit.Must(runner.Run(t.Context(), options))(t)
		for i := range report.Results {
			switch result := &report.Results[i]; {
			case result.Resource != "clusterpolicyreports":
			case result.Check.ID == "isolated" && result.Outcome != runner.Skipped, result.Check.ID == "makes" && result.Outcome != want:
				t.Errorf("%q: %s is %s: %s", resources, result.Check.ID, result.Outcome, result.Reason)
			}
		}
		if report.Troubled() {
			t.Errorf("troubles: %v, left: %q", report.Troubles, report.Left)
		}
	}
	wantNothingLeft(t)
}

// TestGivenNamespace: who names a namespace keeps it, and what is in it.
func TestGivenNamespace(t *testing.T) {
	client, err := dynamic.NewForConfig(good(t))
	if err != nil {
		t.Fatal(err)
	}
	create := func(resource schema.GroupVersionResource, namespace string, object map[string]any) {
		t.Helper()
		var err error
		if namespace == "" {
			_, err = client.Resource(resource).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		} else {
			_, err = client.Resource(resource).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	create(core.WithResource("namespaces"), "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "given"}})
	create(reports.WithResource("policyreports"), "given", map[string]any{"apiVersion": reports.String(), "kind": "PolicyReport", "metadata": map[string]any{"name": "mine"}})
	isolated := makes("isolated", nil)
	isolated.Isolated = true
	report := testkit.Must(runner.Run(t.Context(), runner.Options{
		Config: good(t), GroupVersion: reports, Resources: []string{"policyreports"}, Namespace: "given",
		Checks: []runner.Check{makes("shared", nil), isolated, makes("other", func(p *runner.Probe) {
			p.OtherNamespace()
		})},
	}))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"shared": runner.Passed, "isolated": runner.Skipped, "other": runner.Skipped})
	wantText(t, report.Results[1].Reason, "namespace of its own", "--namespace")
	list := testkit.Must(client.Resource(reports.WithResource("policyreports")).Namespace("given").List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || list.Items[0].GetName() != "mine" {
		t.Errorf("the namespace has %d objects after the run", len(list.Items))
	}
	wantNothingLeft(t)
}

// TestInterrupted: what was made is removed when somebody ends the run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	report := testkit.Must(run(ctx, good(t), makes("ends", func(p *runner.Probe) {
		p.Create(withFinalizer(p.New()))
		cancel()
		runner.Stop(p.Pause(p.Context, time.Minute))
	}), makes("before or after", nil)))(t)
	if !report.Interrupted || !report.Troubled() || len(report.Left) > 0 {
		t.Errorf("interrupted: %v, left: %q", report.Interrupted, report.Left)
	}
	if result := report.Results[0]; result.Outcome != runner.Undecided || result.Reason != "interrupted" {
		t.Errorf("the check is %s: %s", result.Outcome, result.Reason)
	}
	wantNothingLeft(t)
}

// TestInterruptedWhileMaking: what the server makes after the run was ended is removed as well.
func TestInterruptedWhileMaking(t *testing.T) {
	for name, path := range map[string]string{
		"a namespace": "/api/v1/namespaces", "an object": "/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			made := make(chan struct{})
			config := bad(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && r.URL.Path == path {
						defer close(made)
						body, err := io.ReadAll(r.Body)
						if err != nil {
							t.Error(err)
						}
						r.Body = io.NopCloser(bytes.NewReader(body))
						cancel()
						<-time.After(300 * time.Millisecond) // The time in which a run that does not wait would clean up.
						r = r.WithContext(context.WithoutCancel(r.Context()))
					}
					next.ServeHTTP(w, r)
				})
			})
			report, err := runner.Run(ctx, runner.Options{
				Config: config, GroupVersion: reports, Resources: []string{"clusterpolicyreports"}, UserAgent: "docket-test",
				Checks: []runner.Check{makes("ends", nil)},
			})
			<-made
			if err == nil && (!report.Interrupted || len(report.Left) > 0) {
				t.Errorf("interrupted: %v, left: %q", report.Interrupted, report.Left)
			}
			wantNothingLeft(t)
		})
	}
}

// TestTry: only what ends a check is an error; a mistake in one is not taken for a server's.
func TestTry(t *testing.T) {
	if err := runner.Try(func() {}); err != nil {
		t.Error(err)
	}
	if err := runner.Try(func() { runner.Stop(errTest) }); !errors.Is(err, errTest) {
		t.Errorf("got %v, want %v", err, errTest)
	}
	defer func() {
		if got := recover(); got != "a mistake" {
			t.Errorf("recovered %v", got)
		}
	}()
	err := runner.Try(func() { panic("a mistake") })
	t.Errorf("the mistake is swallowed: %v", err)
}
