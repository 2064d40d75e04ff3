// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/tools/producers"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

const (
	kyvernoPods = 200
	// Pods that get another label, and pods that are deleted.
	labelledPods, deletedPods = 10, 40
	// kyvernoPatience is for one step: Kyverno waits for 30 s before it looks at a changed
	// pod, and for 10 s before it writes.
	kyvernoPatience = 5 * time.Minute
)

var (
	policyReportsResource    = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}
	ephemeralReportsResource = schema.GroupVersionResource{Group: "reports.kyverno.io", Version: "v1", Resource: "ephemeralreports"}
)

// TestProgramKyverno runs Kyverno's reports controller through what happens to it in a
// cluster. After each step its reports are those that it writes to CRDs.
//
// With Docket it starts twice as people start it: with the CRDs of reports, which the
// APIServices outrank, then without, by the flag that Kyverno has for that.
func TestProgramKyverno(t *testing.T) {
	t.Parallel()
	backings := slowBackings()
	found := onEach(t, backings, runKyverno)
	if found == nil {
		return
	}
	for i, b := range backings[1:] {
		for name, want := range found[0].steps {
			if diff := cmp.Diff(want, found[i+1].steps[name]); diff != "" {
				t.Errorf("reports on %s after %s (-CRDs +Docket):\n%.4000s", b.name, name, diff)
			}
		}
		wantNoNewComplaints(t, found[0].complaints, found[i+1].complaints)
	}
	harness.Record(t, producers.Run{
		Program: "Kyverno reports controller", Version: harness.KyvernoVersion(t), Source: "Go module github.com/kyverno/kyverno",
		Did:     fmt.Sprintf("%d pods and 17 policies; a rule more, labels, deleted pods, a restart, with CRDs installed and without", kyvernoPods),
		Engines: engines(backings),
		Result:  fmt.Sprintf("after each step the same %d reports as with CRDs, then %d", kyvernoPods, kyvernoPods-deletedPods),
	})
}

// kyvernoFound is what a run leaves.
type kyvernoFound struct {
	steps      map[string]map[string]any // the reports after each step, by their subject
	complaints []string
}

// kyvernoRun is Kyverno on one cluster.
type kyvernoRun struct {
	t       *testing.T
	core    kubernetes.Interface
	dynamic dynamic.Interface
	kubectl *harness.Kubectl
	pods    int
	uids    map[string]string // of pods, and what they stand for
	found   kyvernoFound
}

func runKyverno(t *testing.T, b backing) kyvernoFound {
	c := harness.StartCluster(t)
	// Before Kyverno's CRDs: the garbage collector would watch these, and go on to for up to ten minutes
	// (docs/operate/bootstrap.md).
	replica := register(t, c, b)
	kyverno := harness.NewKyverno(t, c)
	k := newKyvernoRun(t, c, kyvernoPods)
	k.kubectl.RunInput(t, workload.PodSecurity(t), "apply", "-f", "-")
	k.createPods(c)
	kyverno.Start(t)
	scanned := k.after("the first scan", func(r tally) bool { return r.results == kyvernoPods*workload.RulesPerPod })

	policy, _, _ := strings.Cut(k.kubectl.Run(t, "get", "clusterpolicies", "-o", "name"), "\n")
	k.kubectl.Run(t, "patch", policy, "--type=json", "--patch", workload.AddedRule)
	k.after("a rule more", func(r tally) bool { return r.results == kyvernoPods*(workload.RulesPerPod+1) })
	if testing.Short() {
		wantInDocket(t, replica, kyvernoPods)
		k.found.complaints = kyverno.Complaints()
		return k.found
	}
	k.unlabelPods()
	k.after("labels", func(r tally) bool { return r.failed == scanned.failed+labelledPods })
	k.deletePods()
	k.after("deleted pods", func(r tally) bool { return r.reports == kyvernoPods-deletedPods })

	kyverno.Kill(t)
	if replica != nil {
		wantInDocket(t, replica, kyvernoPods-deletedPods)
		c.RemoveCRDs(t)
		kyverno.Start(t, "--reportsCRDsSanityChecks=false")
	} else {
		kyverno.Start(t)
	}
	restarted := time.Now()
	k.after("a restart", func(r tally) bool { return r.oldest.After(restarted) })
	if !kyverno.Alive() {
		t.Error("Kyverno has ended")
	}
	k.found.complaints = kyverno.Complaints()
	return k.found
}

func newKyvernoRun(t *testing.T, c *harness.Cluster, pods int) *kyvernoRun {
	t.Helper()
	config := c.RESTConfig(t)
	config.QPS = -1
	k := &kyvernoRun{t: t, pods: pods, kubectl: c.Kubectl(t, "default"), uids: map[string]string{}, found: kyvernoFound{steps: map[string]map[string]any{}}}
	var errs [2]error
	k.core, errs[0] = kubernetes.NewForConfig(config)
	k.dynamic, errs[1] = dynamic.NewForConfig(config)
	testkit.NoError(t, errors.Join(errs[:]...))
	return k
}

