// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// podSecurityRules are like the policies that come with Kyverno: most are patterns over all kinds
// of containers, some deny or loop.
func podSecurityRules() []string {
	var rules []string
	for _, field := range []string{
		`=(privileged): "false"`, `=(procMount): Default`, `=(runAsUser): ">0"`, `=(allowPrivilegeEscalation): "false"`,
		`=(windowsOptions): {=(hostProcess): "false"}`, `=(seLinuxOptions): {=(type): "container_t | container_init_t"}`,
		`=(seccompProfile): {=(type): "RuntimeDefault | Localhost"}`,
	} {
		context := "{=(securityContext): {" + field + "}}"
		rules = append(rules, `
validate:
  message: >-
    This is disallowed. The fields spec.containers[*].securityContext and
    spec.initContainers[*].securityContext must be unset or right.
  pattern:
    spec:
      =(ephemeralContainers): [`+context+`]
      =(initContainers): [`+context+`]
      containers: [`+context+`]
`)
	}
	for _, field := range []string{`=(hostNetwork): "false"`, `=(volumes): [{X(hostPath): "null"}]`, `=(securityContext): {=(sysctls): [{=(name): "net.*"}]}`} {
		rules = append(rules, "validate: {message: Not allowed., pattern: {spec: {"+field+"}}}")
	}
	for _, key := range []string{
		"request.object.spec.[ephemeralContainers, initContainers, containers][].securityContext.capabilities.add[]",
		"request.object.spec.volumes[].keys(@)[] | []", "request.object.spec.containers[].ports[].hostPort",
	} {
		rules = append(rules, `
preconditions: {all: [{key: "{{ request.operation || 'BACKGROUND' }}", operator: NotEquals, value: DELETE}]}
validate:
  message: Not in the list.
  deny: {conditions: {all: [{key: "{{ `+key+` || `+"`[]`"+` }}", operator: AnyNotIn, value: [name, emptyDir, configMap]}]}}
`)
	}
	for range 4 {
		rules = append(rules, `
validate:
  message: Drop all.
  foreach:
  - list: request.object.spec.[ephemeralContainers, initContainers, containers][]
    deny: {conditions: {all: [{key: ALL, operator: AnyNotIn, value: "{{ element.securityContext.capabilities.drop[] || `+"`[]`"+` }}"}]}}
`)
	}
	return rules
}

// benchmarkReview reviews the same Pod as a scan evaluates it, by each policy.
func benchmarkReview(b *testing.B, r *policy.Request, policies ...policy.Policy) {
	b.Helper()
	b.ReportAllocs()
	before := enginetest.ProcessorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
		defer cancel()
		for pb.Next() {
			for _, p := range policies {
				if _, err := p.Review(ctx, r); err != nil {
					b.Error(err)
				}
			}
		}
	})
	b.ReportMetric(float64(enginetest.ProcessorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkReview reviews one request, by the policies of the other benchmarks.
func BenchmarkReview(b *testing.B) {
	var podSecurity []policy.Policy
	for i, rule := range podSecurityRules() {
		podSecurity = append(podSecurity, compile(b, strings.Replace(enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(rule))), "name: p", fmt.Sprintf("name: p%d", i), 1)))
	}
	pattern := compile(b, enginetest.Enforced)
	usesRequest := strings.Replace(enginetest.ValidatingPolicy, "'skip' in object", "'skip' in request.object", 1)
	b.Run("pattern", func(b *testing.B) { benchmarkReview(b, enginetest.Create(b, enginetest.BenchmarkPod), pattern) })
	b.Run("pattern, update", func(b *testing.B) {
		benchmarkReview(b, enginetest.Request(b, admissionv1.Update, enginetest.BenchmarkPod, enginetest.BenchmarkPod), pattern)
	})
	b.Run("other kind", func(b *testing.B) {
		benchmarkReview(b, enginetest.Create(b, enginetest.ConfigMap), pattern, compile(b, enginetest.ValidatingPolicy))
	})
	b.Run("pod security", func(b *testing.B) { benchmarkReview(b, enginetest.Create(b, enginetest.BenchmarkPod), podSecurity...) })
	b.Run("CEL", func(b *testing.B) {
		benchmarkReview(b, enginetest.Create(b, enginetest.BenchmarkPod), compile(b, enginetest.ValidatingPolicy))
	})
	b.Run("CEL, request", func(b *testing.B) {
		benchmarkReview(b, enginetest.Create(b, enginetest.BenchmarkPod), compile(b, usesRequest))
	})
}

// BenchmarkPattern evaluates one policy for one Pod.
func BenchmarkPattern(b *testing.B) {
	enginetest.Benchmark(b, enginetest.Subject(b, enginetest.BenchmarkPod), compile(b, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))))
}

// BenchmarkOtherKind evaluates a policy for what it is not about.
func BenchmarkOtherKind(b *testing.B) {
	enginetest.Benchmark(b, enginetest.Subject(b, enginetest.ConfigMap), compile(b, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))), compile(b, enginetest.ValidatingPolicy))
}

// BenchmarkPodSecurity evaluates 17 policies for one Pod.
func BenchmarkPodSecurity(b *testing.B) {
	var policies []policy.Policy
	for i, rule := range podSecurityRules() {
		policies = append(policies, compile(b, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(rule)), "name: p", fmt.Sprintf("name: p%d", i), 1)))
	}
	enginetest.Benchmark(b, enginetest.Subject(b, enginetest.BenchmarkPod), policies...)
}

// BenchmarkCEL evaluates a CEL policy for one Pod, with and without use of the request.
func BenchmarkCEL(b *testing.B) {
	b.Run("object", func(b *testing.B) {
		enginetest.Benchmark(b, enginetest.Subject(b, enginetest.BenchmarkPod), compile(b, enginetest.ValidatingPolicy))
	})
	b.Run("request", func(b *testing.B) {
		enginetest.Benchmark(b, enginetest.Subject(b, enginetest.BenchmarkPod), compile(b, strings.Replace(enginetest.ValidatingPolicy, "'skip' in object", "'skip' in request.object", 1)))
	})
}

// BenchmarkCompile compiles one policy of each engine.
func BenchmarkCompile(b *testing.B) {
	for name, text := range map[string]string{"classic": enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "CEL": enginetest.ValidatingPolicy} {
		b.Run(name, func(b *testing.B) {
			c, o := compiler(b), enginetest.Object(b, text)
			b.ReportAllocs()
			for b.Loop() {
				c.Compile(o, nil)
			}
		})
	}
}
