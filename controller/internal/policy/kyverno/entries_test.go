// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/policy"
)

// fakeEntries has the data of entries, and evaluates expressions over them as the cache promises:
// results are shared.
type fakeEntries struct {
	data        map[policy.Entry]any
	projections map[string]any
	failure     map[policy.Entry]error
	engine      jmespath.Interface
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
		},
		projections: map[string]any{"denied": documentOf(tb, "[bad, worse]")},
		engine:      jmespath.New(config.NewDefaultConfiguration(false)),
	}
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

// inTeam makes a policy of the namespace team.
func inTeam(text string) string {
	return strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p}", "{name: p, namespace: team}", 1)
}
