// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// The numbers of objects in https://github.com/kyverno/kyverno/issues/4459.
const (
	manyServices  = 4000
	manyIngresses = 3000
)

// service is one as Helm and kubectl leave it: 1.4 KB of JSON without managed fields.
func service(i, version int) map[string]any {
	name, namespace := fmt.Sprintf("shop-service-%d", i), fmt.Sprintf("team-%d", i%40)
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": metadata(namespace, name, i, version),
		"spec": map[string]any{
			"clusterIP": fmt.Sprintf("10.96.%d.%d", i/250, i%250), "clusterIPs": []any{fmt.Sprintf("10.96.%d.%d", i/250, i%250)},
			"internalTrafficPolicy": "Cluster", "ipFamilies": []any{"IPv4"}, "ipFamilyPolicy": "SingleStack",
			"ports": []any{
				map[string]any{"name": "http", "port": int64(80), "protocol": "TCP", "targetPort": "http"},
				map[string]any{"name": "metrics", "port": int64(9090), "protocol": "TCP", "targetPort": int64(9090)},
			},
			"selector":        map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "shop"},
			"sessionAffinity": "None", "type": "ClusterIP",
		},
		"status": map[string]any{"loadBalancer": map[string]any{}},
	}
}

// ingress is 1.7 KB.
func ingress(i, version int) map[string]any {
	name, namespace := fmt.Sprintf("shop-ingress-%d", i), fmt.Sprintf("team-%d", i%40)
	host := func(kind string) string { return fmt.Sprintf("%s-%d.apps.example.com", kind, i) }
	rule := func(host string) any {
		backend := map[string]any{"service": map[string]any{"name": fmt.Sprintf("shop-service-%d", i), "port": map[string]any{"name": "http"}}}
		return map[string]any{"host": host, "http": map[string]any{"paths": []any{
			map[string]any{"path": "/", "pathType": "Prefix", "backend": backend},
		}}}
	}
	metadata := metadata(namespace, name, i, version)
	metadata["finalizers"] = []any{"networking.example.com/load-balancer", "dns.example.com/records"}
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": "apps.example.com/v1", "kind": "Shop", "name": name, "uid": metadata["uid"], "controller": true,
	}}
	return map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
		"spec": map[string]any{
			"ingressClassName": "nginx", "rules": []any{rule(host("www")), rule(host("api"))},
			"tls": []any{map[string]any{"hosts": []any{host("www"), host("api")}, "secretName": name + "-tls"}},
		},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.10"}}}},
	}
}

// moved is an ingress with another host, which most results have in them.
func moved(i, version int) map[string]any {
	object := ingress(i, version)
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	rule, _ := rules[0].(map[string]any)
	rule["host"] = fmt.Sprintf("www-%d-%d.apps.example.com", i, version)
	return object
}

func metadata(namespace, name string, i, version int) map[string]any {
	return map[string]any{
		"namespace": namespace, "name": name, "uid": fmt.Sprintf("6f0c1b52-9d5e-4d0f-8a3c-%012d", i),
		"creationTimestamp": "2026-03-01T10:20:30Z", "resourceVersion": strconv.Itoa(1000000 + i + version*10000),
		"labels": map[string]any{
			"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "shop", "app.kubernetes.io/part-of": "online-shop",
			"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "shop-4.12.3", "team": namespace,
		},
		"annotations": map[string]any{
			"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": namespace,
			"example.com/contact": "team@example.com", "example.com/version": strconv.Itoa(version),
			"nginx.ingress.kubernetes.io/configuration-snippet": strings.Repeat("more_set_headers \"X: y\"; ", 11),
		},
	}
}

// filled returns tables of Services and Ingresses.
func filled(tb testing.TB) (services, ingresses *Table) {
	tb.Helper()
	engine := newEngine()
	services = NewTable(engine, Header{APIVersion: "v1", Kind: "Service", Plural: "services"})
	ingresses = NewTable(engine, Header{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Plural: "ingresses"})
	for i := range manyServices {
		services.Put(mustPack(tb, service(i, 0)))
	}
	for i := range manyIngresses {
		ingresses.Put(mustPack(tb, ingress(i, 0)))
	}
	return services, ingresses
}

// measure reports percentiles of the time that ask takes.
func measure(b *testing.B, before, ask func(i int)) {
	b.Helper()
	times := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		before(i)
		start := time.Now()
		ask(i)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(times[len(times)-1].Nanoseconds())/1e3, "max-µs")
}

