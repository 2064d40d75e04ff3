// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestBadCachedContext promises problems that name the field of the user.
func TestBadCachedContext(t *testing.T) {
	t.Parallel()
	for entry, parts := range map[string][]string{
		`{name: c, cachedContextEntry: {jmesPath: "items[]"}}`:                  {"cachedContextEntry.name is missing"},
		`{name: c, cachedContextEntry: {name: ""}}`:                             {"cachedContextEntry.name is missing"},
		`{name: c, cachedContextEntry: {name: 7}}`:                              {"cachedContextEntry.name is not a text"},
		`{name: c, cachedContextEntry: settings}`:                               {"cachedContextEntry is not an object"},
		`{name: c, cachedContextEntry: {name: s, jmesPath: "items["}}`:          {"cachedContextEntry.jmesPath", `"items["`},
		`{name: c, cachedContextEntry: {name: s, jmespath: "items["}}`:          {"cachedContextEntry.jmespath", `"items["`},
		`{name: c, cachedContextEntry: {name: s, jmespath: a, jmesPath: b}}`:    {"cachedContextEntry.jmespath", "keep one"},
		`{name: c, cachedContextEntry: {name: s, jmesPth: a}}`:                  {"cachedContextEntry.jmesPth is unknown"},
		`{name: c, cachedContextEntry: {name: "{{ request.object[ }}"}}`:        {"cachedContextEntry.name", "request.object["},
		`{name: c, cachedContextEntry: {name: "{{ element.name }}"}}`:           {"cachedContextEntry.name", "foreach"},
		`{name: c, cachedContextEntry: {name: s}, variable: {value: 1}}`:        {"cachedContextEntry, variable", "keep one"},
		`{name: c, cachedContextEntry: {name: s}, resourceCache: {kind: pods}}`: {"cachedContextEntry, resourceCache"},
		`{cachedContextEntry: {name: s}}`:                                       {"name is missing"},
		`{name: request, cachedContextEntry: {name: s}}`:                        {"name", "each rule has"},
		`{name: element1, cachedContextEntry: {name: s}}`:                       {"name", "each rule has"},
		`{name: c}`: {"reads nothing", "cachedContextEntry"},
		`{name: c, cachedContextEntri: {name: s}}`:                                                                                      {"reads nothing", "cachedContextEntry"},
		`{name: c, resourceCache: {group: apps}}`:                                                                                       {"resourceCache.kind is missing"},
		`{name: c, resourceCache: {kind: pods, version: 1}}`:                                                                            {"resourceCache.version is not a text"},
		`{name: c, resourceCache: {kind: pods, labelSelector: "a={{ request.name }}"}}`:                                                 {"resourceCache.labelSelector has a variable", "compare in jmesPath"},
		`{name: c, resourceCache: {kind: pods, filter: "a["}}`:                                                                          {"resourceCache.filter has the invalid JMESPath expression"},
		`{name: c, resourceCache: {kind: pods, name: s}}`:                                                                               {"resourceCache.name is unknown"},
		`{name: c, globalReference: {}}`:                                                                                                {"globalReference.name is missing"},
		`{name: c, globalReference: {name: .p}}`:                                                                                        {"globalReference.name"},
		`{name: c, apiCall: {cache: true}}`:                                                                                             {"apiCall.urlPath is missing"},
		`{name: c, apiCall: {cache: true, urlPath: api}}`:                                                                               {"apiCall.urlPath", "begin with /"},
		`{name: c, apiCall: {cache: "yes", urlPath: /api}}`:                                                                             {"apiCall.cache"},
		`{name: c, apiCall: {cache: true, urlPath: /api, method: POST}}`:                                                                {"apiCall.method", "GET"},
		`{name: c, apiCall: {cache: true, urlPath: /api, data: []}}`:                                                                    {"apiCall.data"},
		`{name: c, apiCall: {cache: true, service: https://a.test}}`:                                                                    {"apiCall.service is not an object"},
		`{name: c, apiCall: {cache: true, service: {caBundle: x}}}`:                                                                     {"apiCall.service.url is missing"},
		`{name: c, apiCall: {cache: true, service: {url: a.test}}}`:                                                                     {"apiCall.service.url", "is not like https://"},
		`{name: c, apiCall: {cache: true, urlPath: /api, service: {url: "https://a"}}}`:                                                 {"apiCall.urlPath", "keep one"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a", timeout: 1}}}`:                                                    {"apiCall.service.timeout is unknown"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a", caBundle: "x"}}}`:                                                 {"apiCall.service.caBundle", "no PEM certificate"},
		`{name: c, apiCall: {cache: true, method: PUT, service: {url: "https://a"}}}`:                                                   {"apiCall.method", "neither GET nor POST"},
		`{name: c, apiCall: {cache: true, data: [{key: a, value: b}], service: {url: "https://a"}}}`:                                    {"apiCall.data", "POST"},
		`{name: c, apiCall: {cache: true, method: POST, data: [{value: b}], service: {url: "https://a"}}}`:                              {"apiCall.data[0].key is missing"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a", headers: [{key: a b, value: c}]}}}`:                               {"apiCall.service.headers", "not the name of a header"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a", headers: [{key: a, value: 1}]}}}`:                                 {"apiCall.service.headers[0].value is not a text"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a", headers: {a: b}}}}`:                                               {"apiCall.service.headers is not a list"},
		`{name: c, apiCall: {cache: true, service: {url: "https://a/{{ request.namespace }}"}}}`:                                        {"apiCall.service has a variable", "remove cache: true"},
		`{name: c, apiCall: {cache: true, method: POST, data: [{key: a, value: ["{{ request.name }}"]}], service: {url: "https://a"}}}`: {"apiCall.data has a variable"},
		`{name: c, apiCall: {cache: true, urlPath: /api, jmesPath: "a["}}`:                                                              {"apiCall.jmesPath"},
		`{name: c, apiCall: {method: CONTEXT-CACHE, urlPath: /api}}`:                                                                    {"apiCall.method"},
		`{name: c, apiCall: {cache: true, urlPath: /api}, configMap: {name: s}}`:                                                        {"apiCall, configMap"},
	} {
		for path, text := range map[string]string{
			"spec.rules[1].context[1].": enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged) + enginetest.PodRule("context: [{name: a, variable: {value: 1}}, "+entry+"]\n"+enginetest.Unprivileged)),
			"spec.rules[0].validate.foreach[0].foreach[0].context[0].": enginetest.ClusterPolicy(enginetest.PodRule(`
