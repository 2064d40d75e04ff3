// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

const (
	podWriters = 16
	// podSecurityPolicies are those of workload.PodSecurity.
	podSecurityPolicies = 17
	// settled is how long a controller must not have written for its work to count as done.
	settled = 10 * time.Second
	// patience for one step of a measurement.
	patience = 10 * time.Minute
)

// scanned is a controller on a cluster whose reports are in Docket.
type scanned struct {
	b          *testing.B
	cluster    *harness.Cluster
	kubectl    *harness.Kubectl
	core       kubernetes.Interface
	dynamic    dynamic.Interface
	controller *harness.Controller
	docket     *harness.Replica
	audit      *audit
	// written are the writes of the controller before it was stopped.
	written float64
}

// BenchmarkController prints the tables about docket-controller in docs/operate/benchmarks.md.
func BenchmarkController(b *testing.B) {
	for b.Loop() {
		b.Run("1,000 pods", benchThousand)
		b.Run("10,000 pods", benchTenThousand)
		b.Run("10,000 pods and 20 CEL policies", benchCEL)
		b.Run("100,000 results", benchHundredThousandResults)
	}
}

func newScanned(b *testing.B) *scanned {
	b.Helper()
	c := harness.StartCluster(b)
	s := &scanned{b: b, cluster: c, docket: registered(b, c), kubectl: c.Kubectl(b, "default"), controller: harness.NewController(b, c.Kubeconfig(), "--leader-elect=false")}
	s.connect()
	s.kubectl.Run(b, "apply", "-k", harness.PolicyCRDs(b))
	return s
}

// connect makes clients without a limit of their own.
func (s *scanned) connect() {
	s.b.Helper()
	config := s.cluster.RESTConfig(s.b)
	config.QPS = -1
	var errs [2]error
	s.core, errs[0] = kubernetes.NewForConfig(config)
	s.dynamic, errs[1] = dynamic.NewForConfig(config)
	if err := errors.Join(errs[:]...); err != nil {
		s.b.Fatal(err)
	}
}

// pods makes n pods in ten namespaces and returns when the last one is there.
func (s *scanned) pods(n int) time.Duration {
	s.b.Helper()
	for i := range workload.Namespaces {
		s.cluster.EnsureNamespace(s.b, workload.Namespace(i))
	}
	started := time.Now()
	if err := workload.CreatePods(s.b.Context(), s.core, n); err != nil {
		s.b.Fatal(err)
	}
	return time.Since(started)
}

// begin has what was made until now stay as it is, and counts from here on.
func (s *scanned) begin(pods, clusterPolicies, validatingPolicies int) {
	s.b.Helper()
	s.audit = newAudit(s.b, s.cluster, s.docket)
	s.audit.keep(podResource, podKeys, pods)
	s.audit.keep(policyResource, policyKeys, clusterPolicies)
	s.audit.keep("validatingpolicies.policies.kyverno.io", "/registry/policies.kyverno.io/validatingpolicies/", validatingPolicies)
}

// What benchmarks change, and where it is in etcd.
const (
	podResource    = "pods"
	podKeys        = "/registry/pods/"
	policyResource = "clusterpolicies.kyverno.io"
	policyKeys     = "/registry/kyverno.io/clusterpolicies/"
	reportResource = "policyreports.wgpolicyk8s.io"
)

// stop ends the controller, which forgets what it has written.
func (s *scanned) stop() {
	s.b.Helper()
	s.written += s.work().writes
	s.controller.Stop(s.b)
}

// end fails the benchmark unless the reports are what they should be in the end, were written by the controller
// alone, and are about what was made.
func (s *scanned) end(results, fail int64) {
	s.b.Helper()
	if got := s.look(); got.results != results || got.fail != fail {
		s.b.Errorf("the reports have %d results, %d of them fail, want %d and %d", got.results, got.fail, results, fail)
	}
	s.audit.expect(reportResource, "POST,PUT", int(s.written+s.work().writes))
	row("requests meanwhile", "%s", s.audit.end(accountLater))
}

// accountLater is the answer that kube-apiserver itself gets while it waits for the service account of a new namespace.
var accountLater = call{"serviceaccounts", "GET", "404"}

// tally is what the reports say in all, and how many there are.
type tally struct{ reports, results, fail int64 }

// look reads the summaries of all namespaced reports.
func (s *scanned) look() tally { return s.lookAt("app.kubernetes.io/managed-by=docket-controller") }

func (s *scanned) lookAt(selector string) tally {
	s.b.Helper()
	list, err := s.dynamic.Resource(schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}).
		List(s.b.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		s.b.Fatal(err)
	}
	var t tally
	for i := range list.Items {
		t.add(&list.Items[i])
	}
	return t
}

