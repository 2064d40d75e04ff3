// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

// BenchmarkKyverno does to Kyverno's own reports controller, with its reports in etcd, what
// BenchmarkController does to ours with 1,000 pods.
func BenchmarkKyverno(b *testing.B) {
	for b.Loop() {
		b.Run("1,000 pods", benchKyverno)
	}
}

// peer is Kyverno's controller on a cluster.
type peer struct {
	scanned
	kyverno *harness.Operator
}

func benchKyverno(b *testing.B) {
	const n = 1000
	c := harness.StartCluster(b)
	p := &peer{scanned: scanned{b: b, cluster: c, kubectl: c.Kubectl(b, "default")}, kyverno: harness.NewKyverno(b, c)}
	p.connect()
	p.kubectl.RunInput(b, workload.PodSecurity(b), "apply", "-f", "-")
	p.kyverno.Start(b)
	untilQuiet(b, settled, p.requestsOfReports) // It has no probe.
	p.begin(0, podSecurityPolicies, 0)
	before := p.requests()
	creation := p.pods(n)
	p.audit.expect(podResource, "POST", n)
	p.audit.keep(podResource, podKeys, n)
	complete := p.untilKyverno("first scan", func(t tally) bool { return t.results == n*workload.RulesPerPod })
	all := p.lookKyverno()
	row("Kyverno: 1,000 pods made in", "%.1f s", creation.Seconds())
	row("Kyverno: reports complete after the last pod", "%.1f s", complete.Seconds())
	row("Kyverno: first scan", "%s; %d reports, %d results, %d fail", p.since(before), all.reports, all.results, all.fail)

	before = p.requests()
	for i := range 50 {
		p.patchPod(i, map[string]any{"metadata": map[string]any{"labels": map[string]any{"bench": "label"}}})
	}
	row("Kyverno: label on 50 pods", "%s", p.since(before))

	policies := strings.Fields(p.kubectl.Run(b, "get", "clusterpolicies", "-o", "name"))
	before = p.requests()
	p.changePolicy("annotate", policies[0], "example.com/bench=1")
	row("Kyverno: annotation of a policy", "%s", p.since(before))

	before = p.requests()
	p.changePolicy("patch", policies[0], "--type=json", "--patch", workload.AddedRule)
	took := p.untilKyverno("rule", func(t tally) bool { return t.results == n*(workload.RulesPerPod+1) })
	row("Kyverno: rule added: complete after", "%.1f s; %s", took.Seconds(), p.since(before))

	p.kyverno.Kill(b)
	before = p.requests()
	p.kyverno.Start(b)
	row("Kyverno: restart", "%s", p.since(before))
	row("Kyverno: memory", "%s, peak %s", megabytes(status(b, p.kyverno.PID(), "VmRSS")), megabytes(status(b, p.kyverno.PID(), "VmHWM")))
	if last := p.lookKyverno(); last.results != n*(workload.RulesPerPod+1) || last.reports != all.reports {
		b.Errorf("in the end there are %d reports with %d results", last.reports, last.results)
	}
	row("Kyverno: requests meanwhile", "%s", p.audit.end(kyvernoErrors()...))
}

// kyvernoErrors are those that Kyverno's controller gets in its usual work: it asks for a report before it creates it.
func kyvernoErrors() []call {
	return []call{accountLater, {reportResource, "GET", "404"}, {"ephemeralreports.reports.kyverno.io", "GET", "404"}}
}

// lookKyverno is look for reports that Kyverno wrote, in pages since each pod has one.
func (p *peer) lookKyverno() tally { return p.lookAt("app.kubernetes.io/managed-by=kyverno") }

func (p *peer) untilKyverno(what string, done func(tally) bool) time.Duration {
	p.b.Helper()
	return p.untilLook(what, p.lookKyverno, done)
}

// requests are those that kube-apiserver answered, which are also those of this benchmark.
type requests struct{ reports, ephemeral, events, all float64 }

func (p *peer) requests() requests {
	p.b.Helper()
	text := p.kubectl.Run(p.b, "get", "--raw", "/metrics")
	writes := func(resource string) float64 { return writesOf(p.b, text, resource) }
	return requests{writes("policyreports"), writes("ephemeralreports"), writes("events"), harness.SumMetric(p.b, text, "apiserver_request_total", nil)}
}

// writesOf returns how many writes of a resource a server has answered, by its metrics.
func writesOf(b *testing.B, metrics, resource string) (sum float64) {
	b.Helper()
	for _, verb := range []string{"POST", "PUT", "PATCH", "APPLY", "DELETE"} {
		sum += harness.SumMetric(b, metrics, "apiserver_request_total", map[string]string{"resource": resource, "verb": verb})
	}
	return sum
}

// since returns what was asked since then, after reports have not been written for 50 s: Kyverno
// waits for 30 s before it looks at a changed resource, and for 10 s before it writes.
func (p *peer) since(before requests) string {
	p.b.Helper()
	started := time.Now()
	changed := untilQuiet(p.b, 5*settled, p.requestsOfReports)
	last := p.requests()
	return fmt.Sprintf("%.0f report writes, %.0f writes of ephemeral reports, %.0f Events, %.0f requests in all, the last after %.0f s",
		last.reports-before.reports, last.ephemeral-before.ephemeral, last.events-before.events, last.all-before.all, changed.Sub(started).Seconds())
}

func (p *peer) requestsOfReports() [2]float64 {
	now := p.requests()
	return [2]float64{now.reports, now.ephemeral}
}
