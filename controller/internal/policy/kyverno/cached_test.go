// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/policy"
)

// fakeEntries has the data of entries, and evaluates expressions over them as the cache promises:
// results are shared.
type fakeEntries struct {
	data        map[policy.Entry]any
	projections map[string]any
	failure     map[policy.Entry]error
	engine      *expressions
	// fixed are the results of expressions for all entries.
	fixed map[string]any

	lock    sync.Mutex
	queries []policy.Query
}

func (f *fakeEntries) Query(ctx context.Context, query policy.Query) (any, error) {
	f.lock.Lock()
	f.queries = append(f.queries, query)
	f.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.failure[query.Entry]; err != nil {
		return nil, err
	}
	data, ok := f.data[query.Entry]
	if !ok {
		return nil, fmt.Errorf("there is no entry %+v", query.Entry)
	}
	if query.Projection != "" {
		if data, ok = f.projections[query.Projection]; !ok {
			return nil, fmt.Errorf("there is no projection %s", query.Projection)
		}
	}
	if query.Expression == "" {
		return data, nil
	}
	if fixed, ok := f.fixed[query.Expression]; ok {
		return fixed, nil
	}
	expression := query.Expression
	if query.Alias != "" {
		if rest, ok := strings.CutPrefix(expression, query.Alias+" "); ok {
			expression = "@ " + rest
		}
	}
	return f.engine.Search(expression, data)
}

func (f *fakeEntries) last() policy.Query {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.queries) == 0 {
		return policy.Query{}
	}
	return f.queries[len(f.queries)-1]
}