func ask(b *testing.B, t *Table, expression string) {
	b.Helper()
	testkit.Must(t.Search(context.Background(), List, expression))(b)
}

// BenchmarkRepeated asks the same again and again, while an Ingress gets another host before each
// tenth question.
func BenchmarkRepeated(b *testing.B) {
	for _, expression := range []string{
		"items[].spec.rules[].host",
		"ingresses | items[].spec.rules[].host",
		"items[].[metadata.namespace, metadata.name]",
		"items[?metadata.namespace=='team-1'].metadata.name",
		"length(items)",
		"items[].spec.rules[].host | sort(@)",
		"items[?length(spec.rules) > `1`].metadata.name",
	} {
		b.Run(expression, func(b *testing.B) {
			_, ingresses := filled(b)
			ask(b, ingresses, expression)
			measure(b, func(i int) {
				if i%10 == 0 {
					ingresses.Put(mustPack(b, moved(i%manyIngresses, i)))
				}
			}, func(int) { ask(b, ingresses, expression) })
		})
	}
}

// BenchmarkOwnName has the name of the request in the expression: each question is another one.
func BenchmarkOwnName(b *testing.B) {
	for name, format := range map[string]string{
		"name":      "items[?metadata.name=='shop-ingress-%[1]d'] || `[]` | length(@)",
		"both":      "items[?metadata.name=='shop-ingress-%[1]d' && metadata.namespace=='team-%[2]d']",
		"namespace": "items[?metadata.namespace=='team-%[2]d' && metadata.name!='shop-ingress-%[1]d'] | length(@)",
		"hosts":     "items[?spec.rules[?host=='www-%[1]d.apps.example.com']].metadata.name",
		"contains":  "items[?contains(spec.rules[].host, 'api-%[1]d.apps.example.com')] | length(@)",
		"list":      "items[].spec.rules[].host | contains(@, 'api-%[1]d.apps.example.com')",
		"function":  "items[?to_string(metadata.name)=='shop-ingress-%[1]d'].metadata.uid",
		"or":        "items[?metadata.name=='shop-ingress-%[1]d' || metadata.name=='shop-ingress-%[2]d'].metadata.uid",
		"fallback":  "items[?starts_with(metadata.name, 'shop-ingress-%[1]d')].metadata.name",
	} {
		b.Run(name, func(b *testing.B) {
			_, ingresses := filled(b)
			expression := func(i int) string { return fmt.Sprintf(format, i%manyIngresses, i%40) }
			for i := range 6 {
				ask(b, ingresses, expression(i+manyIngresses))
			}
			measure(b, func(i int) {
				if i%10 == 0 {
					ingresses.Put(mustPack(b, ingress(i*7%manyIngresses, i)))
				}
			}, func(i int) { ask(b, ingresses, expression(i*13)) })
		})
	}
}

// BenchmarkFirst is the time of the first answer.
func BenchmarkFirst(b *testing.B) {
	services, _ := filled(b)
	for name, expression := range map[string]string{
		"column": "items[].metadata.name", "index": "items[?metadata.name=='x']", "objects": "items",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				services.Shrink()
				ask(b, services, expression)
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	services, _ := filled(b)
	objects := make([]*Packed, 0, 1000)
	for i := range cap(objects) {
		objects = append(objects, mustPack(b, service(i, 1)), mustPack(b, service(i, 2)))
	}
	measure(b, func(int) {}, func(i int) { services.Put(objects[i%len(objects)]) })
}

// resident returns the memory of the process in MiB.
func resident(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	pages := testkit.Must(strconv.ParseFloat(strings.Fields(string(text))[1], 64))(b)
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// BenchmarkMemory reports what both tables take: filled, with columns and indexes, and with all
// objects decoded; resident, and by their own account.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		start := resident(b)
		services, ingresses := filled(b)
		report := func(what string) {
			b.ReportMetric(resident(b)-start, what+"-MiB")
			b.ReportMetric(float64(services.Bytes()+ingresses.Bytes())/(1<<20), what+"-said-MiB")
		}
		report("filled")
		ask(b, ingresses, "items[].spec.rules[].host")
		ask(b, ingresses, "items[?contains(spec.rules[].host, 'x')]")
		ask(b, services, "items[].[metadata.namespace, metadata.name]")
		ask(b, services, "items[?metadata.name=='x']")
		report("asked")
		ask(b, services, "items")
		ask(b, ingresses, "items")
		report("decoded")
		runtime.KeepAlive(services)
		runtime.KeepAlive(ingresses)
	}
}
