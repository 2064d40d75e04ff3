// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance/checks"
	"github.com/docket-project/docket/conformance/object"
	"github.com/docket-project/docket/conformance/runner"
)

// Options say what to check. Config and GroupVersion are required.
type Options struct {
	// Config is the way to the server.
	Config *rest.Config
	// GroupVersion is the one to check, such as apps/v1, or v1 for the core group.
	GroupVersion string
	// Resources are those to check, such as deployments; none means all of the group version.
	// Objects without a namespace are made only of resources that are named here.
	Resources []string
	// Samples is YAML or JSON of objects that the server accepts, for kinds whose schema does not
	// say all that the server wants.
	Samples []byte
	// Skip has identifiers of checks.
	Skip []string
	// Namespace is one that exists, for users who may not create namespaces.
	Namespace string
	// Timeout is the time that each check has; 0 means 45 s.
	Timeout time.Duration
}

// Run runs the checks and reports each as a subtest, named by its identifier and the resource. A
// subtest is skipped if its check does not apply or needs rights that are missing, and fails if the
// server breaks the rule or if that could not be found out. What the checks have made is removed.
func Run(t *testing.T, options Options) {
	t.Helper()
	version, err := schema.ParseGroupVersion(options.GroupVersion)
	if err != nil {
		t.Fatalf("conformance: GroupVersion: %v", err)
	}
	var samples []*unstructured.Unstructured
	if len(options.Samples) > 0 {
		if samples, err = object.ReadSamples(options.Samples); err != nil {
			t.Fatalf("conformance: Samples: %v", err)
		}
	}
	report, err := runner.Run(t.Context(), runner.Options{
		Config: options.Config, GroupVersion: version, Resources: options.Resources, Samples: samples,
		Checks: checks.All(), Skip: options.Skip, Namespace: options.Namespace, Timeout: options.Timeout,
		UserAgent: "docket-conformance",
	})
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	for i := range report.Results {
		tell(t, &report.Results[i])
	}
	for _, trouble := range report.Troubles {
		t.Errorf("%s: %s%s", trouble.Resource, trouble.Reason, text(trouble.Exchange))
	}
	for _, left := range report.Left {
		t.Errorf("not removed; run `kubectl delete %s`", left)
	}
}

// tell reports a result as a subtest.
func tell(t *testing.T, result *runner.Result) {
	t.Helper()
	name := result.Check.ID
	if result.Resource != "" {
		name += "/" + result.Resource
	}
	t.Run(name, func(t *testing.T) {
		switch result.Outcome {
		case runner.Passed:
		case runner.Skipped:
			t.Skip(result.Reason)
		case runner.Failed:
			t.Errorf("%s\nsee %s\nexpected: %s\n%s%s", result.Check.Rule, result.Check.Reference, result.Failure.Expected, result.Failure.Found, text(result.Failure.Exchange))
		default:
			t.Errorf("undecided: %s%s", result.Reason, text(result.Exchange))
		}
	})
}

// text returns the request and the answer.
func text(exchange *runner.Exchange) string {
	if exchange == nil {
		return ""
	}
	data, err := json.MarshalIndent(exchange, "", "  ")
	if err != nil {
		return "\n" + err.Error()
	}
	return "\n" + string(data)
}
