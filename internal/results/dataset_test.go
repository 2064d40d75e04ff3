// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/store/engine"
)

// dataset makes the reports of two clusters like those of real producers, the same
// ones for equal fields. The questions of docs/operate/sql.md name things that are in it.
type dataset struct {
	// workloads of the cluster east; west has a quarter.
	workloads int
	// now is when the youngest report was written; no age is near a whole day.
	now time.Time
}

// item is a stored report.
type item struct {
	cluster  string
	resource engine.Resource
	report   report.Accessor
	// projection is nil for that of the report.
	projection *engine.Projection
}

type rule struct {
	policy, rule, category, severity string
	// failing is how many of a hundred fail.
	failing int
}

func kyvernoRules() []rule {
	const baseline, restricted = "Pod Security Standards (Baseline)", "Pod Security Standards (Restricted)"
	return []rule{
		{"disallow-capabilities", "adding-capabilities", baseline, "medium", 2},
		{"disallow-capabilities-strict", "adding-capabilities-strict", restricted, "medium", 6},
		{"disallow-capabilities-strict", "require-drop-all", restricted, "medium", 20},
		{"disallow-host-namespaces", "host-namespaces", baseline, "high", 1},
		{"disallow-host-path", "host-path", baseline, "high", 3},
		{"disallow-host-ports", "host-ports-none", baseline, "medium", 1},
		{"disallow-host-process", "host-process-containers", baseline, "medium", 0},
		{"disallow-privilege-escalation", "privilege-escalation", restricted, "medium", 15},
		{"disallow-privileged-containers", "privileged-containers", baseline, "critical", 3},
		{"disallow-proc-mount", "check-proc-mount", baseline, "low", 0},
		{"disallow-selinux", "selinux-type", baseline, "medium", 0},
		{"require-run-as-non-root-user", "run-as-non-root-user", restricted, "medium", 4},
		{"require-run-as-nonroot", "run-as-non-root", restricted, "medium", 18},
		{"restrict-apparmor-profiles", "app-armor", baseline, "low", 1},
		{"restrict-seccomp-strict", "check-seccomp-strict", restricted, "medium", 22},
		{"restrict-sysctls", "check-sysctls", baseline, "low", 0},
		{"restrict-volume-types", "restricted-volumes", restricted, "info", 2},
	}
}

// all yields the items, each newly made.
func (d dataset) all() iter.Seq[item] {
	return func(yield func(item) bool) {
		for number, cluster := range []struct {
			name      string
			workloads int
		}{{"east", d.workloads}, {"west", d.workloads / 4}} {
			maker := &maker{
				dataset: d, cluster: cluster.name, workloads: cluster.workloads,
				random: rand.New(rand.NewPCG(42, uint64(number))),
			}
			if !maker.make(yield) {
				return
			}
		}
	}
}

type maker struct {
	dataset
	cluster   string
	workloads int
	random    *rand.Rand
	made      int
}

const (
	// asked is the workload of question 5: Pod shop/exporter-00016, which the demo has, too.
	asked        = 104
	perNamespace = 100
	quietEvery   = 4 // Every fourth namespace has no failures.
)

func (m *maker) namespace(workload int) string {
	if workload/perNamespace == asked/perNamespace {
		return "shop"
	}
	if n := workload / perNamespace; n%quietEvery != quietEvery-1 {
		return fmt.Sprintf("team-%03d", n)
	}
	return fmt.Sprintf("quiet-%03d", workload/perNamespace)
}

func (m *maker) quiet(workload int) bool { return m.namespace(workload)[0] == 'q' }

func (m *maker) workload(i int) report.ObjectReference {
	if i == asked {
		return report.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: m.namespace(i), Name: "exporter-00016",
			UID: types.UID(fmt.Sprintf("0b1e1d5a-%s-4000-8000-%012d", m.cluster, i)),
		}
	}
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	return report.ObjectReference{
		APIVersion: "apps/v1", Kind: kinds[i%len(kinds)], Namespace: m.namespace(i),
		Name: fmt.Sprintf("app-%05d", i), UID: types.UID(fmt.Sprintf("0b1e1d5a-%s-4000-8000-%012d", m.cluster, i)),
	}
}

