// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// skipped are rules whose outcome for the good Pod is a skip.
var skipped = map[string]bool{"preconditions": true}

// TestCachedContext promises that each form works in each kind of rule, in cluster policies and, except for
// calls of services, in namespaced ones.
func TestCachedContext(t *testing.T) {
	t.Parallel()
	for form, entry := range enginetest.CachedForms {
		for name, rule := range enginetest.CachedRules {
			for _, namespaced := range []bool{false, true} {
				if namespaced && strings.Contains(entry, "service:") {
					continue // See TestOtherNamespaces.
				}
				t.Run(fmt.Sprintf("%s/%s/%v", form, name, namespaced), func(t *testing.T) {
					t.Parallel()
					entries := enginetest.NewFakeEntries(t)
					text := enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(rule, "FORM", entry)))
					if namespaced {
						text = enginetest.InTeam(text)
					}
					p := enginetest.Compile(t, withEntries(t, entries), text)
					good := "r:pass"
					if skipped[name] {
						good = "r:skip"
					}
					enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), good)
					enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
					for _, query := range entries.Queries {
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
		text := enginetest.ClusterPolicy(enginetest.PodRule("context: " + context + `
validate: {deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: AnyIn, value: "{{ c }}"}]}}}
`))
		p := enginetest.Compile(t, withEntries(t, enginetest.NewFakeEntries(t)), text)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), "r:pass")
			enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
		})
	}
}