validate:
  foreach:
  - list: request.object.spec.containers
    foreach: [{list: request.object.spec.containers, context: [` + entry + `], deny: {}}]
`)),
		} {
			if strings.Contains(entry, "element.name") && strings.Contains(path, "foreach") {
				continue
			}
			p := withEntries(t, enginetest.NewFakeEntries(t)).Compile(enginetest.Object(t, strings.Replace(text, "name: r", "name: first", 1)), nil)
			if p.Problem() == nil {
				t.Errorf("%s: no problem", entry)
				continue
			}
			message := p.Problem().Error()
			for _, part := range append(parts, strings.TrimSuffix(path, ".")) {
				if !strings.Contains(message, part) {
					t.Errorf("%s: %q lacks %q", entry, message, part)
				}
			}
			if strings.Contains(message, "CONTEXT-CACHE") && !strings.Contains(entry, "CONTEXT-CACHE") {
				t.Errorf("%s: %q is not about what the user wrote", entry, message)
			}
			if p.Entries() != nil {
				t.Errorf("%s: it has entries: %v", entry, p.Entries())
			}
			results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, enginetest.BadPod))
			if len(results) == 0 || results[len(results)-1].Outcome != "error" {
				t.Errorf("%s: %+v", entry, results)
			}
		}
	}
}

// TestOtherNamespaces promises that a namespaced policy reads its own namespace only.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	rule := func(entry string) string {
		return enginetest.InTeam(enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM", entry))))
	}
	for _, entry := range []string{
		`resourceCache: {version: v1, kind: configmaps}`,
		`resourceCache: {version: v1, kind: configmaps, namespace: other}`,
		`apiCall: {cache: true, service: {url: "https://a.test"}}`,
		`apiCall: {cache: true, urlPath: /api/v1/configmaps}`,
		`apiCall: {cache: true, urlPath: /api/v1/namespaces/other/configmaps}`,
		`apiCall: {cache: true, urlPath: /api/v1/namespaces/team/../other/configmaps}`,
		`apiCall: {cache: true, urlPath: /api/v1/namespaces/team/%2e%2e/other/configmaps}`,
		`apiCall: {cache: true, urlPath: "/api/v1/namespaces//configmaps"}`,
		`apiCall: {cache: true, urlPath: /apis/namespaces/team/deployments}`,
		`apiCall: {cache: true, urlPath: "/api/v1/configmaps?a=/namespaces/team/b"}`,
	} {
		p := withEntries(t, entries).Compile(enginetest.Object(t, rule(entry)), nil)
		if p.Problem() == nil || !strings.Contains(p.Problem().Error(), "own namespace") || !strings.Contains(p.Problem().Error(), "spec.rules[0].context[0]") {
			t.Errorf("%s: %v", entry, p.Problem())
		}
		// A cluster policy may.
		if p := withEntries(t, entries).Compile(enginetest.Object(t, strings.Replace(rule(entry), "kind: Policy", "kind: ClusterPolicy", 1)), nil); p.Problem() != nil && !strings.Contains(p.Problem().Error(), "clusterpolicy should not have the namespace") {
			t.Errorf("%s: %v", entry, p.Problem())
		}
	}
	for _, entry := range []string{
		`resourceCache: {version: v1, kind: configmaps, namespace: "{{ request.object.metadata.annotations.other || 'other' }}"}`,
		`apiCall: {cache: true, urlPath: "/api/v1/namespaces/{{ request.object.metadata.annotations.other || '../other' }}/configmaps"}`,
	} {
		enginetest.WantError(t, enginetest.Compile(t, withEntries(t, entries), rule(entry)), enginetest.Subject(t, enginetest.BadPod), "r", "own namespace")
	}
	if len(entries.Queries) != 0 {
		t.Errorf("the cache was asked: %+v", entries.Queries)
	}
	for _, path := range []string{enginetest.TeamPath, enginetest.TeamPath + "?labelSelector=a%3Db", "/apis/apps/v1/namespaces/team/deployments"} {
		enginetest.Compile(t, withEntries(t, entries), rule(`apiCall: {cache: true, urlPath: "`+path+`"}`))
	}
}

// TestFailingEntry promises the text of the cache in an error, whatever the rule makes of a failure.
func TestFailingEntry(t *testing.T) {
	t.Parallel()
	cause := errors.New("the entry is invalid: no such resource")
	entries := enginetest.NewFakeEntries(t)
	entries.Failure = map[policy.Entry]error{}
	for entry := range entries.Data {
		entries.Failure[entry] = cause
	}
	for form, entry := range enginetest.CachedForms {
		for name, rule := range enginetest.CachedRules {
			p := enginetest.Compile(t, withEntries(t, entries), enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(rule, "FORM", entry))))
			results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, enginetest.BadPod))
			if len(results) != 1 || results[0].Outcome != "error" || !strings.Contains(results[0].Message, cause.Error()) {
				t.Errorf("%s in %s: %+v", form, name, results)
			}
		}
		for name, rule := range map[string]string{
			"default": `