func (m *maker) make(yield func(item) bool) bool {
	for i := range m.workloads {
		if !m.put(yield, m.kyverno(i)) {
			return false
		}
		if i%4 == 0 && !m.put(yield, m.trivy(i)) {
			return false
		}
	}
	for from := 0; from < m.workloads; from += perNamespace {
		for _, r := range []report.Accessor{m.split(from), m.falco(from), m.namespaceRules(from)} {
			if !m.put(yield, r) {
				return false
			}
		}
	}
	for i := range 1 + m.workloads/1000 {
		if !m.put(yield, m.node(i)) {
			return false
		}
	}
	return true
}

func (m *maker) put(yield func(item) bool, r report.Accessor) bool {
	r.SetUID(types.UID(fmt.Sprintf("4e9a3c10-%s-4000-9000-%012d", m.cluster, m.made)))
	r.SetCreationTimestamp(metav1.NewTime(m.now.Add(-time.Duration(m.made%72)*time.Hour - 30*time.Minute)))
	m.made++
	return yield(item{cluster: m.cluster, resource: resourceOf(r), report: r})
}

func resourceOf(obj runtime.Object) engine.Resource {
	switch obj.(type) {
	case *wgpolicy.PolicyReport:
		return "/wgpolicyk8s.io/policyreports/"
	case *wgpolicy.ClusterPolicyReport:
		return "/wgpolicyk8s.io/clusterpolicyreports/"
	case *openreports.Report:
		return "/openreports.io/reports/"
	default:
		return "/openreports.io/clusterreports/"
	}
}

// entry makes a result of a rule; quiet ones never fail.
func (m *maker) entry(r rule, quiet bool) report.Result {
	dice := m.random.IntN(100)
	outcome, message := report.OutcomePass, "rule "+r.rule+" passed"
	switch {
	case dice < r.failing && !quiet:
		outcome = report.OutcomeFail
		message = fmt.Sprintf("validation error: %s. rule %s failed at path /spec/containers/%d/securityContext/",
			r.policy, r.rule, dice%3)
	case dice == 90:
		outcome, message = report.OutcomeWarn, "rule "+r.rule+" is deprecated"
	case dice == 91 && r.failing == 1:
		outcome, message = report.OutcomeError, "variable substitution: unknown key 'owner'"
	case dice >= 97:
		outcome, message = report.OutcomeSkip, ""
	}
	return report.Result{
		Source: new("kyverno"), Policy: r.policy, Rule: r.rule, Category: r.category, Severity: report.Severity(r.severity),
		Result: outcome, Message: message, Scored: new(outcome != report.OutcomeWarn),
		Timestamp:  m.timestamp(),
		Properties: map[string]string{"process": "background scan"},
	}
}

func (m *maker) timestamp() *metav1.Timestamp {
	return &metav1.Timestamp{Seconds: m.now.Unix() - int64(m.random.IntN(3*24*3600))}
}

// kyverno: all results are about the report's scope.
func (m *maker) kyverno(i int) report.Accessor {
	r := &wgpolicy.PolicyReport{}
	about := m.workload(i)
	r.Namespace, r.Name, r.Scope = about.Namespace, string(about.UID), &about
	doomed := i%250 == 7 && !m.quiet(i)
	for _, rule := range kyvernoRules() {
		if doomed {
			rule.failing = 100
		}
		r.Results = append(r.Results, m.entry(rule, m.quiet(i)))
	}
	counts := report.Count(r.Results)
	if i%200 == 3 {
		counts.Fail++ // A summary that a buggy producer wrote.
		counts.Warn, counts.Error, counts.Skip = counts.Warn+2, counts.Error+3, counts.Skip+4
	}
	r.Summary = counts.Summary()
	return r
}