func (t *tally) add(report *unstructured.Unstructured) {
	t.reports++
	counts, _, _ := unstructured.NestedMap(report.Object, "summary")
	for name, count := range counts {
		n, _ := count.(int64)
		t.results += n
		if name == "fail" {
			t.fail += n
		}
	}
}

// until waits for the reports to say something and returns how long it took.
func (s *scanned) until(what string, done func(tally) bool) time.Duration {
	s.b.Helper()
	return s.untilLook(what, s.look, done)
}

func (s *scanned) untilLook(what string, look func() tally, done func(tally) bool) time.Duration {
	s.b.Helper()
	started := time.Now()
	var last tally
	if err := wait.PollUntilContextTimeout(s.b.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = look()
		return done(last), nil
	}); err != nil {
		s.b.Fatalf("%s: %v: %+v", what, err, last)
	}
	return time.Since(started)
}

// work is what a controller has done since it started.
type work struct{ writes, bytes, evaluations, requests float64 }

func (s *scanned) work() work {
	s.b.Helper()
	sum := func(name string) float64 { return s.controller.Metric(s.b, name, nil) }
	return work{
		writes: s.controller.Metric(s.b, "docket_controller_report_writes_total", map[string]string{"result": "success"}), bytes: sum("docket_controller_report_written_bytes_total"),
		evaluations: sum("docket_controller_evaluations_total"), requests: sum("rest_client_requests_total"),
	}
}

// since returns the work after the controller has been quiet for a while.
func (s *scanned) since(before work) work {
	s.b.Helper()
	untilQuiet(s.b, settled, func() [2]float64 {
		now := s.work()
		return [2]float64{now.writes, now.evaluations}
	})
	now := s.work()
	return work{now.writes - before.writes, now.bytes - before.bytes, now.evaluations - before.evaluations, now.requests - before.requests}
}

// untilQuiet waits until what look returns has not changed for a time, and returns when it changed
// last.
func untilQuiet[T comparable](b *testing.B, quiet time.Duration, look func() T) time.Time {
	b.Helper()
	last, changed := look(), time.Now()
	testkit.NoError(b, wait.PollUntilContextTimeout(b.Context(), time.Second, patience, false, func(context.Context) (bool, error) {
		if now := look(); now != last {
			last, changed = now, time.Now()
		}
		return time.Since(changed) >= quiet, nil
	}))
	return changed
}

func (w work) String() string {
	return fmt.Sprintf("%.0f evaluations, %.0f report writes (%.0f KiB), %.0f requests", w.evaluations, w.writes, w.bytes/1024, w.requests)
}

func row(name, format string, arguments ...any) {
	fmt.Printf("| %s | %s |\n", name, fmt.Sprintf(format, arguments...))
}

