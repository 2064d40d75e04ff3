// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

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

// FakeEntries has the data of entries, and evaluates expressions over them as the cache promises: results are shared.
type FakeEntries struct {
	Data        map[policy.Entry]any
	Projections map[string]any
	Failure     map[policy.Entry]error
	Engine      jmespath.Interface
	// Fixed are the results of expressions for all entries.
	Fixed map[string]any

	lock    sync.Mutex
	Queries []policy.Query
}

// Query is that of [policy.Entries].
func (f *FakeEntries) Query(ctx context.Context, query policy.Query) (any, error) {
	f.lock.Lock()
	f.Queries = append(f.Queries, query)
	f.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.Failure[query.Entry]; err != nil {
		return nil, err
	}
	data, ok := f.Data[query.Entry]
	if !ok {
		return nil, fmt.Errorf("there is no entry %+v", query.Entry)
	}
	if query.Projection != "" {
		if data, ok = f.Projections[query.Projection]; !ok {
			return nil, fmt.Errorf("there is no projection %s", query.Projection)
		}
	}
	if query.Expression == "" {
		return data, nil
	}
	if fixed, ok := f.Fixed[query.Expression]; ok {
		return fixed, nil
	}
	expression := query.Expression
	if query.Alias != "" {
		if rest, ok := strings.CutPrefix(expression, query.Alias+" "); ok {
			expression = "@ " + rest
		}
	}
	return f.Engine.Search(expression, data)
}

// Last returns the last query.
func (f *FakeEntries) Last() policy.Query {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.Queries) == 0 {
		return policy.Query{}
	}
	return f.Queries[len(f.Queries)-1]
}

// DocumentOf reads YAML as encoding/json reads JSON.
func DocumentOf(tb testing.TB, text string) any {
	tb.Helper()
	var out any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		tb.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// The ConfigMaps of the namespace team, as a list of the API and as an array.
const (
	teamList = `
apiVersion: v1
kind: ConfigMapList
metadata: {resourceVersion: "7"}
items:
- {metadata: {name: first, namespace: team}, data: {deny: bad}, replicas: 3}
- {metadata: {name: second, namespace: team}, data: {deny: worse}, replicas: 1}
`
	TeamArray = `
- {metadata: {name: first, namespace: team}, data: {deny: bad}, replicas: 3}
- {metadata: {name: second, namespace: team}, data: {deny: worse}, replicas: 1}
`
)

// TeamResource is the entry for the ConfigMaps of the namespace team.
var TeamResource = policy.Entry{Resource: policy.EntryResource{Version: "v1", Kind: "configmaps", Namespace: "team"}}

// TeamPath is the path of the same.
const TeamPath = "/api/v1/namespaces/team/configmaps"

// NewFakeEntries returns the ConfigMaps of the namespace team as each kind of entry.
func NewFakeEntries(tb testing.TB) *FakeEntries {
	tb.Helper()
	list, array := DocumentOf(tb, teamList), DocumentOf(tb, TeamArray)
	return &FakeEntries{
		Data: map[policy.Entry]any{
			{Kind: policy.CachedContextEntry, Name: "settings"}:    list,
			{Kind: policy.CachedContextEntry, Name: "my.settings"}: list,
			{Kind: policy.GlobalContextEntry, Name: "settings"}:    array,
			TeamResource:     list,
			{Path: TeamPath}: list,
			{Service: policy.EntryService{URL: "https://settings.test", Method: "GET"}}: list,
		},
		Projections: map[string]any{"denied": DocumentOf(tb, "[bad, worse]")},
		Engine:      jmespath.New(config.NewDefaultConfiguration(false)),
	}
}

// CachedForms give the variable c the list of denied names, whatever the form.
var CachedForms = map[string]string{
	"cachedContextEntry":       `cachedContextEntry: {name: settings, jmesPath: "items[].data.deny"}`,
	"jmespath and alias":       `cachedContextEntry: {name: settings, jmespath: "c | items[].data.deny"}`,
	"name with a dot":          `cachedContextEntry: {name: my.settings, jmespath: "items[].data.deny"}`,
	"globalReference":          `globalReference: {name: settings, jmesPath: "[].data.deny"}`,
	"projection":               `globalReference: {name: settings.denied}`,
	"resourceCache":            `resourceCache: {version: v1, kind: configmaps, namespace: team, jmesPath: "c | items[].data.deny"}`,
	"apiCall":                  `apiCall: {urlPath: ` + TeamPath + `, jmesPath: "items[].data.deny", cache: true}`,
	"apiCall of a service":     `apiCall: {service: {url: "https://settings.test"}, jmesPath: "items[].data.deny", cache: true}`,
	"variable in an object":    `cachedContextEntry: {name: "{{ request.object.kind == 'Pod' && 'settings' || 'settings' }}", jmesPath: "items[].data.deny"}`,
	"variable in a namespace":  `resourceCache: {version: v1, kind: configmaps, namespace: "{{ request.object.metadata.namespace || 'team' }}", jmesPath: "items[].data.deny"}`,
	"variable in a path":       `apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}/configmaps", jmesPath: "items[].data.deny", cache: true, method: GET}`,
	"variable in a projection": `globalReference: {name: "settings.{{ request.object.metadata.annotations.projection || 'denied' }}"}`,
	"variable in a jmesPath":   `globalReference: {name: settings, jmesPath: "[?metadata.namespace=='{{ request.namespace }}'].data.deny"}`,
}

// CachedRules deny or refuse Pods whose name is in c.
var CachedRules = map[string]string{
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

// InTeam makes a policy of the namespace team.
func InTeam(text string) string {
	return strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p}", "{name: p, namespace: team}", 1)
}