func (k *kyvernoRun) createPods(c *harness.Cluster) {
	k.t.Helper()
	for i := range workload.Namespaces {
		c.EnsureNamespace(k.t, workload.Namespace(i))
	}
	if err := workload.CreatePods(k.t.Context(), k.core, k.pods); err != nil {
		k.t.Fatal(err)
	}
	pods, err := k.core.CoreV1().Pods("").List(k.t.Context(), metav1.ListOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for i := range pods.Items {
		k.uids[string(pods.Items[i].UID)] = "uid of " + pods.Items[i].Name
	}
}

// unlabelPods takes from some pods the label that the added rule wants.
func (k *kyvernoRun) unlabelPods() {
	k.t.Helper()
	for i := range labelledPods {
		k.setLabel(i, "app", "null")
	}
}

// setLabel gives pod number i a label with a value in JSON.
func (k *kyvernoRun) setLabel(i int, name, value string) {
	k.t.Helper()
	pod := workload.NewPod(i)
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, name, value)
	_, err := k.core.CoreV1().Pods(pod.Namespace).Patch(k.t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
}

// deletePods leaves reports to kube-controller-manager.
func (k *kyvernoRun) deletePods() {
	k.t.Helper()
	for i := range deletedPods {
		pod := workload.NewPod(kyvernoPods - 1 - i)
		if err := k.core.CoreV1().Pods(pod.Namespace).Delete(k.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			k.t.Fatal(err)
		}
	}
}

// tally is what all reports say together.
type tally struct {
	reports         int
	results, failed int64
	oldest          time.Time // of all results
	first           time.Time // the same in the first namespace
}

func (r *tally) add(report *unstructured.Unstructured) {
	r.reports++
	summary, _, _ := unstructured.NestedMap(report.Object, "summary")
	for name, count := range summary {
		n, _ := count.(int64)
		r.results += n
		if name == "fail" {
			r.failed += n
		}
	}
	results, _, _ := unstructured.NestedSlice(report.Object, "results")
	for _, result := range results {
		fields, _ := result.(map[string]any)
		seconds, _, _ := unstructured.NestedInt64(fields, "timestamp", "seconds")
		at := time.Unix(seconds, 0)
		r.oldest = earlier(r.oldest, at)
		if report.GetNamespace() == workload.Namespace(0) {
			r.first = earlier(r.first, at)
		}
	}
}

// earlier is the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// after waits until the reports have the content of a step and no work on
// them is left, and keeps them.
func (k *kyvernoRun) after(step string, done func(tally) bool) tally {
	k.t.Helper()
	started := time.Now()
	var sum tally
	var left int
	err := wait.PollUntilContextTimeout(k.t.Context(), 500*time.Millisecond, kyvernoPatience, true, func(ctx context.Context) (bool, error) {
		reports, err := k.dynamic.Resource(policyReportsResource).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=kyverno"})
		if err != nil {
			return false, err
		}
		ephemeral, err := k.dynamic.Resource(ephemeralReportsResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		sum, left = tally{}, len(ephemeral.Items)
		k.found.steps[step] = map[string]any{}
		for i := range reports.Items {
			sum.add(&reports.Items[i])
			k.keep(step, &reports.Items[i])
		}
		return left == 0 && done(sum), nil
	})
	if err != nil {
		k.t.Fatalf("after %s: %v; %+v and %d ephemeral reports", step, err, sum, left)
	}
	k.t.Logf("%s: %+v in %.1f s", step, sum, time.Since(started).Seconds())
	return sum
}

// keep keeps a report without what differs from cluster to cluster.
func (k *kyvernoRun) keep(step string, report *unstructured.Unstructured) {
	object, _ := k.named(report.Object).(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		if metadata[field] == nil {
			k.t.Errorf("after %s: report %s has no metadata.%s", step, report.GetName(), field)
		}
		delete(metadata, field)
	}
	managers, _ := metadata["managedFields"].([]any)
	for _, manager := range managers {
		if entry, ok := manager.(map[string]any); ok {
			delete(entry, "time")
		}
	}
	results, _ := object["results"].([]any)
	for _, result := range results {
		if fields, ok := result.(map[string]any); ok {
			delete(fields, "timestamp")
		}
	}
	k.found.steps[step][fmt.Sprint(metadata["namespace"], "/", metadata["name"])] = object
}

// named returns a copy of a JSON value with the UIDs of pods replaced by what they stand
// for.
func (k *kyvernoRun) named(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, field := range value {
			if name := k.uids[strings.TrimSuffix(strings.TrimPrefix(key, `k:{"uid":"`), `"}`)]; name != "" {
				key = name
			}
			out[key] = k.named(field)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = k.named(item)
		}
		return out
	case string:
		if name := k.uids[value]; name != "" {
			return name
		}
	}
	return value
}

// wantInDocket wants so many reports in Docket, and not in etcd below it.
func wantInDocket(t *testing.T, replica *harness.Replica, want int) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(replica.RESTConfig()))(t)
	list := testkit.Must(client.Resource(policyReportsResource).List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != want {
		t.Errorf("%d reports are in Docket, want %d", len(list.Items), want)
	}
}