func benchThousand(b *testing.B) {
	const n = 1000
	s := newScanned(b)
	s.kubectl.RunInput(b, workload.PodSecurity(b), "apply", "-f", "-")
	s.begin(0, podSecurityPolicies, 0)
	s.controller.Start(b)
	before := s.work()
	creation := s.pods(n)
	s.audit.expect(podResource, "POST", n)
	s.audit.keep(podResource, podKeys, n)
	complete := s.until("first scan", func(t tally) bool { return t.results == n*workload.RulesPerPod })
	first := s.since(before)
	all := s.look()
	row("1,000 pods made in", "%.1f s", creation.Seconds())
	row("reports complete after the last pod", "%.1f s", complete.Seconds())
	row("first scan", "%v; %d reports, %d results, %d fail", first, all.reports, all.results, all.fail)

	before = s.work()
	for i := range 50 {
		s.patchPod(i, map[string]any{"metadata": map[string]any{"labels": map[string]any{"bench": "label"}}})
	}
	row("label on 50 pods", "%v", s.since(before))

	policies := strings.Fields(s.kubectl.Run(b, "get", "clusterpolicies", "-o", "name"))
	before = s.work()
	s.changePolicy("annotate", policies[0], "example.com/bench=1")
	row("annotation of a policy", "%v", s.since(before))

	before = s.work()
	s.changePolicy("patch", policies[0], "--type=json", "--patch", workload.AddedRule)
	took := s.until("rule", func(t tally) bool { return t.results == n*(workload.RulesPerPod+1) })
	row("rule added: complete after", "%.1f s; %v", took.Seconds(), s.since(before))

	before = s.work()
	s.patchPod(0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": nil}}})
	took = s.until("flip", func(t tally) bool { return t.fail == all.fail+1 })
	row("one pod begins to fail that rule: reported after", "%.1f s; %v", took.Seconds(), s.since(before))

	s.stop()
	s.controller.Start(b)
	row("restart", "%v", s.since(work{}))
	row("memory", "%s, peak %s", megabytes(status(b, s.controller.PID(), "VmRSS")), megabytes(status(b, s.controller.PID(), "VmHWM")))
	s.end(n*(workload.RulesPerPod+1), all.fail+1)
}

// changePolicy changes a policy, TYPE/NAME, by a command of kubectl.
func (s *scanned) changePolicy(command, policy string, arguments ...string) {
	s.b.Helper()
	s.kubectl.Run(s.b, append([]string{command, policy}, arguments...)...)
	s.audit.expect(policyResource, "PATCH", 1)
	s.audit.changed(policyKeys + path.Base(policy))
}

func (s *scanned) patchPod(i int, patch map[string]any) {
	s.b.Helper()
	data, err := json.Marshal(patch)
	if err != nil {
		s.b.Fatal(err)
	}
	s.patch(workload.NewPod(i), data)
}

func (s *scanned) patch(pod *corev1.Pod, data []byte) {
	s.b.Helper()
	if _, err := s.core.CoreV1().Pods(pod.Namespace).Patch(s.b.Context(), pod.Name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		s.b.Fatal(err)
	}
	s.audit.expect(podResource, "PATCH", 1)
	s.audit.changed(podKeys + pod.Namespace + "/" + pod.Name)
}

// benchTenThousand starts the controller when the pods are there.
func benchTenThousand(b *testing.B) {
	const n = 10_000
	s := newScanned(b)
	s.kubectl.RunInput(b, workload.PodSecurity(b), "apply", "-f", "-")
	s.pods(n)
	s.begin(n, podSecurityPolicies, 0)
	s.controller.Start(b)
	took := s.until("first scan", func(t tally) bool { return t.results == n*workload.RulesPerPod })
	all := s.look()
	row("10,000 pods: complete after the start", "%.1f s; %v", took.Seconds(), s.since(work{}))
	row("memory", "%s, peak %s", megabytes(status(b, s.controller.PID(), "VmRSS")), megabytes(status(b, s.controller.PID(), "VmHWM")))
	s.end(all.results, all.fail)
}

func benchCEL(b *testing.B) {
	const n, policies = 10_000, 20
	s := newScanned(b)
	s.kubectl.RunInput(b, celPolicies(policies), "apply", "-f", "-")
	s.pods(n)
	s.begin(n, 0, policies)
	s.controller.Start(b)
	took := s.until("first scan", func(t tally) bool { return t.results == n*policies })
	all := s.look()
	row("20 CEL policies, 10,000 pods: complete after the start", "%.1f s; %v", took.Seconds(), s.since(work{}))
	row("memory", "%s, peak %s", megabytes(status(b, s.controller.PID(), "VmRSS")), megabytes(status(b, s.controller.PID(), "VmHWM")))
	s.end(all.results, all.fail)
}

// benchHundredThousandResults has one policy with ten rules about 10,000 ConfigMaps of one
// namespace.
func benchHundredThousandResults(b *testing.B) {
	const n, rules = 10_000, 10
	s := newScanned(b)
	s.cluster.EnsureNamespace(b, "big")
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(podWriters)
	for i := range n {
		group.Go(func() error { return s.configMap(ctx, i) })
	}
	testkit.NoError(b, group.Wait())
	var policy strings.Builder
	policy.WriteString("apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: many, namespace: big}\nspec:\n  rules:\n")
	for i := range rules {
		fmt.Fprintf(&policy, "  - {name: rule-%d, match: {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {bench: \"1\"}}}}]}, validate: {message: label, pattern: {metadata: {labels: {l%d: \"?*\"}}}}}\n", i, i)
	}
	s.kubectl.RunInput(b, policy.String(), "apply", "-n", "big", "-f", "-")
	s.begin(0, 0, 0)
	s.audit.keep("policies.kyverno.io", "/registry/kyverno.io/policies/", 1)
	s.audit.keep("configmaps", "/registry/configmaps/big/", n)
	s.controller.Start(b)
	took := s.until("first scan", func(t tally) bool { return t.results == n*rules })
	row("100,000 results of one policy in one namespace: complete after the start", "%.1f s; %v", took.Seconds(), s.since(work{}))
	all, before := s.look(), s.work()
	s.kubectl.Run(b, "label", "-n", "big", "configmap", "map-05000", "l3=yes")
	s.audit.expect("configmaps", "PATCH", 1)
	s.audit.changed("/registry/configmaps/big/map-05000")
	took = s.until("flip", func(t tally) bool { return t.fail == all.fail-1 })
	row("one flipped result: right after", "%.1f s; %v", took.Seconds(), s.since(before))
	s.end(all.results, all.fail-1)
}

func (s *scanned) configMap(ctx context.Context, i int) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%05d", i), Namespace: "big", Labels: map[string]string{"bench": "1"}}}
	_, err := s.core.CoreV1().ConfigMaps("big").Create(ctx, object, metav1.CreateOptions{})
	return err
}