// trivy: the source stands at the report, a score in the properties, and each
// result has properties of its own.
func (m *maker) trivy(i int) report.Accessor {
	r := &openreports.Report{}
	about := m.workload(i)
	r.Namespace, r.Name, r.Scope, r.Source = about.Namespace, "trivy-"+about.Name, &about, new("trivy")
	for n := range 6 {
		score := m.random.IntN(100)
		outcome, severity := report.OutcomeWarn, "low"
		switch {
		case m.quiet(i):
			score = 20
		case score >= 90:
			outcome, severity = report.OutcomeFail, "critical"
		case score >= 70:
			outcome, severity = report.OutcomeFail, "high"
		}
		properties := map[string]string{
			"resultID": fmt.Sprintf("%s-%d-%d", m.cluster, i, n), "score": fmt.Sprintf("%d.%d", score/10, score%10),
			"artifact.repository": fmt.Sprintf("library/image-%02d", i%40),
		}
		if score == 89 {
			properties["score"] = "n/a"
		}
		r.Results = append(r.Results, report.Result{
			Policy: fmt.Sprintf("CVE-2026-%04d", m.random.IntN(400)), Rule: "openssl", Category: "Vulnerability Scan",
			Severity: report.Severity(severity), Result: outcome, Message: "a flaw in openssl",
			Timestamp: m.timestamp(), Properties: properties,
		})
	}
	r.Summary = report.Count(r.Results).Summary()
	return r
}

// split is a report of one policy about all subjects of a namespace; its last entry
// is about two subjects.
func (m *maker) split(from int) report.Accessor {
	r := &openreports.Report{}
	r.Namespace, r.Name = m.namespace(from), "require-labels"
	labels := rule{"require-labels", "check-for-labels", "Best Practices", "medium", 12}
	last := min(from+perNamespace, m.workloads)
	for i := from; i < last; i++ {
		e := m.entry(labels, m.quiet(i))
		e.Resources = []report.ObjectReference{m.workload(i)}
		r.Results = append(r.Results, e)
	}
	e := m.entry(labels, m.quiet(from))
	e.Resources = []report.ObjectReference{m.workload(from), m.workload(last - 1)}
	r.Results = append(r.Results, e)
	r.Summary = report.Count(r.Results).Summary()
	return r
}

// falco: events about several pods, without scope and summary.
func (m *maker) falco(from int) report.Accessor {
	r := &wgpolicy.PolicyReport{}
	r.Namespace, r.Name = m.namespace(from), "falco-policy-report"
	for n := range 8 {
		about := m.workload(min(from+n, m.workloads-1))
		e := report.Result{
			Source: new("falco"), Policy: "drop and execute new binary", Category: "runtime", Severity: report.SeverityCritical,
			Result: report.OutcomeFail, Message: "a binary that is not in the image was run in " + about.Name,
			Timestamp: m.timestamp(), Resources: []report.ObjectReference{about},
		}
		if m.quiet(from) {
			e.Result = report.OutcomePass
		}
		r.Results = append(r.Results, e)
	}
	return r
}

// namespaceRules is about a namespace.
func (m *maker) namespaceRules(from int) report.Accessor {
	r := &wgpolicy.ClusterPolicyReport{}
	name := m.namespace(from)
	r.Name = "ns-" + name
	r.Scope = &report.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: name, UID: types.UID(m.cluster + name)}
	quota := rule{"require-quota", "has-resource-quota", "Multi-Tenancy", "low", 50}
	r.Results = []report.Result{m.entry(quota, m.quiet(from))}
	r.Summary = report.Count(r.Results).Summary()
	return r
}

// node: results about nothing that has a name, and without a time.
func (m *maker) node(i int) report.Accessor {
	r := &openreports.ClusterReport{}
	r.Name, r.Source = fmt.Sprintf("kube-bench-%03d", i), new("kube-bench")
	r.Results = []report.Result{
		{Policy: "cis", Rule: "4.1.1", Result: report.OutcomeFail, Severity: report.SeverityHigh, Message: "file is world-readable"},
		{Policy: "cis", Rule: "4.1.2", ResourceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "worker"}}},
	}
	if m.cluster == "east" {
		r.Results[0].Result = report.OutcomePass
	}
	r.Summary = report.Count(r.Results).Summary()
	return r
}
