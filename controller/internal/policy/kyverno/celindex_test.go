// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// servicesEntry has indexes of Services.
const servicesEntry = `
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: services}
spec:
  resource: {kind: Service}
  projections: [{name: names, jmesPath: "items[].metadata.name"}]
  indexes:
  - {name: byName, jmesPath: "join('/', [metadata.namespace, metadata.name])"}
  - {name: byPort, jmesPath: "spec.ports[].port"}
  - {name: headless, jmesPath: "spec.clusterIP=='None'"}
  - {name: broken, jmesPath: "join('/', spec.names)"}
`

func shopService(tb testing.TB, name string, port int, ip string) *unstructured.Unstructured {
	tb.Helper()
	return enginetest.Object(tb, fmt.Sprintf(
		"{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: shop}, spec: {clusterIP: %q, ports: [{port: %d}]}}", name, ip, port))
}

// entriesWith is a context cache that answers as that of a cluster does.
func entriesWith(tb testing.TB, entry string, resources ...*unstructured.Unstructured) policy.Entries {
	tb.Helper()
	functions, impure := classic.Functions(true)
	entries, err := contextcache.NewStatic(contextcache.Config{Engine: table.NewEngine(functions, impure...)},
		objects.NewAPI(objects.NewDocuments(resources, objects.KindsOf(resources, &served.Catalog{})), nil), []*unstructured.Unstructured{enginetest.Object(tb, entry)})
	if err != nil {
		tb.Fatal(err)
	}
	return entries
}

// withExpression is a CEL policy for Pods with one expression.
func withExpression(expression string) string {
	return strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", fmt.Sprintf("%q, m", expression), 1)
}

// TestIndexesOfCELPolicies promises that an index is a map in everything that CEL does with maps.
func TestIndexesOfCELPolicies(t *testing.T) {
	t.Parallel()
	entries := entriesWith(t, servicesEntry, shopService(t, "cart", 80, "10.0.0.1"), shopService(t, "db", 5432, "None"), shopService(t, "web", 80, "10.0.0.2"))
	for expression, outcome := range map[string]string{
		"'shop/cart' in globalContext.Get('services', 'byName')":                                                                        ":pass",
		"'shop/none' in globalContext.Get('services', 'byName')":                                                                        ":fail",
		"globalContext.get('services', 'byName')['shop/db'][0].spec.clusterIP == 'None'":                                                ":pass",
		"globalContext.Get('services', 'byName')['shop/none'].size() == 0":                                                              ":error",
		"globalContext.Get('services', 'byName')[?'shop/none'].hasValue()":                                                              ":fail",
		"globalContext.Get('services', 'byName')[?'shop/web'].orValue([]).exists(s, s.spec.ports[0].port == 80)":                        ":pass",
		"globalContext.Get('services', 'byPort')[80].map(s, s.metadata.name) == ['cart', 'web']":                                        ":pass",
		"80u in globalContext.Get('services', 'byPort') && 80.0 in globalContext.Get('services', 'byPort')":                             ":pass",
		"9007199254740993 in globalContext.Get('services', 'byPort') || '80' in globalContext.Get('services', 'byPort')":                ":fail",
		"globalContext.Get('services', 'headless')[true][0].metadata.name == 'db'":                                                      ":pass",
		"globalContext.Get('services', 'byName').size() == 3":                                                                           ":pass",
		"globalContext.Get('services', 'byName').all(k, k.startsWith('shop/'))":                                                         ":pass",
		"globalContext.Get('services', 'byPort').exists_one(k, k == 5432.0)":                                                            ":pass",
		"globalContext.Get('services', 'byName') == globalContext.Get('services', 'byName')":                                            ":pass",
		"globalContext.Get('services', 'byName') == globalContext.Get('services', 'byPort')":                                            ":fail",
		"type(globalContext.Get('services', 'byName')) == map":                                                                          ":pass",
		"'cart' in globalContext.Get('services', 'names')":                                                                              ":pass",
		"globalContext.Get('services', 'broken').size() == 0":                                                                           ":error",
		"json.marshal(globalContext.Get('services', 'headless')).contains('\\\"cart\\\"')":                                              ":error", // Its keys are no texts.
		"json.marshal(globalContext.Get('services', 'byName')).contains('cart')":                                                        ":pass",
		"[1, 2, 3].all(i, globalContext.Get('services', 'byName').size() == 3 && 'shop/db' in globalContext.Get('services', 'byName'))": ":pass",
	} {
		p := enginetest.Compile(t, withEntries(t, entries), withExpression(expression))
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), outcome)
		})
	}
}

// TestIndexesAreNotForJMESPath promises an error that says what to write instead.
func TestIndexesAreNotForJMESPath(t *testing.T) {
	t.Parallel()
	p := enginetest.Compile(t, withEntries(t, entriesWith(t, servicesEntry)), enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, globalReference: {name: services.byName}}]
validate: {deny: {conditions: {any: [{key: "{{ length(c) }}", operator: Equals, value: 0}]}}}
`)))
	enginetest.WantError(t, p, enginetest.Subject(t, enginetest.GoodPod), "r", `"byName" is an index`, "filter by equality")
}

// TestIndexesCountWhatTheyDecode: an object that is looked up is made for this evaluation.
func TestIndexesCountWhatTheyDecode(t *testing.T) {
	t.Parallel()
	var services []*unstructured.Unstructured
	for i := range 2000 {
		one := shopService(t, fmt.Sprint("s", i), 80, "10.0.0.1")
		one.SetAnnotations(map[string]string{"text": strings.Repeat("x", 1000)})
		services = append(services, one)
	}
	entries := entriesWith(t, servicesEntry, services...)
	for expression, outcome := range map[string]string{
		// The same objects, looked up by one map and by several.
		"cel.bind(byPort, globalContext.Get('services', 'byPort'), [1, 2, 3, 4, 5, 6, 7, 8].all(i, byPort[80].size() == 2000))": ":pass",
		"[1, 2, 3, 4, 5, 6, 7, 8].all(i, globalContext.Get('services', 'byPort')[80].size() == 2000)":                           ":error",
	} {
		p := enginetest.Compile(t, withEntries(t, entries), withExpression(expression))
		results := enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), outcome)
		if outcome == ":error" && !strings.Contains(results[0].Message, "more than 16 MiB") {
			t.Errorf("%s: %s", expression, results[0].Message)
		}
	}
}
