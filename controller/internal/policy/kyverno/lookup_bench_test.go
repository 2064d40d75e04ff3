// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"slices"
	"testing"
	"time"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"github.com/kyverno/kyverno/pkg/engine/policycontext"
	"github.com/kyverno/kyverno/pkg/globalcontext/store"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	manyIngresses = 3000
	manyServices  = 4000
)

// benchmarkIngress is the subject. Its hosts are nobody else's, and its services exist.
const benchmarkIngress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: mine, namespace: team, labels: {app: web}, annotations: {cert-manager.io/cluster-issuer: main}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [mine.example.com, other.example.com], secretName: mine-tls}]
  rules:
  - host: mine.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: service-17, port: {number: 80}}}}]}
  - host: other.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: service-18, port: {number: 80}}}}]}
`

func ingressHosts() []any {
	hosts := make([]any, 0, manyIngresses)
	for i := range manyIngresses {
		hosts = append(hosts, fmt.Sprintf("host-%d.team-%d.example.com", i, i%40))
	}
	return hosts
}

// serviceList is a list of Services as the API gives it, 1.4 KB each.
func serviceList() any {
	items := make([]any, 0, manyServices)
	for i := range manyServices {
		labels := map[string]any{}
		for j := range 8 {
			labels[fmt.Sprintf("app.kubernetes.io/label-%d", j)] = fmt.Sprintf("value-%d-of-service-%d", j, i)
		}
		items = append(items, map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{
				"name": fmt.Sprintf("service-%d", i), "namespace": fmt.Sprintf("team-%d", i%40), "uid": fmt.Sprintf("uid-%d", i),
				"resourceVersion": fmt.Sprint(i), "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels,
			},
			"spec": map[string]any{
				"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "type": "ClusterIP", "selector": labels, "sessionAffinity": "None",
				"ports": []any{map[string]any{"name": "http", "port": 80.0, "targetPort": 8080.0, "protocol": "TCP"}},
			},
			"status": map[string]any{"loadBalancer": map[string]any{}},
		})
	}
	return map[string]any{"apiVersion": "v1", "kind": "ServiceList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items}
}

// ingressRule matches Ingresses.
func ingressRule(fields string) string {
	return enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [Ingress]}}]}\n" + enginetest.Indent(fields))
}

// celIngressPolicy is about Ingresses, too.
func celIngressPolicy(expression string) string {
	return `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [ingresses]}]
  validations: [{expression: "` + expression + `"}]
