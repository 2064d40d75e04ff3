// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// evaluating is a policy of which only Evaluate may be called.
type evaluating struct {
	policy.Policy

	evaluate func(context.Context) ([]policy.Result, error)
}

func (e evaluating) Evaluate(ctx context.Context, _ policy.Subject) ([]policy.Result, error) {
	return e.evaluate(ctx)
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	passes := []policy.Result{{Outcome: report.OutcomePass}}
	wait := func(ctx context.Context) ([]policy.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, test := range map[string]struct {
		ctx                context.Context //nolint:containedctx // A case of a table.
		limit              time.Duration
		evaluate           func(context.Context) ([]policy.Result, error)
		outcome            report.Outcome
		timedOut, canceled bool
	}{
		"a result":        {t.Context(), 0, func(context.Context) ([]policy.Result, error) { return passes, nil }, report.OutcomePass, false, false},
		"an error":        {t.Context(), time.Hour, func(context.Context) ([]policy.Result, error) { return nil, errors.New("x") }, report.OutcomeError, false, false},
		"too slow":        {t.Context(), time.Nanosecond, wait, report.OutcomeError, true, false},
		"canceled before": {canceled, time.Hour, wait, "", false, true},
	} {
		got := policy.Evaluate(test.ctx, evaluating{evaluate: test.evaluate}, policy.Subject{}, test.limit, clock.RealClock{})
		var outcome report.Outcome
		if len(got.Results) == 1 {
			outcome = got.Results[0].Outcome
		}
		if outcome != test.outcome || got.TimedOut != test.timedOut || got.Canceled != test.canceled || (got.Err != nil) != (outcome == report.OutcomeError) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// known is a [policy.Namespaces] with one namespace.
type known struct{}

func (known) Labels(name string) map[string]string { return map[string]string{"labels of": name} }

func (known) Object(name string) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func TestNewSubject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		namespace, plural string
		withNamespace     bool
		labels            map[string]string
		object            string
	}{
		"namespaced":               {"shop", "pods", false, map[string]string{"labels of": "shop"}, ""},
		"namespaced, all of it":    {"shop", "pods", true, map[string]string{"labels of": "shop"}, "shop"},
		"a namespace":              {"", "namespaces", true, map[string]string{"own": "yes", "kubernetes.io/metadata.name": "n"}, ""},
		"cluster-scoped otherwise": {"", "nodes", true, nil, ""},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetNamespace(test.namespace)
		object.SetName("n")
		object.SetLabels(map[string]string{"own": "yes"})
		subject := testkit.Must(policy.NewSubject(object, schema.GroupVersionResource{Version: "v1", Resource: test.plural}, known{}, test.withNamespace))(t)
		testkit.NoDiff(t, cmp.Diff(test.labels, subject.NamespaceLabels), "%s: labels (-want +got)", name)
		got := ""
		if subject.NamespaceObject != nil {
			got = subject.NamespaceObject.Name
		}
		if got != test.object {
			t.Errorf("%s: the namespace is %q", name, got)
		}
	}
}
