// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

const (
	// scalePods may be changed by the environment variable SCALE_PODS. 100,000 need more than 10 GB: kube-apiserver
	// takes 7.7 GB, kube-controller-manager 2.3 GB.
	scalePods = 100_000
	// scaleCEL are the policies with one result each, in addition to the 17 with workload.RulesPerPod.
	scaleCEL = 3
	// scaleMemory is the GOMEMLIMIT of the controller at first, and littleMemory then.
	scaleMemory  = 500 << 20
	littleMemory = 360 << 20
)

// BenchmarkScale prints the table about 100,000 pods in docs/operate/benchmarks.md: make bench-cluster BENCH=Scale.
func BenchmarkScale(b *testing.B) {
	n := scalePods
	if text := os.Getenv("SCALE_PODS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal("SCALE_PODS: ", err)
		}
	}
	for b.Loop() {
		for _, memory := range []int{scaleMemory, littleMemory} {
			b.Run(fmt.Sprintf("%d pods, GOMEMLIMIT=%dMiB", n, memory>>20), func(b *testing.B) { benchScale(b, n, memory) })
		}
	}
}

func benchScale(b *testing.B, n, memory int) {
	b.Helper()
	s := newScanned(b)
	s.controller.SetEnvironment("GOMEMLIMIT=" + strconv.Itoa(memory))
	for i := range (n + workload.PodsPerNamespace - 1) / workload.PodsPerNamespace {
		s.cluster.EnsureNamespace(b, fmt.Sprintf("team-%03d", i))
	}
	size := testkit.Must(fillLargePods(b.Context(), s.cluster.EtcdURL(), n))(b)
	s.kubectl.RunInput(b, workload.PodSecurity(b)+celPolicies(scaleCEL), "apply", "-f", "-")
	s.settle()
	s.begin(n, podSecurityPolicies, scaleCEL)
	policies := podSecurityPolicies + scaleCEL
	evaluations, results := n*policies, n*(workload.RulesPerPod+scaleCEL)
	row("pods", "%d, of %d bytes of JSON; %d policies, %d results", n, size, policies, results)

	s.startScan(evaluations)
	all := s.look()
	row("results, reports", "%d, %d", all.results, all.reports)
	s.measure("a rule is added to a policy", func() {
		s.changePolicy("patch", "clusterpolicy/pss-host-path", "--type=json", "--patch", workload.AddedRule)
	}, n)
	s.measure("a pod begins to fail that rule", func() {
		s.patch(workload.LargePod(0), []byte(`{"metadata": {"labels": {"app": null}}}`))
	}, policies)
	s.stop()
	s.startScan(evaluations)
	row("resources that were not kept in memory", "%.0f", s.controller.Metric(b, "docket_controller_resources_not_kept", nil))
	s.end(int64(results+n), all.fail+1)
}

// celPolicies returns the documents of policies in CEL about pods.
func celPolicies(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel-%02d}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}
  variables: [{name: all, expression: "object.spec.containers + object.spec.?initContainers.orValue([])"}]
  validations: [{expression: "variables.all.all(c, !has(c.securityContext) || c.securityContext.?privileged.orValue(false) == false) && object.metadata.name != 'x%d'", message: privileged}]
