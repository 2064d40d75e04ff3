// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kyverno/kyverno/pkg/openreports"
	reportutils "github.com/kyverno/kyverno/pkg/utils/report"
	openreportsv1alpha1 "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// kyvernoReport is a report of Kyverno's reports controller, in the layout with one for each resource, or, without
// a scope, in the earlier one with one for each policy.
func kyvernoReport(t *testing.T, name string, scope *corev1.ObjectReference, results ...openreportsv1alpha1.ReportResult) *unstructured.Unstructured {
	t.Helper()
	built := reportutils.NewPolicyReport("shop", name, scope, false, results...)
	content := testkit.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(built.(*openreports.WgpolicyReportAdapter).PolicyReport))(t)
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion("wgpolicyk8s.io/v1alpha2")
	o.SetKind("PolicyReport")
	o.SetUID(types.UID("report-" + name))
	return o
}

// TestReplace: reports of both layouts are handed on and deleted, but not before all is ready and written; those
// of others stay.
func TestReplace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testReplace)
}

func testReplace(t *testing.T) {
	result := func(rule string, subjects ...corev1.ObjectReference) openreportsv1alpha1.ReportResult {
		return openreportsv1alpha1.ReportResult{Source: "kyverno", Policy: "c", Rule: rule, Result: "fail", Scored: true, Subjects: subjects, Timestamp: metav1.Timestamp{Seconds: 7}}
	}
	web := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u1"}
	db := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "elsewhere", Name: "db", UID: "u2"}
	other := kyvernoReport(t, "other", nil)
	other.SetLabels(map[string]string{managedByLabel: "trivy"})
	kinds := map[schema.GroupVersionResource]string{}
	for _, resource := range replaceable() {
		kinds[resource] = resource.Resource + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		kyvernoReport(t, "u1", &web, result("a"), result("b")), kyvernoReport(t, "cpol-c", nil, result("a", web, db)), other)
	to, clock := &sink{atOnce: true}, testingclock.NewFakeClock(time.Now())
	var ready, written atomic.Bool
	i := NewInbox(InboxConfig{Client: client, Sink: to.take, Clock: clock, Replace: true, Flushed: func(context.Context) error {
		if !written.Load() {
			return errors.New("not written")
		}
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- i.RunAfter(ctx, func() error {
			if !ready.Load() {
				return errors.New("not ready")
			}
			return nil
		})
	}()
	names := func() []string {
		list := testkit.Must(client.Resource(replaceable()[1]).List(t.Context(), metav1.ListOptions{}))(t)
		found := make([]string, 0, len(list.Items))
		for k := range list.Items {
			found = append(found, list.Items[k].GetName())
		}
		slices.Sort(found)
		return found
	}
	synctest.Wait()
	if to.taken() != 0 {
		t.Error("it begins before all is ready")
	}
	ready.Store(true)
	testkit.Eventually(t, "all is handed on", func() bool {
		clock.Step(waitTick)
		return to.taken() == 3
	})
	clock.Step(tick)
	synctest.Wait()
	if got := names(); len(got) != 3 {
		t.Errorf("before all is written there are %q", got)
	}
	written.Store(true)
	testkit.Eventually(t, "they are deleted", func() bool {
		clock.Step(tick)
		return slices.Equal(names(), []string{"other"})
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	got := make([]string, 0, len(to.items))
	for _, item := range to.items {
		line := fmt.Sprintf("%s %s %s/%s %s %d", item.Policy, item.Resource.GroupVersion(), item.Subject.Kind, item.Subject.Namespace, item.Subject.UID, item.Time.Unix())
		for _, r := range item.Results {
			line += fmt.Sprintf(" %s=%s", r.Rule, r.Outcome)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if want := []string{
		"ClusterPolicy/c apps/v1 Deployment/shop u1 7 a=fail", "ClusterPolicy/c apps/v1 Deployment/shop u1 7 a=fail b=fail", "ClusterPolicy/c v1 Pod/shop u2 7 a=fail",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}