// document reads YAML as encoding/json reads JSON.
func documentOf(tb testing.TB, text string) any {
	tb.Helper()
	var out any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		tb.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

const (
	teamList = `
apiVersion: v1
kind: ConfigMapList
metadata: {resourceVersion: "7"}
items:
- {metadata: {name: first, namespace: team}, data: {deny: bad}, replicas: 3}
- {metadata: {name: second, namespace: team}, data: {deny: worse}, replicas: 1}
`
	teamArray = `
- {metadata: {name: first, namespace: team}, data: {deny: bad}, replicas: 3}
- {metadata: {name: second, namespace: team}, data: {deny: worse}, replicas: 1}
`
)

var teamResource = policy.Entry{Resource: policy.EntryResource{Version: "v1", Kind: "configmaps", Namespace: "team"}}

const teamPath = "/api/v1/namespaces/team/configmaps"

func newFakeEntries(tb testing.TB) *fakeEntries {
	tb.Helper()
	list, array := documentOf(tb, teamList), documentOf(tb, teamArray)
	return &fakeEntries{
		data: map[policy.Entry]any{
			{Kind: policy.CachedContextEntry, Name: "settings"}:    list,
			{Kind: policy.CachedContextEntry, Name: "my.settings"}: list,
			{Kind: policy.GlobalContextEntry, Name: "settings"}:    array,
			teamResource:     list,
			{Path: teamPath}: list,
			{Service: policy.EntryService{URL: "https://settings.test", Method: "GET"}}: list,
		},
		projections: map[string]any{"denied": documentOf(tb, "[bad, worse]")},
		engine:      newExpressions(compiler(tb).settings),
	}
}

func withEntries(tb testing.TB, entries policy.Entries) *Compiler {
	tb.Helper()
	out, err := NewCompiler(Config{Entries: entries})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// cachedForms give the variable c the list of denied names, whatever the form.
var cachedForms = map[string]string{
	"cachedContextEntry":       `cachedContextEntry: {name: settings, jmesPath: "items[].data.deny"}`,
	"jmespath and alias":       `cachedContextEntry: {name: settings, jmespath: "c | items[].data.deny"}`,
	"name with a dot":          `cachedContextEntry: {name: my.settings, jmespath: "items[].data.deny"}`,
	"globalReference":          `globalReference: {name: settings, jmesPath: "[].data.deny"}`,
	"projection":               `globalReference: {name: settings.denied}`,
	"resourceCache":            `resourceCache: {version: v1, kind: configmaps, namespace: team, jmesPath: "c | items[].data.deny"}`,
	"apiCall":                  `apiCall: {urlPath: ` + teamPath + `, jmesPath: "items[].data.deny", cache: true}`,
	"apiCall of a service":     `apiCall: {service: {url: "https://settings.test"}, jmesPath: "items[].data.deny", cache: true}`,
	"variable in an object":    `cachedContextEntry: {name: "{{ request.object.kind == 'Pod' && 'settings' || 'settings' }}", jmesPath: "items[].data.deny"}`,
	"variable in a namespace":  `resourceCache: {version: v1, kind: configmaps, namespace: "{{ request.object.metadata.namespace || 'team' }}", jmesPath: "items[].data.deny"}`,
	"variable in a path":       `apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}/configmaps", jmesPath: "items[].data.deny", cache: true, method: GET}`,
	"variable in a projection": `globalReference: {name: "settings.{{ request.object.metadata.annotations.projection || 'denied' }}"}`,
	"variable in a jmesPath":   `globalReference: {name: settings, jmesPath: "[?metadata.namespace=='{{ request.namespace }}'].data.deny"}`,
}

// cachedRules deny or refuse Pods whose name is in c.
var cachedRules = map[string]string{
	"deny": `
context: [{name: c, FORM}]
validate:
  message: denied
  deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c }}"}]}}
`,
	"preconditions": `
context: [{name: c, FORM}]
preconditions: {all: [{key: "{{ contains(c, request.object.metadata.name) }}", operator: Equals, value: true}]}
validate: {message: denied, deny: {}}
`,
	"pattern": `
context: [{name: c, FORM}]
validate: {message: denied, pattern: {metadata: {name: "!{{ c[0] }}"}}}
`,
	"anyPattern": `
context: [{name: c, FORM}]
validate: {message: denied, anyPattern: [{metadata: {name: "!{{ c[0] }}"}}, {metadata: {name: never}}]}
`,
	"foreach over it": `
context: [{name: c, FORM}]
validate:
  message: denied
  foreach: [{list: c, deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: "{{ element }}"}]}}}]
`,
	"foreach with a context": `
validate:
  message: denied
  foreach:
  - list: request.object.spec.containers
    context: [{name: c, FORM}]
    deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c }}"}]}}
`,
	"foreach that reads it": `
context: [{name: c, FORM}]
validate:
  message: denied
  foreach:
  - list: request.object.spec.containers
    preconditions: {any: [{key: "{{ length(c) }}", operator: Equals, value: 2}]}
    deny: {conditions: {all: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c }}"}]}}
`,
	"foreach in a foreach": `
validate:
  message: denied
  foreach:
  - list: request.object.spec.containers
    foreach:
    - list: request.object.spec.containers
      context: [{name: c, FORM}]
      deny: {conditions: {all: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c[?@ != element.name] }}"}]}}
`,
	"variable of it": `
context: [{name: c, FORM}, {name: d, variable: {jmesPath: "c[?@ == '{{ request.object.metadata.name }}']"}}]
validate:
  message: denied
  deny: {conditions: {any: [{key: "{{ length(d) }}", operator: GreaterThan, value: 0}]}}
`,
}

// skipped are rules whose outcome for the good Pod is a skip.
var skipped = map[string]bool{"preconditions": true}

// TestCachedContext promises that each form works in each kind of rule, in cluster policies and in
// namespaced ones, but for calls of services.
func TestCachedContext(t *testing.T) {
	t.Parallel()
	for form, entry := range cachedForms {
		for name, rule := range cachedRules {
			for _, namespaced := range []bool{false, true} {
				if namespaced && strings.Contains(entry, "service:") {
					continue // See TestOtherNamespaces.
				}
				t.Run(fmt.Sprintf("%s/%s/%v", form, name, namespaced), func(t *testing.T) {
					t.Parallel()
					entries := newFakeEntries(t)
					text := clusterPolicy(podRule(strings.ReplaceAll(rule, "FORM", entry)))
					if namespaced {
						text = inTeam(text)
					}
					p := compileIn(t, withEntries(t, entries), text)
					good := "r:pass"
					if skipped[name] {
						good = "r:skip"
					}
					want(t, p, subject(t, goodPod), good)
					want(t, p, subject(t, badPod), "r:fail")
					for _, query := range entries.queries {
						if (query.Namespace == "team") != namespaced {
							t.Errorf("the cache does not know whose query it is: %+v", query)
						}
					}
				})
			}
		}
	}
}

// TestChainOfContexts promises that entries see those before them, and that later ones of a name
// take the place of earlier ones.
func TestChainOfContexts(t *testing.T) {
	t.Parallel()
	for name, context := range map[string]string{
		"name from a variable":  `[{name: which, variable: {value: settings}}, {name: c, cachedContextEntry: {name: "{{ which }}", jmesPath: "items[].data.deny"}}]`,
		"name from an entry":    `[{name: which, globalReference: {name: settings, jmesPath: "[0].metadata.namespace"}}, {name: c, resourceCache: {version: v1, kind: configmaps, namespace: "{{ which }}", jmesPath: "items[].data.deny"}}]`,
		"expression":            `[{name: first, cachedContextEntry: {name: settings, jmesPath: "items[0].data"}}, {name: c, cachedContextEntry: {name: settings, jmesPath: "items[?data.deny=='{{ first.deny }}'].data.deny"}}]`,
		"variable of an entry":  `[{name: all, cachedContextEntry: {name: settings}}, {name: c, variable: {jmesPath: "all.items[].data.deny"}}]`,
		"entry after variable":  `[{name: c, variable: {value: {items: [good]}}}, {name: c, globalReference: {name: settings.denied}}]`,
		"variable after entry":  `[{name: c, cachedContextEntry: {name: settings}}, {name: c, variable: {jmesPath: "c.items[].data.deny"}}]`,
		"two entries of a name": `[{name: c, cachedContextEntry: {name: settings}}, {name: c, globalReference: {name: settings.denied}}]`,
	} {
		text := clusterPolicy(podRule("context: " + context + `
validate: {deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c }}"}]}}}
`))
		p := compileIn(t, withEntries(t, newFakeEntries(t)), text)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, p, subject(t, goodPod), "r:pass")
			want(t, p, subject(t, badPod), "r:fail")
		})
	}
}

// inTeam makes a policy of the namespace team.
func inTeam(text string) string {
	return strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p}", "{name: p, namespace: team}", 1)
}
