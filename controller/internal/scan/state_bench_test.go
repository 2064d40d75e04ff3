// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const benchPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-%[1]d", "namespace": "team-%[2]d", "uid": "7f1c8a0e-0000-4000-8000-%012[1]d",
"resourceVersion": "%[1]d", "creationTimestamp": "2026-11-01T00:00:00Z", "generateName": "web-",
"labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "pod-template-hash": "5d8f7c9b6"},
"annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "checksum/config": "2f7e1a3c5b9d"},
"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8f7c9b6", "uid": "3a1c8a0e-0000-4000-8000-000000000001", "controller": true, "blockOwnerDeletion": true}],
"managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": "2026-11-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}}}, "f:spec": {"f:containers": {}}}}]},
"spec": {"serviceAccountName": "web", "nodeName": "node-%[2]d", "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
"securityContext": {"runAsNonRoot": true, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
"containers": [
{"name": "web", "image": "registry.example.com/shop/web:1.2.3", "imagePullPolicy": "IfNotPresent", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
"env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
"resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
"securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
"readinessProbe": {"httpGet": {"path": "/ready", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3},
"volumeMounts": [{"name": "config", "mountPath": "/etc/web", "readOnly": true}, {"name": "kube-api-access-x", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}],
"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
{"name": "proxy", "image": "registry.example.com/mesh/proxy:3.1", "imagePullPolicy": "IfNotPresent", "args": ["--config", "/etc/proxy"], "resources": {"requests": {"cpu": "10m"}}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
"volumes": [{"name": "config", "configMap": {"name": "web", "defaultMode": 420}}, {"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}, {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}]},
"status": {"phase": "Running", "podIP": "10.0.0.%[2]d", "qosClass": "Burstable", "startTime": "2026-11-01T00:00:00Z",
"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:10Z"}, {"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-11-01T00:00:10Z"}],
"containerStatuses": [{"name": "web", "ready": true, "restartCount": 0, "image": "registry.example.com/shop/web:1.2.3", "imageID": "registry.example.com/shop/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "state": {"running": {"startedAt": "2026-11-01T00:00:05Z"}}}]}}`

// benchPolicy passes everything.
type benchPolicy struct{ id policy.Identity }

func (p benchPolicy) Identity() policy.Identity         { return p.id }
func (p benchPolicy) Presentation() policy.Presentation { return policy.Presentation{Source: "bench"} }
func (p benchPolicy) Fingerprint() string               { return p.id.Name }
func (p benchPolicy) Background() bool                  { return true }
func (p benchPolicy) Targets() []policy.Target {
	return []policy.Target{{Version: "v1", Kind: "Pod"}}
}
func (p benchPolicy) Admission() policy.Admission { return policy.Admission{} }
func (p benchPolicy) Entries() []policy.Entry     { return nil }
func (benchPolicy) ReadsNamespace() bool          { return false }
func (benchPolicy) ReadsStatus() bool             { return false }
func (benchPolicy) Doubt() error                  { return nil }
func (benchPolicy) LeftOut() []string             { return nil }
func (benchPolicy) Reported() bool                { return true }
func (p benchPolicy) Problem() error              { return nil }
func (p benchPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, nil
}
func (p benchPolicy) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return []policy.Result{{Rule: "rule", Outcome: report.OutcomePass}}, nil
}

// countResults only counts: the memory is to be that of the scanner.
type countResults struct{ Results }

func (countResults) Present(policy.Identity, policy.Presentation)           {}
func (countResults) Set(policy.Identity, policy.Reference, []policy.Result) {}

// BenchmarkState: 10,000 pods by 17 policies, as a reflector brings them, evaluated by one worker;
// and the memory that the scanner keeps for them.
func BenchmarkState(b *testing.B) {
	const pods, policies = 10_000, 17
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		config := &Config{Clock: clock.RealClock{}, Results: countResults{}, EvaluationLimit: defaultLimit, Patience: defaultPatience}
		e := newEvaluator(config, newInventory(config, nil), nil)
		queue := e.inventory.queue
		k := newKind(served.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}, queue, shard.Set{})
		k.source = source.New(source.Config{Resource: k.resource, Clock: clock.RealClock{}, Changed: func(error) {}})
		var list []*compiled
		for i := range policies {
			state := newPolicyState(policy.Identity{Kind: policy.ClusterPolicy, Name: fmt.Sprint("p", i)}, config)
			state.update(benchPolicy{state.id}, policy.Rules{})
			list = append(list, state.current)
		}
		k.setPolicies(list, false)
		size := fill(b, k, pods)
		for !queue.idle() {
			rs, _ := queue.get()
			if v := e.visit(b.Context(), rs); !e.proceed(b.Context(), v) || v.err != nil {
				b.Fatal(v.err)
			}
			queue.done(rs)
		}
		b.StopTimer()
		kept := heap() - before
		b.ReportMetric(float64(kept)/(1<<20), "MB-kept")
		b.ReportMetric(float64(kept-uint64(size))/(1<<20), "MB-kept-beside-JSON")
		runtime.KeepAlive(k)
		b.StartTimer()
	}
}

// fill gives pods to a kind as a reflector does, and returns the size of their JSON.
func fill(b *testing.B, k *kind, pods int) (size int) {
	b.Helper()
	objects := make([]any, 0, pods)
	for i := range pods {
		o := &unstructured.Unstructured{}
		testkit.NoError(b, o.UnmarshalJSON(fmt.Appendf(nil, benchPod, i, i%100)))
		object := testkit.Must(k.Transformer()(o))(b)
		if p, ok := object.(*packed); ok {
			size += len(p.data)
		}
		objects = append(objects, object)
	}
	testkit.NoError(b, k.Replace(objects, ""))
	return size
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