context: [{name: c, FORM}]
validate: {deny: {conditions: {any: [{key: a, operator: Equals, value: "{{ c || 'none' }}"}]}}}
`,
			"preconditions of a foreach": `
validate:
  foreach:
  - list: request.object.spec.containers
    context: [{name: c, FORM}]
    preconditions: {all: [{key: "{{ c }}", operator: Equals, value: x}]}
    deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
`,
		} {
			text := enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(rule, "FORM", entry)))
			enginetest.WantError(t, enginetest.Compile(t, withEntries(t, entries), text), enginetest.Subject(t, enginetest.BadPod), "r", "context entry c", cause.Error())
			_ = name
		}
		unused := enginetest.ClusterPolicy(enginetest.PodRule("context: [{name: c, " + entry + "}]\n" + enginetest.Unprivileged))
		enginetest.Want(t, enginetest.Compile(t, withEntries(t, entries), unused), enginetest.Subject(t, enginetest.BadPod), "r:fail")
		missing := enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM", entry)))
		enginetest.WantError(t, compile(t, missing), enginetest.Subject(t, enginetest.BadPod), "r", "no context cache")
	}
}

// TestEmptySubstitution promises that a field with a variable never becomes no field.
func TestEmptySubstitution(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	for _, form := range []string{
		`resourceCache: {kind: configmaps, namespace: "{{ request.object.metadata.annotations.none || '' }}"}`,
		`resourceCache: {kind: "{{ request.object.metadata.annotations.none || '' }}"}`,
		`cachedContextEntry: {name: "{{ request.object.metadata.annotations.none || '' }}"}`,
		`cachedContextEntry: {name: "{{ request.object.metadata.labels || ` + "`{}`" + ` }}"}`,
		`cachedContextEntry: {name: settings, jmesPath: "{{ request.object.metadata.annotations.none }}"}`,
	} {
		p := enginetest.Compile(t, withEntries(t, entries), enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM", form))))
		results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, enginetest.BadPod))
		if len(results) != 1 || results[0].Outcome != "error" {
			t.Errorf("%s: %+v", form, results)
		}
	}
	if len(entries.Queries) != 0 {
		t.Errorf("the cache was asked: %+v", entries.Queries)
	}
}

// TestDefaultOfCachedCalls promises Kyverno's use of apiCall.default: if the call fails, and without
// the expression.
func TestDefaultOfCachedCalls(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	rule := func(path, expression string) string {
		return enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM",
			fmt.Sprintf(`apiCall: {cache: true, urlPath: %s, jmesPath: "%s", default: [bad]}`, path, expression))))
	}
	failing := enginetest.Compile(t, withEntries(t, entries), rule("/api/v1/none", "items[].data.deny"))
	enginetest.Want(t, failing, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, failing, enginetest.Subject(t, enginetest.GoodPod), "r:pass")
	loaded := enginetest.Compile(t, withEntries(t, entries), rule(enginetest.TeamPath, "items[].metadata.name"))
	enginetest.Want(t, loaded, enginetest.Subject(t, enginetest.BadPod), "r:pass")
	enginetest.WantError(t, enginetest.Compile(t, withEntries(t, entries), rule(enginetest.TeamPath, "abs('x')")), enginetest.Subject(t, enginetest.BadPod), "r", "Invalid type")
}

// slowEntries answers when its query ends.
type slowEntries struct{}

func (slowEntries) Query(ctx context.Context, _ policy.Query) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestSlowEntry promises that waiting for an entry ends with the evaluation.
func TestSlowEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testkit.Must(newCompiler(base.Config{Entries: slowEntries{}, Timeout: time.Minute}))(t)
		p := enginetest.Compile(t, c, enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM", enginetest.CachedForms["resourceCache"]))))
		start := time.Now()
		results, err := p.Evaluate(t.Context(), enginetest.Subject(t, enginetest.BadPod))
		if err != nil || len(results) != 1 || results[0].Outcome != "error" || time.Since(start) != time.Minute {
			t.Errorf("after %s: %+v, %v", time.Since(start), results, err)
		}
		time.Sleep(2 * base.RunnerPatience) //nolint:forbidigo // The clock of the bubble: the goroutine of the evaluation ends.
	})
}