`, i, i)
	}
	return text.String()
}

// startScan starts the controller and measures until all is evaluated and written.
func (s *scanned) startScan(evaluations int) {
	s.b.Helper()
	others := s.processorTimes()
	begun := time.Now()
	s.controller.Launch(s.b)
	took := s.untilWritten(begun, evaluations)
	pid := s.controller.PID()
	now := s.processorTimes()
	row("complete after the start", "%.1f s; processor time of the controller %.0f s, of kube-apiserver %.0f s; %v", took.Seconds(), cpu(s.b, pid), now-others, s.work())
	row("memory", "%s, peak %s", megabytes(status(s.b, pid, "VmRSS")), megabytes(status(s.b, pid, "VmHWM")))
}

// settle waits until kube-apiserver has taken in what was written to etcd without it: before that it is busy and
// refuses to list it.
func (s *scanned) settle() {
	s.b.Helper()
	last := s.processorTimes()
	testkit.NoError(s.b, wait.PollUntilContextTimeout(s.b.Context(), 5*time.Second, patience, false, func(ctx context.Context) (bool, error) {
		before := last
		if last = s.processorTimes(); last-before > 1 {
			return false, nil
		}
		_, err := s.core.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	}))
}

func (s *scanned) processorTimes() float64 { return cpu(s.b, s.cluster.APIServerPID()) }

// measure prints how long a change takes until it is evaluated, so many times, and reported.
func (s *scanned) measure(what string, change func(), evaluations int) {
	s.b.Helper()
	before, begun := s.work(), time.Now()
	change()
	took := s.untilWritten(begun, int(before.evaluations)+evaluations)
	now := s.work()
	row(what+": reported after", "%.1f s; %.0f evaluations, %.0f writes", took.Seconds(), now.evaluations-before.evaluations, now.writes-before.writes)
	if now.writes == before.writes {
		s.b.Errorf("%s: nothing was written", what)
	}
}

// untilWritten waits until the controller has made a number of evaluations and has had no reports to write for two
// seconds, and returns when these began, to a second: metrics asked for five times as often take 13 % of the
// controller's processor time when memory is short.
func (s *scanned) untilWritten(begun time.Time, evaluations int) time.Duration {
	s.b.Helper()
	var since time.Time
	if err := wait.PollUntilContextTimeout(s.b.Context(), time.Second, 3*patience, true, func(context.Context) (bool, error) {
		text, ok := s.controller.TryMetrics(s.b)
		if !ok {
			return false, nil // It is starting.
		}
		sum := func(name string) float64 { return harness.SumMetric(s.b, text, name, nil) }
		waiting := sum("docket_controller_scan_queue") + sum("docket_controller_report_pending")
		switch done := sum("docket_controller_evaluations_total") >= float64(evaluations) && waiting == 0; {
		case !done:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > 2*time.Second, nil
	}); err != nil {
		s.b.Fatalf("%d evaluations: %v", evaluations, err)
	}
	return since.Sub(begun)
}

// cpu returns the processor time of a process in seconds.
func cpu(b *testing.B, pid int) float64 {
	b.Helper()
	data := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(b)
	// After the name, which may have blanks, utime and stime are the 12th and 13th fields, in hundredths.
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks float64
	for _, field := range fields[11:13] {
		n := testkit.Must(strconv.ParseFloat(field, 64))(b)
		ticks += n
	}
	return ticks / 100
}

// podsPerRequest are written to etcd in one transaction, which may have 128 operations.
const podsPerRequest = 100

// fillLargePods writes n pods into the etcd of a kube-apiserver, as that would, which is quicker than to
// create them and to update their status. Their namespaces have to be there. It returns the average size as JSON.
func fillLargePods(ctx context.Context, etcdURL string, n int) (size int, err error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdURL}, Logger: zap.NewNop()})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for from := 0; from < n; from += podsPerRequest {
		group.Go(func() error {
			var puts []clientv3.Op
			for i := from; i < min(from+podsPerRequest, n); i++ {
				var data strings.Builder
				pod := workload.LargePod(i)
				if err := encoder.Encode(pod, &data); err != nil {
					return err
				}
				puts = append(puts, clientv3.OpPut("/registry/pods/"+pod.Namespace+"/"+pod.Name, data.String()))
			}
			_, err := client.Txn(ctx).Then(puts...).Commit()
			return err
		})
	}
	const sample = 100
	for i := range sample {
		data, err := json.Marshal(workload.LargePod(i * 7))
		if err != nil {
			return 0, err
		}
		size += len(data)
	}
	return size / sample, group.Wait()
}
