// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// BenchmarkPod is of the size of a real one.
const BenchmarkPod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-5d8f7
  namespace: team
  uid: 5c1e0a0e-0000-4000-8000-000000000000
  labels: {app: web, tier: front, pod-template-hash: 5d8f7}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f, uid: u, controller: true}]
spec:
  nodeName: node-1
  serviceAccountName: web
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  volumes: [{name: data, emptyDir: {}}, {name: settings, configMap: {name: web}}]
  containers:
  - name: main
    image: registry.test/web:1.2
    ports: [{containerPort: 8080}]
    env: [{name: A, value: a}, {name: B, value: b}]
    resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 64Mi}}
    volumeMounts: [{name: data, mountPath: /data}, {name: settings, mountPath: /etc/web}]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  - name: side
    image: registry.test/side:1
    securityContext: {privileged: true}
status:
  phase: Running
  podIP: 192.0.2.1
  conditions: [{type: Ready, status: "True"}, {type: Initialized, status: "True"}]
  containerStatuses: [{name: main, ready: true, image: "registry.test/web:1.2"}, {name: side, ready: true, image: "registry.test/side:1"}]
`

// Benchmark measures evaluations of one subject by all policies.
func Benchmark(b *testing.B, s policy.Subject, policies ...policy.Policy) {
	b.Helper()
	b.ReportAllocs()
	before := ProcessorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			for _, p := range policies {
				if _, err := p.Evaluate(b.Context(), s); err != nil {
					b.Error(err)
				}
			}
		}
	})
	b.ReportMetric(float64(ProcessorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// ProcessorTime says more than the clock on a machine that has other work.
func ProcessorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
