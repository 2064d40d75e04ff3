// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
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

const (
	hostsContext    = `{name: hosts, globalReference: {name: ingresses, jmesPath: "[].spec.rules[].host"}}`
	servicesContext = `{name: services, cachedContextEntry: {name: services}}`
	mine            = "request.object.spec.rules[].host"
)

// cachedPolicies are the policies of the motivation of the resource cache, in the ways in which
// users write them.
var cachedPolicies = map[string]string{
	"hosts/AnyIn": ingressRule(`
context: [` + hostsContext + `]
validate: {message: taken, deny: {conditions: {any: [{key: "{{ ` + mine + ` }}", operator: AnyIn, value: "{{ hosts }}"}]}}}
`),
	"hosts/reversed": ingressRule(`
context: [` + hostsContext + `]
validate: {message: taken, deny: {conditions: {any: [{key: "{{ hosts }}", operator: AnyIn, value: "{{ ` + mine + ` }}"}]}}}
`),
	"hosts/foreach": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: request.object.spec.rules
    deny: {conditions: {any: [{key: "{{ element.host }}", operator: AnyIn, value: "{{ hosts }}"}]}}
`),
	"hosts/length of a filter": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: request.object.spec.rules
    deny: {conditions: {any: [{key: "{{ length(hosts[?@ == '{{ element.host }}']) }}", operator: GreaterThan, value: 0}]}}
`),
	"hosts/key of several parts": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: request.object.spec.rules
    deny: {conditions: {any: [{key: "{{ element.host }}.", operator: AnyIn, value: "{{ hosts }}"}]}}
`),
	"hosts/wildcards": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: request.object.spec.rules
    deny: {conditions: {any: [{key: "*.{{ element.host }}", operator: AnyIn, value: "{{ hosts }}"}]}}
`),
	"hosts/as the engine does": ingressRule(`
context: [` + hostsContext + `]
validate: {message: taken, deny: {conditions: {any: [{key: "{{ ` + mine + ` | sort_by(@, &random('a')) }}", operator: AnyIn, value: "{{ hosts }}"}]}}}
`),
	"hosts/foreach over them": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: hosts
    deny: {conditions: {any: [{key: "{{ element }}", operator: AnyIn, value: "{{ ` + mine + ` }}"}]}}
`),
	"hosts/contains": ingressRule(`
context: [` + hostsContext + `]
validate:
  message: taken
  foreach:
  - list: request.object.spec.rules
    deny: {conditions: {any: [{key: "{{ contains(hosts, element.host) }}", operator: Equals, value: true}]}}
`),
	"hosts/expression with the name": ingressRule(`
context: [{name: taken, globalReference: {name: ingresses, jmesPath: "[?metadata.name!='{{ request.object.metadata.name }}'].spec.rules[].host"}}]
validate: {message: taken, deny: {conditions: {any: [{key: "{{ ` + mine + ` }}", operator: AnyIn, value: "{{ taken }}"}]}}}
`),
	"services/expression with the name": ingressRule(`
validate:
  message: no such service
  foreach:
  - list: request.object.spec.rules[].http.paths[].backend.service.name
    context: [{name: found, cachedContextEntry: {name: services, jmesPath: "items[?metadata.name=='{{ element }}']"}}]
    deny: {conditions: {any: [{key: "{{ length(found) }}", operator: Equals, value: 0}]}}
`),
	"services/names": ingressRule(`
context: [{name: names, cachedContextEntry: {name: services, jmesPath: "items[].metadata.name"}}]
validate:
  message: no such service
  deny: {conditions: {any: [{key: "{{ request.object.spec.rules[].http.paths[].backend.service.name }}", operator: AnyNotIn, value: "{{ names }}"}]}}
`),
	"services/raw list": ingressRule(`
context: [` + servicesContext + `]
validate:
  message: no such service
  deny: {conditions: {any: [{key: "{{ length(services.items[?metadata.name=='service-17']) }}", operator: Equals, value: 0}]}}
`),
	"services/raw list, foreach": ingressRule(`
context: [` + servicesContext + `]
validate:
  message: no such service
  foreach:
  - list: request.object.spec.rules[].http.paths[].backend.service.name
    deny: {conditions: {any: [{key: "{{ length(services.items[?metadata.name=='{{ element }}']) }}", operator: Equals, value: 0}]}}
`),
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

// celPolicies do in CEL what others do with JMESPath. An entry with many members should have a
// projection: CEL goes through all of them.
var celPolicies = map[string]string{
	"CEL/hosts": celIngressPolicy("object.spec.rules.all(r, !(r.host in globalContext.Get('ingresses', 'hosts')))"),
	"CEL/services": celIngressPolicy(
		"object.spec.rules.all(r, r.http.paths.all(p, globalContext.Get('services', '').items.exists(s, s.metadata.name == p.backend.service.name)))"),
}

// benchmarkEntries answers all of the expressions from memory.
func benchmarkEntries(tb testing.TB) *enginetest.FakeEntries {
	tb.Helper()
	hosts, services := ingressHosts(), serviceList()
	var names []any
	items := services.(map[string]any)["items"].([]any)
	for _, item := range items {
		names = append(names, item.(map[string]any)["metadata"].(map[string]any)["name"])
	}
	return &enginetest.FakeEntries{
		Data: map[policy.Entry]any{
			{Kind: policy.GlobalContextEntry, Name: "ingresses"}: []any{},
			{Kind: policy.CachedContextEntry, Name: "services"}:  services,
			{Kind: policy.GlobalContextEntry, Name: "services"}:  services,
		},
		Projections: map[string]any{"hosts": hosts},
		Fixed: map[string]any{
			"[].spec.rules[].host":                       hosts,
			"[?metadata.name!='mine'].spec.rules[].host": hosts,
			"items[].metadata.name":                      names,
			"items[?metadata.name=='service-17']":        items[17:18],
			"items[?metadata.name=='service-18']":        items[18:19],
		},
		Engine: jmespath.New(config.NewDefaultConfiguration(false)),
	}
}

// BenchmarkCachedContext evaluates whole policies, with the values of the cache at hand.
func BenchmarkCachedContext(b *testing.B) {
	entries, s := benchmarkEntries(b), enginetest.Subject(b, benchmarkIngress)
	all := maps.Clone(cachedPolicies)
	maps.Copy(all, celPolicies)
	for name, text := range all {
		b.Run(name, func(b *testing.B) {
			p := withEntries(b, entries).Compile(enginetest.Object(b, text), nil)
			if results, _ := enginetest.Evaluate(b, p, s); len(results) != 1 || results[0].Outcome != report.OutcomePass {
				b.Fatalf("%+v, %v", results, p.Problem())
			}
			var times []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				testkit.Must(p.Evaluate(b.Context(), s))(b)
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
