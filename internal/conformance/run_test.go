// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"bytes"
	"context"
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

	"github.com/docket-project/docket/internal/conformance"
)

func TestOutcomes(t *testing.T) {
	get := func(ctx context.Context, p *conformance.Probe) (*conformance.Response, error) {
		return p.Send(ctx, conformance.Get(p.Collection()))
	}
	report, err := run(t.Context(), good(t),
		makes("passes", nil),
		makes("fails", func(ctx context.Context, p *conformance.Probe) error {
			response, err := get(ctx, p)
			if err != nil {
				return err
			}
			return response.WantStatus(metav1.StatusReasonGone, http.StatusGone)
		}),
		makes("leaves", func(context.Context, *conformance.Probe) error { return conformance.Leave("nothing to see") }),
		makes("undecided", func(context.Context, *conformance.Probe) error { return errTest }),
		makes("setup", func(ctx context.Context, p *conformance.Probe) error {
			_, err := p.Read(ctx, "missing")
			return err
		}),
		conformance.Check{ID: "without verb", PerResource: true, Verbs: []string{"impersonate"}},
		conformance.Check{ID: "does not apply", PerResource: true, Applies: func(*conformance.Resource) string { return "no reason" }},
	)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, report, map[string]conformance.Outcome{
		"passes": conformance.Passed, "fails": conformance.Failed, "leaves": conformance.Skipped, "undecided": conformance.Undecided,
		"setup": conformance.Undecided, "without verb": conformance.Skipped, "does not apply": conformance.Skipped,
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
	checks := []conformance.Check{makes("one", nil), makes("two", nil), makes("three", nil)}
	for _, test := range []struct {
		name       string
		skip, only []string
		want       map[string]conformance.Outcome
	}{
		{"skip", []string{"two"}, nil, map[string]conformance.Outcome{"one": conformance.Passed, "two": conformance.Skipped, "three": conformance.Passed}},
		{"only", nil, []string{"two"}, map[string]conformance.Outcome{"one": conformance.Skipped, "two": conformance.Passed, "three": conformance.Skipped}},
		{"both", []string{"two"}, []string{"two", "one"}, map[string]conformance.Outcome{"one": conformance.Passed, "two": conformance.Skipped, "three": conformance.Skipped}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := conformance.Run(t.Context(), conformance.Options{
				Config: good(t), GroupVersion: reports, Resources: []string{"policyreports"}, Checks: checks, Skip: test.skip, Only: test.only,
			})
			if err != nil {
				t.Fatal(err)
			}
			wantOutcomes(t, report, test.want)
			if report.Troubled() {
				t.Errorf("troubles: %v, left: %q", report.Troubles, report.Left)
			}
		})
	}
	_, err := conformance.Run(t.Context(), conformance.Options{Config: good(t), GroupVersion: reports, Checks: checks, Skip: []string{"four"}})
	wantText(t, err.Error(), `there is no check "four"`)
}

// TestNamesDiffer: no two checks of a run use one name, however many there are.
func TestNamesDiffer(t *testing.T) {
	const many = 20_000
	var mu sync.Mutex
	names := map[string]struct{}{}
	check := conformance.Check{PerResource: true, Run: func(_ context.Context, p *conformance.Probe) error {
		mu.Lock()
		defer mu.Unlock()
		names[p.Name()] = struct{}{}
		return nil
	}}
	checks := make([]conformance.Check, many)
	for i := range checks {
		checks[i] = check
		checks[i].ID = strconv.Itoa(i)
	}
	if _, err := run(t.Context(), good(t), checks...); err != nil {
		t.Fatal(err)
	}
	if len(names) != many {
		t.Errorf("%d checks have %d names", many, len(names))
	}
}

