// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Cluster is an imaginary cluster. Its namespaces, workloads and nodes exist only
// in the reports about them; the same workload appears in reports of several sources.
type Cluster struct {
	// Seed makes clusters differ.
	Seed uint64
	// NamespaceCount is how many namespaces the workloads are spread over; 0 means 8.
	NamespaceCount int
	// Now is the time of the youngest result; results are up to two days older.
	Now time.Time
}

const defaultNamespaceCount = 8

func (c Cluster) namespaceCount() int {
	if c.NamespaceCount <= 0 {
		return defaultNamespaceCount
	}
	return c.NamespaceCount
}

func namespaceName(i int) string {
	areas := []string{
		"shop", "payments", "search", "identity", "media", "billing", "logistics", "analytics",
	}
	if i < len(areas) {
		return areas[i]
	}
	return fmt.Sprintf("%s-%d", areas[i%len(areas)], i/len(areas)+1)
}

// maker makes the k-th report of one source.
type maker func(c Cluster, k int) *unstructured.Unstructured

// demo is the order in which Reports takes from the sources; most reports of a real
// cluster come from Kyverno and Trivy.
func demo() []struct {
	source string
	make   maker
} {
	return []struct {
		source string
		make   maker
	}{
		{"kyverno", Cluster.kyvernoWorkload},
		{"trivy", Cluster.trivyImage},
		{"kubewarden", Cluster.kubewardenWorkload},
		{"kube-bench", Cluster.kubeBenchNode},
		{"kyverno", Cluster.kyvernoWorkload},
		{"trivy-audit", Cluster.trivyAudit},
		{"falco", Cluster.falcoNamespace},
		{"kyverno-namespaces", Cluster.kyvernoNamespace},
		{"kyverno", Cluster.kyvernoWorkload},
		{"kyverno-ephemeral", Cluster.kyvernoEphemeral},
	}
}

// Reports makes n reports, one after the other: a mixture of all sources and both of
// the groups that people read, some ephemeral ones, and Trivy's kinds. The first reports
// of a greater n are the same.
func (c Cluster) Reports(n int) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		made := map[string]int{}
		for i := range n {
			next := demo()[i%len(demo())]
			if !yield(next.make(c, made[next.source])) {
				return
			}
			made[next.source]++
		}
	}
}

// Report returns the i-th report of a kind as Kyverno writes them, with the given
// number of results: 17 of them make a report of about 7 KB.
func (c Cluster) Report(kind Kind, i, results int) *unstructured.Unstructured {
	about := c.workload(i)
	if !kind.Namespaced {
		about = c.namespaceSubject(i)
	}
	return c.kyverno(kind, about, i, results)
}

// subject is a resource that results are about.
type subject struct {
	apiVersion, kind, namespace, name, uid string
}

// app is the name of a workload without its number.
func (s subject) app() string { return s.name[:len(s.name)-len("-00000")] }

func (c Cluster) workload(i int) subject {
	random := c.random("workload", i)
	apps := []string{
		"frontend", "checkout", "cart", "catalog", "ledger", "mailer", "session", "thumbnailer",
		"indexer", "gateway", "scheduler", "exporter", "recommender", "inventory", "notifier",
	}
	kinds := []struct{ apiVersion, kind string }{
		{"apps/v1", "Deployment"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"},
		{"v1", "Pod"}, {"batch/v1", "CronJob"},
	}
	kind := kinds[random.IntN(len(kinds))]
	return subject{
		apiVersion: kind.apiVersion,
		kind:       kind.kind,
		namespace:  namespaceName(i % c.namespaceCount()),
		name:       fmt.Sprintf("%s-%05d", apps[random.IntN(len(apps))], i),
		uid:        uid(random),
	}
}

func (c Cluster) namespaceSubject(i int) subject {
	return subject{
		apiVersion: "v1", kind: "Namespace", name: namespaceName(i),
		uid: uid(c.random("namespace", i)),
	}
}

func (c Cluster) node(i int) subject {
	return subject{
		apiVersion: "v1", kind: "Node", name: fmt.Sprintf("node-%03d", i),
		uid: uid(c.random("node", i)),
	}
}

func (s subject) reference() map[string]any {
	reference := map[string]any{
		"apiVersion": s.apiVersion, "kind": s.kind, "name": s.name, "uid": s.uid,
	}
	if s.namespace != "" {
		reference["namespace"] = s.namespace
	}
	return reference
}

func (s subject) owner() map[string]any {
	return map[string]any{
		"apiVersion": s.apiVersion, "kind": s.kind, "name": s.name, "uid": s.uid,
	}
}

// random returns the generator of one thing: the same for the same cluster, purpose
// and number, and unlike all others.
func (c Cluster) random(purpose string, i int) *rand.Rand {
	const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211
	hash := uint64(fnvOffset)
	for _, b := range []byte(purpose) {
		hash = (hash ^ uint64(b)) * fnvPrime
	}
	return rand.New(rand.NewPCG(c.Seed^hash, uint64(i)))
}

// uid returns a version 4 UUID.
func uid(random *rand.Rand) string {
	high, low := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		high>>32, high>>16&0xffff, high&0xfff, 0x8000|low>>48&0x3fff, low&0xffffffffffff)
}
