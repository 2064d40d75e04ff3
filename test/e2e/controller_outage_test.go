// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	// outage is how long kube-apiserver is away: longer than requests, watches and connections may take to be given up.
	outage         = time.Minute
	outageSubjects = 3000
	outagePolicies = 10
)

// TestControllerClusterAway: kube-apiserver is away in mid-scan. Afterwards the reports equal the reports of an
// undisturbed scan.
func TestControllerClusterAway(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for _, how := range []struct {
		name        string
		after       float64 // evaluations: of the first ConfigMaps, while others are being listed, or of a third
		leave, back func(*harness.Cluster, testing.TB)
	}{
		{"killed", 1, (*harness.Cluster).KillAPIServer, (*harness.Cluster).StartAPIServer},
		{"silent", outageSubjects * outagePolicies / 3, (*harness.Cluster).SuspendAPIServer, (*harness.Cluster).ResumeAPIServer},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			c := startControlledEverywhere(t)
			c.fillForOutage(t)
			c.controller.Launch(t)
			// The scan takes a few seconds.
			waitSettled(t, 10*time.Millisecond, func() string {
				if n := c.soFar(t, "docket_controller_evaluations_total"); n < how.after {
					return fmt.Sprintf("the scan begins: %v evaluations", n)
				}
				return ""
			})
			how.leave(c.cluster, t)
			begun := time.Now()
			evaluated, written := c.evaluations(t), c.soFar(t, "docket_controller_report_writes_total")
			if evaluated >= outageSubjects*outagePolicies {
				t.Fatal("the scan was complete before kube-apiserver was away")
			}
			time.Sleep(time.Until(begun.Add(outage))) //nolint:forbidigo // The outage lasts that long.
			if !c.controller.Alive() {
				t.Fatal("the controller has ended")
			}
			how.back(c.cluster, t)
			begun = time.Now()
			changeAfterOutage(t, c)
			want := expectedAfterOutage()
			var after map[string]string
			defer func() {
				if t.Failed() {
					wantSameResults(t, "after the outage", outcomesOf(after), want)
				}
			}()
			waitUntil(t, "the reports are complete", func() bool {
				if !c.quiet(t) {
					return false
				}
				after = c.everyResult(t)
				return maps.Equal(outcomesOf(after), want)
			})
			t.Logf("kube-apiserver went after %v evaluations and %v writes; complete %v after it was back", evaluated, written, time.Since(begun).Round(time.Second))
			c.undisturbed(t)
			wantSameResults(t, "after the outage, compared with an undisturbed run", after, c.everyResult(t))
		})
	}
}

func outageNamespace(i int) string { return fmt.Sprintf("away-%d", i%10) }

func outageMap(i int, label string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%04d", i), Namespace: outageNamespace(i), Labels: map[string]string{label: "1"}}}
}

// fillForOutage makes ConfigMaps that have the label a, and policies of which one half wants that, the other half the
// label b.
func (c *controlled) fillForOutage(t *testing.T) {
	t.Helper()
	for i := range 10 {
		c.cluster.EnsureNamespace(t, outageNamespace(i))
	}
	inParallel(t, outageSubjects, func(ctx context.Context, i int) error {
		_, err := c.cluster.Client(t).CoreV1().ConfigMaps(outageNamespace(i)).Create(ctx, outageMap(i, "a"), metav1.CreateOptions{})
		return err
	})
	var policies strings.Builder
	for i := range outagePolicies {
		policies.WriteString(labelPolicy("", fmt.Sprintf("p%d", i), rule{"label", "ConfigMap", string("ab"[i%2])}))
	}
	c.kubectl.RunInput(t, policies.String(), "apply", "-f", "-")
}

// inParallel calls a function for 0 to n-1, some at a time.
func inParallel(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	testkit.NoError(t, group.Wait())
}

// outageChange is what happens to a ConfigMap as soon as kube-apiserver is back. Half of the namespaces are left alone:
// only the earlier findings bring their reports up to date.
func outageChange(i int) string {
	switch {
	case i%10 >= 5 && i >= outageSubjects:
		return "none"
	case i%10 >= 5:
		return ""
	case i >= outageSubjects:
		return "new"
	case i/10%10 == 0:
		return "deleted"
	case i/10%10 == 1:
		return "labelled"
	}
	return ""
}