// TestIsolated: isolated checks find an empty namespace one after the other, whatever they leave.
func TestIsolated(t *testing.T) {
	var running atomic.Int32
	isolated := func(id string) conformance.Check {
		check := makes(id, func(ctx context.Context, p *conformance.Probe) error {
			if running.Add(1) > 1 {
				return errTest
			}
			defer running.Add(-1)
			if _, err := p.Create(ctx, withFinalizer(p.New())); err != nil {
				return err
			}
			response, err := p.Send(ctx, conformance.Get(p.Collection()))
			if err != nil {
				return err
			}
			list, err := response.List()
			if err == nil && len(list.Items) != 2 {
				return response.Fail("two objects")
			}
			return err
		})
		check.Isolated = true
		return check
	}
	report, err := run(t.Context(), good(t), isolated("one"), isolated("two"), isolated("three"), makes("four", nil))
	if err != nil {
		t.Fatal(err)
	}
	passed := conformance.Passed
	wantOutcomes(t, report, map[string]conformance.Outcome{"one": passed, "two": passed, "three": passed, "four": passed})
	wantNothingLeft(t)
}

func withFinalizer(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetFinalizers([]string{conformance.Finalizer})
	return object
}

// TestWithoutNamespace: objects without a namespace are made when they are asked for by name, and
// never where more than they could be deleted.
func TestWithoutNamespace(t *testing.T) {
	isolated := makes("isolated", nil)
	isolated.Isolated = true
	for resources, want := range map[string]conformance.Outcome{"": conformance.Skipped, "clusterpolicyreports": conformance.Passed} {
		options := conformance.Options{Config: good(t), GroupVersion: reports, Checks: []conformance.Check{makes("makes", func(ctx context.Context, p *conformance.Probe) error {
			_, err := p.Create(ctx, withFinalizer(p.New()))
			return err
		}), isolated}}
		if resources != "" {
			options.Resources, options.Namespace = []string{resources}, "default" // Which does not matter to them.
		}
		report, err := conformance.Run(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range report.Results {
			switch result := &report.Results[i]; {
			case result.Resource != "clusterpolicyreports":
			case result.Check.ID == "isolated" && result.Outcome != conformance.Skipped, result.Check.ID == "makes" && result.Outcome != want:
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
	report, err := conformance.Run(t.Context(), conformance.Options{
		Config: good(t), GroupVersion: reports, Resources: []string{"policyreports"}, Namespace: "given",
		Checks: []conformance.Check{makes("shared", nil), isolated, makes("other", func(ctx context.Context, p *conformance.Probe) error {
			_, err := p.OtherNamespace(ctx)
			return err
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, report, map[string]conformance.Outcome{"shared": conformance.Passed, "isolated": conformance.Skipped, "other": conformance.Skipped})
	wantText(t, report.Results[1].Reason, "namespace of its own", "--namespace")
	list, err := client.Resource(reports.WithResource("policyreports")).Namespace("given").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].GetName() != "mine" {
		t.Errorf("the namespace has %d objects after the run", len(list.Items))
	}
	wantNothingLeft(t)
}

// TestInterrupted: what was made is removed when somebody ends the run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	report, err := run(ctx, good(t), makes("ends", func(ctx context.Context, p *conformance.Probe) error {
		if _, err := p.Create(ctx, withFinalizer(p.New())); err != nil {
			return err
		}
		cancel()
		return p.Pause(ctx, time.Minute)
	}), makes("before or after", nil))
	if err != nil {
		t.Fatal(err)
	}
	if !report.Interrupted || !report.Troubled() || len(report.Left) > 0 {
		t.Errorf("interrupted: %v, left: %q", report.Interrupted, report.Left)
	}
	if result := report.Results[0]; result.Outcome != conformance.Undecided || result.Reason != "interrupted" {
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
			report, err := conformance.Run(ctx, conformance.Options{
				Config: config, GroupVersion: reports, Resources: []string{"clusterpolicyreports"}, UserAgent: "docket-test",
				Checks: []conformance.Check{makes("ends", nil)},
			})
			<-made
			if err == nil && (!report.Interrupted || len(report.Left) > 0) {
				t.Errorf("interrupted: %v, left: %q", report.Interrupted, report.Left)
			}
			wantNothingLeft(t)
		})
	}
}
