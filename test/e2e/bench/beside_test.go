// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

// besidePods may be changed by the environment variable BESIDE_PODS.
const besidePods = 10_000

// BenchmarkBeside prints the table of docs/operate/benchmarks.md about our controller and Kyverno's on one cluster with
// the same pods and policies, one after the other: make bench-cluster BENCH=Beside.
func BenchmarkBeside(b *testing.B) {
	n := besidePods
	if text := os.Getenv("BESIDE_PODS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal("BESIDE_PODS: ", err)
		}
	}
	for b.Loop() {
		benchBeside(b, n)
	}
}

// beside is a cluster with both controllers, whose reports are in Docket.
type beside struct {
	scanned

	kyverno *harness.Operator
	reports *followed
	pods    int
}

// contestant is one of the controllers.
type contestant struct {
	name  string
	start func() (pid int)
	// written returns how many reports it says that it has written; nil if it does not say.
	written func() int
}

func benchBeside(b *testing.B, n int) {
	s := newBeside(b, n)
	pods := s.scanned.pods(n)
	s.kubectl.RunInput(b, workload.PodSecurity(b), "apply", "-f", "-")
	fmt.Printf("%d pods, made in %.0f s; 17 policies, %d results\n", n, pods.Seconds(), n*workload.RulesPerPod)
	fmt.Println("| | complete after the start | processor time: controller | kube-apiserver, etcd, Docket | memory, peak | writes: reports | ephemeral reports | Events |\n|---|---|---|---|---|---|---|---|")
	ours := s.contest(contestant{"docket-controller", func() int {
		s.controller.Launch(b)
		return s.controller.PID()
	}, func() int { return int(s.work().writes) }})
	s.controller.Stop(b)
	s.removeReports()
	theirs := s.contest(contestant{"Kyverno", func() int {
		s.kyverno.Start(b)
		return s.kyverno.PID()
	}, nil}, kyvernoErrors()...)
	fmt.Printf("\nRequests meanwhile: docket-controller: %s. Kyverno: %s.\n", ours, theirs)
}

// removeReports returns when the reports are gone.
func (s *beside) removeReports() {
	s.b.Helper()
	resource := s.dynamic.Resource(schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"})
	for i := range workload.Namespaces {
		if err := resource.Namespace(workload.Namespace(i)).DeleteCollection(s.b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			s.b.Fatal(err)
		}
	}
	s.untilLook("no reports are left", s.reports.look, func(t tally) bool { return t.reports == 0 })
}

// newBeside starts a control plane whose etcd waits for the disk. Both controllers are service accounts with all
// rights: requests of others than system:masters cost more.
func newBeside(b *testing.B, pods int) *beside {
	b.Helper()
	c := harness.StartCluster(b, harness.Durable)
	s := &beside{scanned: scanned{b: b, cluster: c, kubectl: c.Kubectl(b, "default")}, pods: pods}
	s.docket = registered(b, c)
	s.kyverno = harness.NewKyverno(b, c)
	s.kubectl.Run(b, "apply", "-k", harness.PolicyCRDs(b))
	const account = "docket-controller"
	s.kubectl.Run(b, "create", "serviceaccount", account)
	s.kubectl.Run(b, "create", "clusterrolebinding", account, "--clusterrole=cluster-admin", "--serviceaccount=default:"+account)
	token := strings.TrimSpace(s.kubectl.Run(b, "create", "token", account, "--duration=4h"))
	s.controller = harness.NewController(b, c.KubeconfigOf(b, account, token), "--leader-elect=false")
	s.connect()
	s.reports = follow(b, s.dynamic, "wgpolicyk8s.io/v1alpha2", "policyreports")
	return s
}

// contest makes a controller report on the existing objects, for up to ten minutes. It prints the cost, and returns the
// requests that were made meanwhile.
func (s *beside) contest(c contestant, tolerated ...call) string {
	s.b.Helper()
	s.begin(s.pods, podSecurityPolicies, 0)
	servers := map[string]int{"kube-apiserver": s.cluster.APIServerPID(), "etcd": s.cluster.EtcdPID(), "Docket": s.docket.PID()}
	before, written, begun := processorTimes(s.b, servers), s.written(), time.Now()
	pid := c.start()
	last, err := s.complete()
	took := fmt.Sprintf("%.1f s", time.Since(begun).Seconds())
	if errors.Is(err, context.DeadlineExceeded) {
		took = fmt.Sprintf("not after %.0f s: %d of %d results, %d reports", patience.Seconds(), last.results, s.pods*workload.RulesPerPod, last.reports)
	} else if err != nil {
		s.b.Fatal(err)
	}
	own, after, writes := processorTime(s.b, pid), processorTimes(s.b, servers), s.written()
	fmt.Printf("| %s | %s | %.1f s | %.1f s, %.1f s, %.1f s | %s | %.0f | %.0f | %.0f |\n", c.name, took, own.Seconds(),
		(after["kube-apiserver"] - before["kube-apiserver"]).Seconds(), (after["etcd"] - before["etcd"]).Seconds(), (after["Docket"] - before["Docket"]).Seconds(),
		megabytes(status(s.b, pid, "VmHWM")), writes.reports-written.reports, writes.ephemeral-written.ephemeral, writes.events-written.events)
	if c.written != nil {
		untilQuiet(s.b, settled, c.written)
		s.audit.expect(reportResource, "POST,PUT", c.written())
	}
	return s.audit.end(tolerated...)
}

// complete waits until all results are reported.
func (s *beside) complete() (last tally, err error) {
	err = wait.PollUntilContextTimeout(s.b.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = s.reports.look()
		return last.results == int64(s.pods*workload.RulesPerPod), nil
	})
	return last, err
}

// written are the writes so far: those of reports that Docket answered, and of Events that kube-apiserver did.
func (s *beside) written() requests {
	s.b.Helper()
	docket, cluster := s.docket.Metrics(s.b), s.kubectl.Run(s.b, "get", "--raw", "/metrics")
	return requests{reports: writesOf(s.b, docket, "policyreports"), ephemeral: writesOf(s.b, docket, "ephemeralreports"), events: writesOf(s.b, cluster, "events")}
}
