// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance/conformancetest"
	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// server is the good one of all tests.
var server uptest.Server // Shared by the tests of the package.

func TestMain(m *testing.M) { os.Exit(uptest.Run(m, &server)) }

var (
	reports = schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"}
	core    = schema.GroupVersion{Version: "v1"}
)

func good(t *testing.T) *rest.Config {
	t.Helper()
	return testkit.Must(server.Config(nil))(t)
}

// bad returns the way to the good server through a handler.
func bad(t *testing.T, breakage func(next http.Handler) http.Handler) *rest.Config {
	t.Helper()
	proxy := testkit.Must(conformancetest.NewProxy(good(t), breakage))(t)
	t.Cleanup(proxy.Close)
	return proxy.Config
}

// makes is a check that makes an object, and then does more.
func makes(id string, more func(*runner.Probe)) runner.Check {
	return runner.Check{
		ID: id, Rule: "Objects can be made.", PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			p.Make()
			if more != nil {
				more(p)
			}
		},
	}
}

// run runs checks on policyreports.
func run(ctx context.Context, config *rest.Config, checks ...runner.Check) (*runner.Report, error) {
	return runner.Run(ctx, runner.Options{Config: config, GroupVersion: reports, Resources: []string{"policyreports"}, Checks: checks, UserAgent: "docket-test"})
}

// wantNothingLeft looks for what the runs of the package have made.
func wantNothingLeft(t *testing.T) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(good(t)))(t)
	for _, resource := range []schema.GroupVersionResource{core.WithResource("namespaces"), reports.WithResource("policyreports"), reports.WithResource("clusterpolicyreports")} {
		list := testkit.Must(client.Resource(resource).List(context.WithoutCancel(t.Context()), metav1.ListOptions{LabelSelector: runner.RunLabel}))(t)
		for _, item := range list.Items {
			t.Errorf("%s %s/%s is left", resource.Resource, item.GetNamespace(), item.GetName())
		}
	}
}

func wantOutcomes(t *testing.T, report *runner.Report, want map[string]runner.Outcome) {
	t.Helper()
	for i := range report.Results {
		result := &report.Results[i]
		if result.Outcome != want[result.Check.ID] {
			t.Errorf("%s is %s, want %s: %s %v %v", result.Check.ID, result.Outcome, want[result.Check.ID], result.Reason, result.Failure, result.Exchange)
		}
	}
	if len(report.Results) != len(want) {
		t.Errorf("%d results, want %d", len(report.Results), len(want))
	}
}

func wantText(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

var errTest = errors.New("of this test")