func changeAfterOutage(t *testing.T, c *controlled) {
	t.Helper()
	maps := c.cluster.Client(t).CoreV1()
	inParallel(t, outageSubjects+100, func(ctx context.Context, i int) error {
		client, name := maps.ConfigMaps(outageNamespace(i)), outageMap(i, "").Name
		var err error
		switch outageChange(i) {
		case "new":
			_, err = client.Create(ctx, outageMap(i, "b"), metav1.CreateOptions{})
		case "deleted":
			err = client.Delete(ctx, name, metav1.DeleteOptions{})
		case "labelled":
			_, err = client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"b":"1"}}}`), metav1.PatchOptions{})
		}
		return err
	})
}

// expectedAfterOutage are the outcomes by namespace, policy and name.
func expectedAfterOutage() map[string]string {
	want := map[string]string{}
	for i := range outageSubjects + 100 {
		labels := map[string]string{"": "a", "new": "b", "labelled": "ab"}[outageChange(i)]
		if labels == "" {
			continue
		}
		for p := range outagePolicies {
			outcome := "fail"
			if strings.Contains(labels, string("ab"[p%2])) {
				outcome = "pass"
			}
			want[fmt.Sprintf("%s p%d %s", outageNamespace(i), p, outageMap(i, "").Name)] = outcome
		}
	}
	return want
}

// everyResult returns all results of the namespaces of the test, without their times, by namespace, policy and name.
// Two about the same are an error.
func (c *controlled) everyResult(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, report := range c.reports(t) {
		if !strings.HasPrefix(report.GetNamespace(), "away-") {
			continue
		}
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		for _, item := range results {
			result, _ := item.(map[string]any)
			delete(result, "timestamp")
			subjects, _, _ := unstructured.NestedSlice(result, "resources")
			subject, _ := subjects[0].(map[string]any)
			if subject["name"] == "kube-root-ca.crt" {
				continue // The control plane's, in each namespace.
			}
			key := fmt.Sprintf("%s %s %s", report.GetNamespace(), result["policy"], subject["name"])
			if _, twice := found[key]; twice {
				t.Errorf("%s is there twice", key)
			}
			found[key] = textOf(t, result)
		}
	}
	return found
}

func outcomesOf(results map[string]string) map[string]string {
	outcomes := map[string]string{}
	for key, text := range results {
		for _, outcome := range []string{"pass", "fail", "error", "skip", "warn"} {
			if strings.Contains(text, `"result":"`+outcome+`"`) {
				outcomes[key] = outcome
			}
		}
	}
	return outcomes
}

// wantSameResults tells of the first few results that are not equal.
func wantSameResults(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	different := changed(want, got)
	for _, key := range different[:min(5, len(different))] {
		t.Logf("%s: got %q, want %q", key, got[key], want[key])
	}
	t.Errorf("%s: %d results differ, %d instead of %d", when, len(different), len(got), len(want))
}

// quiet reports whether the controller has nothing to evaluate and nothing to write.
func (c *controlled) quiet(t *testing.T) bool {
	t.Helper()
	status, _ := c.controller.Probe(t, "/readyz/scan")
	return status == http.StatusOK && c.soFar(t, "docket_controller_scan_queue")+c.soFar(t, "docket_controller_report_pending") == 0
}

// soFar is a metric of a controller that may not answer yet.
func (c *controlled) soFar(t *testing.T, name string) float64 {
	t.Helper()
	text, ok := c.controller.TryMetrics(t)
	if !ok {
		return 0
	}
	return harness.SumMetric(t, text, name, nil)
}

// undisturbed has the controller start without reports that it knows.
func (c *controlled) undisturbed(t *testing.T) {
	t.Helper()
	c.controller.Stop(t)
	c.kubectl.Run(t, "delete", "policyreports.wgpolicyk8s.io", "-A", "-l", managedByController)
	c.controller.Start(t)
	waitUntil(t, "the undisturbed run is complete", func() bool { return c.quiet(t) })
}