`
}

// ingressList is 1.6 KB each, without managed fields.
func ingressList() []any {
	items := make([]any, 0, manyIngresses)
	for i, host := range ingressHosts() {
		labels := map[string]any{}
		for j := range 6 {
			labels[fmt.Sprintf("app.kubernetes.io/label-%d", j)] = fmt.Sprintf("value-%d-of-ingress-%d", j, i)
		}
		items = append(items, map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
			"metadata": map[string]any{
				"name": fmt.Sprintf("ingress-%d", i), "namespace": fmt.Sprintf("team-%d", i%40), "uid": fmt.Sprintf("uid-%d", i),
				"resourceVersion": fmt.Sprint(i), "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels,
				"annotations": map[string]any{"cert-manager.io/cluster-issuer": "main", "nginx.ingress.kubernetes.io/proxy-body-size": "8m"},
			},
			"spec": map[string]any{
				"ingressClassName": "nginx", "tls": []any{map[string]any{"hosts": []any{host}, "secretName": fmt.Sprintf("tls-%d", i)}},
				"rules": []any{map[string]any{"host": host, "http": map[string]any{"paths": []any{map[string]any{
					"path": "/", "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}}},
				}}}}},
			},
			"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}},
		})
	}
	return items
}

// lookups are contexts of Kyverno's form, which both can read.
var lookups = []struct{ name, context string }{
	{"list", `[{name: x, globalReference: {name: ingresses}}]`},
	{"hosts", `[{name: x, globalReference: {name: ingresses, jmesPath: "[].spec.rules[].host"}}]`},
	{"projection", `[{name: x, globalReference: {name: ingresses.hosts}}]`},
	{"own name", `[{name: x, globalReference: {name: ingresses, jmesPath: "[?spec.rules[?host=='{{ request.object.spec.rules[0].host }}']]"}}]`},
	{"names of services", `[{name: x, globalReference: {name: services, jmesPath: "[].join('/', [metadata.namespace, metadata.name])"}}]`},
}

// celLookups do in CEL what the motivating policies do; the last ones without an index.
var celLookups = map[string]string{
	"CEL nothing":  "object.spec.rules.size() > 0",
	"CEL services": "object.spec.rules.all(r, r.http.paths.all(p, (p.backend.service.name.replace('service', 'team') + '/' + p.backend.service.name) in globalContext.Get('keyed', 'byName')))",
	"CEL port of a service": "object.spec.rules.all(r, r.http.paths.all(p, globalContext.Get('keyed', 'byName')[p.backend.service.name.replace('service', 'team') + '/' + p.backend.service.name][0]" +
		".spec.ports.exists(q, q.port == p.backend.service.port.number)))",
	"CEL hosts":                  "object.spec.rules.all(r, !(r.host in globalContext.Get('hosts', 'byHost')))",
	"CEL projection":             "globalContext.Get('ingresses', 'hosts').size() > 0",
	"CEL hosts in a projection":  "object.spec.rules.all(r, !(r.host in globalContext.Get('ingresses', 'hosts')))",
	"CEL services without index": "object.spec.rules.all(r, r.http.paths.all(p, globalContext.Get('services', '').exists(s, s.metadata.name == p.backend.service.name)))",
}

// lister is what Kyverno's cache gives for resources: the objects of an informer, and projections that
// were computed when the last one changed.
type lister struct {
	objects     []any
	projections map[string]any
}

// Get is that of Kyverno's entries.
func (l *lister) Get(projection string) (any, error) {
	if projection != "" {
		return l.projections[projection], nil
	}
	return slices.Clone(l.objects), nil
}

// Stop is that of Kyverno's entries.
func (l *lister) Stop() {}

// BenchmarkLookup evaluates a rule that reads cached data, here and in Kyverno's engine with its own
// loader and a GlobalContextEntry of the same objects. docs/operate/benchmarks.md has the table.
func BenchmarkLookup(b *testing.B) {
	ingresses, services := ingressList(), serviceList().(map[string]any)["items"].([]any)
	here := staticEntries(b, ingresses, services)
	there := store.New(0)
	for name, entry := range map[string]*lister{"ingresses": {ingresses, map[string]any{"hosts": ingressHosts()}}, "services": {objects: services}} {
		testkit.NoError(b, there.Set(name, entry))
	}
	for name, expression := range celLookups {
		b.Run(name+"/docket", func(b *testing.B) { lookupHere(b, celIngressPolicy(expression), here) })
	}
	for _, lookup := range lookups {
		text := ingressRule("context: " + lookup.context + "\nvalidate: {message: never, deny: {conditions: {any: [{key: \"{{ length(x) }}\", operator: Equals, value: -1}]}}}\n")
		b.Run(lookup.name+"/docket", func(b *testing.B) { lookupHere(b, text, here) })
		b.Run(lookup.name+"/kyverno", func(b *testing.B) { lookupThere(b, text, there) })
	}
}

// staticEntries returns a context cache with both lists.
func staticEntries(b *testing.B, lists ...[]any) policy.Entries {
	b.Helper()
	declared := []*unstructured.Unstructured{
		enginetest.Object(b, "{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: keyed}, spec: {resource: {kind: Service}, indexes: [{name: byName, jmesPath: \"join('/', [metadata.namespace, metadata.name])\"}]}}"),
		enginetest.Object(b, "{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: hosts}, spec: {resource: {kind: Ingress}, indexes: [{name: byHost, jmesPath: 'spec.rules[].host'}]}}"),
		enginetest.Object(b, "{apiVersion: kyverno.io/v2, kind: GlobalContextEntry, metadata: {name: services}, spec: {kubernetesResource: {version: v1, resource: services}}}"),
		enginetest.Object(b, "{apiVersion: kyverno.io/v2, kind: GlobalContextEntry, metadata: {name: ingresses}, spec: {kubernetesResource: {group: networking.k8s.io, version: v1, resource: ingresses}, projections: [{name: hosts, jmesPath: '[].spec.rules[].host'}]}}"),
	}
	functions, impure := classic.Functions(true)
	var resources []*unstructured.Unstructured
	for _, list := range lists {
		for _, item := range list {
			resources = append(resources, &unstructured.Unstructured{Object: item.(map[string]any)})
		}
	}
	entries, err := contextcache.NewStatic(contextcache.Config{Engine: table.NewEngine(functions, impure...)}, objects.NewAPI(objects.NewDocuments(resources, objects.KindsOf(resources, &served.Catalog{})), nil), declared)
	if err != nil {
		b.Fatal(err)
	}
	return entries
}

func lookupHere(b *testing.B, text string, entries policy.Entries) {
	b.Helper()
	c := testkit.Must(NewCompiler(base.Config{Entries: entries}))(b)
	compiled := c.Compile(enginetest.Object(b, text), nil)
	s := enginetest.Subject(b, benchmarkIngress)
	measure(b, func() {
		results, err := compiled.Evaluate(b.Context(), s)
		if err != nil || len(results) != 1 || results[0].Outcome != report.OutcomePass {
			b.Fatalf("%v %v", results, err)
		}
	})
}

func lookupThere(b *testing.B, text string, entries store.Store) {
	b.Helper()
	settings := config.NewDefaultConfiguration(false)
	query := jmespath.New(settings)
	off := false
	stock := engine.NewEngine(settings, query, nil, nil, nil, factories.DefaultContextLoaderFactory(nil, factories.WithGlobalContextStore(entries)), nil, &off)
	decoded := &kyvernov1.ClusterPolicy{}
	testkit.NoError(b, base.Decode(enginetest.Object(b, text), decoded))
	measure(b, func() {
		made := testkit.Must(policycontext.NewPolicyContext(query, *enginetest.Object(b, benchmarkIngress), kyvernov1.Create, nil, settings))(b)
		response := stock.Validate(b.Context(), made.WithPolicy(decoded))
		if rules := response.PolicyResponse.Rules; len(rules) != 1 || rules[0].Status() != "pass" {
			b.Fatalf("Kyverno: %s", rules[0].Message())
		}
	})
}

// measure reports quantiles beside the mean. The first call pays for what is kept.
func measure(b *testing.B, call func()) {
	b.Helper()
	call()
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		started := time.Now()
		call()
		times = append(times, time.Since(started))
	}
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[min(int(q*float64(len(times))), len(times)-1)].Microseconds()) / 1e3
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}
