// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"github.com/kyverno/kyverno/pkg/engine/context/loaders"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"github.com/kyverno/kyverno/pkg/engine/variables"
	"github.com/kyverno/kyverno/pkg/globalcontext/store"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestCachedContextOfGeneratedRules promises that the texts of declarations are rewritten for
// workloads as all others are.
func TestCachedContextOfGeneratedRules(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	for _, form := range []string{
		`cachedContextEntry: {name: "{{ request.object.spec.containers[0].name }}", jmesPath: "items[].data.deny"}`,
		`resourceCache: {version: v1, kind: configmaps, namespace: "{{ request.object.spec.containers[0].name }}", jmesPath: "items[].data.deny"}`,
		`apiCall: {cache: true, urlPath: "/api/v1/namespaces/{{ request.object.spec.containers[0].name }}/configmaps", jmesPath: "items[].data.deny"}`,
		`globalReference: {name: "{{ request.object.spec.containers[0].name }}", jmesPath: "[].data.deny"}`,
		`globalReference: {name: settings, jmesPath: "[?'{{ request.object.spec.containers[0].name }}' == 'settings' || metadata.namespace == '{{ request.object.spec.containers[0].name }}'].data.deny"}`,
	} {
		p := enginetest.Compile(t, withEntries(t, entries), enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(enginetest.CachedRules["deny"], "FORM", form))))
		for kind, text := range map[string]string{"": enginetest.BadPod, "autogen-": enginetest.BadDeployment, "autogen-cronjob-": enginetest.BadCronJob} {
			for _, container := range []string{"settings", "team"} {
				s := enginetest.Subject(t, strings.Replace(text, "{name: main", "{name: "+container, 1))
				results, outcomes := enginetest.Evaluate(t, p, s)
				known := strings.HasPrefix(form, "cached") == (container == "settings")
				if strings.HasPrefix(form, "globalReference: {name: \"") {
					known = container == "settings"
				} else if strings.HasPrefix(form, "globalReference") {
					known = true
				}
				want := kind + "r:error"
				if known {
					want = kind + "r:fail"
				}
				if !slices.Equal(outcomes, []string{want}) {
					t.Errorf("%s, %s %s: %+v, want %s; asked %+v", form, kind, container, results, want, entries.Last())
				}
			}
		}
	}
}

// gctxStore is a store of Kyverno's global context entries, with one of them.
type gctxStore struct{ data any }

func (s gctxStore) Get(name string) (store.Entry, bool) { return gctxEntry(s), name == "settings" }

// gctxEntry has one projection.
type gctxEntry struct{ data any }

func (e gctxEntry) Get(projection string) (any, error) {
	switch projection {
	case "":
		return e.data, nil
	case "denied":
		return []any{"bad", "worse"}, nil
	default:
		return nil, fmt.Errorf("projection %q not found", projection)
	}
}

func (gctxEntry) Stop() {}

// TestGlobalReferenceAsKyverno compares with Kyverno's own loader over the same data: what a
// variable is, and whether it is there at all.
func TestGlobalReferenceAsKyverno(t *testing.T) {
	t.Parallel()
	c := compiler(t)
	for _, reference := range []kyvernov1.GlobalContextEntryReference{
		{Name: "settings"}, {Name: "settings.denied"}, {Name: "settings.denied.more"}, {Name: "settings.none"}, {Name: "other"}, {Name: "settings."},
		{Name: "settings", JMESPath: "[].data.deny"}, {Name: "settings", JMESPath: "[0]"}, {Name: "settings", JMESPath: "[9]"},
		{Name: "settings", JMESPath: "[0].none"}, {Name: "settings", JMESPath: "none"}, {Name: "settings", JMESPath: "length(@)"},
		{Name: "settings", JMESPath: "c[0]"}, {Name: "settings", JMESPath: "[?replicas > `2`].metadata.name"}, {Name: "settings", JMESPath: "sum([].replicas)"},
		{Name: "settings", JMESPath: "[?metadata.name=='{{ request.object.metadata.name }}']"}, {Name: "{{ 'settings' }}", JMESPath: "sort_by(@, &replicas)[].replicas"},
		{Name: "settings.denied", JMESPath: "[0]"}, {Name: "settings", JMESPath: "abs('x')"}, {Name: "settings", JMESPath: "[].replicas | {most: max(@), all: @}"},
	} {
		entry := kyvernov1.ContextEntry{Name: "c", GlobalReference: &reference}
		kyverno := enginecontext.NewContext(jmespath.New(c.settings))
		if err := enginecontext.AddJSONObject(kyverno, map[string]any{"request": map[string]any{"object": enginetest.Object(t, enginetest.GoodPod).Object}}); err != nil {
			t.Fatal(err)
		}
		theirs := loaders.NewGCTXLoader(t.Context(), logr.Discard(), entry, kyverno, jmespath.New(c.settings), gctxStore{enginetest.DocumentOf(t, enginetest.TeamArray)}, "")
		deferred := testkit.Must(enginecontext.NewDeferredLoader("c", theirs, logr.Discard()))(t)
		testkit.NoError(t, kyverno.AddDeferredLoader(deferred))
		ours := newDocument(t)
		loader := &cachedLoader{ctx: t.Context(), entries: enginetest.NewFakeEntries(t), document: ours, variable: "c", declared: declaration{
			source: globalSource, name: reference.Name, expression: reference.JMESPath,
		}}
		testkit.NoError(t, addLoader(loader.document, loader.variable, loader))
		for _, query := range []string{"c", "c[0]", "c[].metadata.name", "length(c)", "c[?replicas == `3`]", "c || 'none'"} {
			want, wantErr := kyverno.Query(query)
			got, gotErr := ours.Query(query)
			if (wantErr == nil) != (gotErr == nil) {
				t.Errorf("%+v: %s: %v, Kyverno: %v", reference, query, gotErr, wantErr)
			} else if wantErr == nil {
				enginetest.WantEqual(t, fmt.Sprintf("%+v: %s", reference, query), want, got)
			}
		}
	}
}

// TestSharedVariablesAreKyvernos plays random operations on a document and on Kyverno's own, of
// which one shares values where the other one copies them.
func TestSharedVariablesAreKyvernos(t *testing.T) {
	t.Parallel()
	values := []any{nil, "text", 1.0, []any{"a", "b"}, map[string]any{"a": 1.0}, map[string]any{"b": map[string]any{"c": true}}, []any{}}
	before := testkit.Must(json.Marshal(values))(t)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		ours := newDocument(t)
		kyverno := enginecontext.NewContext(jmespath.New(ours.settings))
		testkit.NoError(t, ours.fill(kyverno, ours.settings))
		ours.Checkpoint() // The outermost one is never taken.
		depth := 0
		var log []string
		for range 40 {
			name := []string{"x", "y"}[random.IntN(2)]
			value := values[random.IntN(len(values))]
			data := testkit.Must(json.Marshal(value))(t)
			operation := random.IntN(7)
			log = append(log, fmt.Sprintf("%d %s %s", operation, name, data))
			var errs [2]error
			switch operation {
			case 0, 1:
				errs = [2]error{ours.share(name, value), kyverno.AddContextEntry(name, data)}
			case 2:
				errs = [2]error{ours.AddContextEntry(name, data), kyverno.AddContextEntry(name, data)}
			case 3:
				errs = [2]error{ours.ReplaceContextEntry(name, data), kyverno.ReplaceContextEntry(name, data)}
			case 4:
				ours.Checkpoint()
				kyverno.Checkpoint()
				depth++
			case 5:
				if depth > 0 {
					ours.Restore()
					kyverno.Restore()
					depth--
				}
			default:
				if depth > 0 {
					ours.Reset()
					kyverno.Reset()
				}
			}
			if errs[0] != nil || errs[1] != nil {
				t.Fatalf("%v: %v", log, errs)
			}
			want, wantErr := kyverno.Query("[x, y]")
			got, gotErr := ours.Query("[x, y]")
			if wantErr != nil || gotErr != nil {
				t.Fatalf("%v: %v, %v", log, gotErr, wantErr)
			}
			enginetest.WantEqual(t, fmt.Sprint(log), want, got)
			if t.Failed() {
				return
			}
		}
	}
	after := testkit.Must(json.Marshal(values))(t)
	enginetest.WantEqual(t, "values", string(before), string(after))
}

// TestNarrowedConditions promises that conditions mean the same with and without the functions that
// make their lists smaller, as Kyverno's own operators see them.
func TestNarrowedConditions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	parts := []any{"a", "b", "ab", "a*", "?", "*", "", "1", "1-5", "3", 3.0, true, nil, "{{ request.namespace }}", `\{{ a }}`, "{{ none }}", "<nil>", "team", "team/a", "aa", map[string]any{"a": "b"}, []any{"a"}, "[\"a\"]"}
	pick := func() any {
		if random.IntN(3) == 0 {
			return parts[random.IntN(len(parts))]
		}
		out := make([]any, 0, 2)
		for range random.IntN(3) {
			out = append(out, parts[random.IntN(len(parts))])
		}
		return out
	}
	// Where a variable is in the data may differ.
	position := regexp.MustCompile(`at path /\d+`)
	outcome := func(d *document, condition kyvernov1.Condition) (text string) {
		defer func() {
			if cause := recover(); cause != nil {
				text = fmt.Sprint(cause)
			}
		}()
		ok, _, err := variables.Evaluate(logr.Discard(), d, condition)
		return position.ReplaceAllString(fmt.Sprint(ok, err), "at path")
	}
	narrowed, passed, failed := 0, 0, 0
	for i := range 6000 {
		d := newDocument(t)
		testkit.Must(d.use())(t)
		d.shared.set("hosts", pick())
		d.shared.set("mine", pick())
		keys := []string{"{{ mine }}", "{{ hosts }}", "{{ mine.none }}", "{{ request.namespace }}"}
		var condition kyvernov1.Condition
		texts := append([]string{"a", "a{{ mine }}", "{{ request.namespace }}/{{ mine }}", "{{ mine.none }}b", "{{ request.namespace }}a*", "", "{{ mine }} "}, keys...)
		// Most conditions are about the two lists.
		condition.SetKey(keys[random.IntN(2)])
		condition.SetValue(keys[1-random.IntN(5)/3])
		if random.IntN(4) == 0 {
			condition.SetKey(texts[random.IntN(len(texts))])
			condition.SetValue(append([]string{"{{ hosts.none }}", "a{{ hosts }}"}, keys...)[random.IntN(len(keys)+2)])
		}
		condition.Operator = kyvernov1.ConditionOperator([]string{"AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "In", "NotIn", "Equals"}[random.IntN(7)])
		if i == 0 { // A range is no list.
			d.shared.set("hosts", []any{"3"})
			d.shared.set("mine", "1-5")
			condition.SetKey("{{ hosts }}")
			condition.SetValue("{{ mine }}")
			condition.Operator = "AnyIn"
		}
		n := &narrowing{names: []string{"hosts"}}
		list := []kyvernov1.Condition{*condition.DeepCopy()}
		n.list(list, false)
		want := outcome(d, condition)
		got := strings.NewReplacer(n.texts...).Replace(outcome(d, list[0]))
		if want != got {
			t.Fatalf("hosts %#v, mine %#v, %s %s %s: %s, want %s", d.shared.now["hosts"], d.shared.now["mine"], condition.GetKey(), condition.Operator, condition.GetValue(), got, want)
		}
		if len(n.texts) > 0 {
			narrowed++
		}
		if strings.HasPrefix(want, "true") {
			passed++
		} else if !strings.HasSuffix(want, "<nil>") {
			failed++
		}
	}
	if narrowed < 200 || passed < 200 || failed < 200 {
		t.Errorf("%d narrowed, %d true, %d errors", narrowed, passed, failed)
	}
}

// TestSharedDataStay promises that nobody changes what belongs to the cache, in parallel
// evaluations of rules that do all they can.
func TestSharedDataStay(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	before := testkit.Must(json.Marshal([]any{entries.Data[enginetest.TeamResource], entries.Projections}))(t)
	c := withEntries(t, entries)
	var policies []policy.Policy
	for _, rule := range enginetest.CachedRules {
		for _, form := range enginetest.CachedForms {
			policies = append(policies, enginetest.Compile(t, c, enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(rule, "FORM", form)))))
		}
	}
	for _, expression := range []string{
		"sort_by(c.items, &metadata.name)[0].data.deny", "sort_by(c.items, &replicas) | reverse(@)[0].data.deny", "merge(c.items[0], {data: 'x'}).data",
		"sort(c.items[].data.deny)[0]", "sort_by(c.items, &sort_by(@.list || `[]`, &x) | length(@))[0].data.deny", "c.items[].data.deny | join(',', @)",
	} {
		policies = append(policies, enginetest.Compile(t, c, enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, `+`resourceCache: {version: v1, kind: configmaps, namespace: team}`+`}, {name: d, variable: {jmesPath: "`+expression+`"}}]
validate:
  message: "{{ d }}"
  foreach:
  - list: "sort_by(c.items, &replicas)"
    elementScope: true
    pattern: {metadata: {name: "!{{ d }}"}, replicas: ">0", data: {deny: "?*"}}
  - list: "sort_by(c.items, &replicas)"
    deny: {conditions: {any: [{key: "{{ d }}", operator: In, value: ["{{ element.metadata.name }}"]}]}}
`))))
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, p := range policies {
				for _, s := range []policy.Subject{enginetest.Subject(t, enginetest.GoodPod), enginetest.Subject(t, enginetest.BadPod)} {
					results, err := p.Evaluate(t.Context(), s)
					if err != nil || len(results) != 1 || results[0].Outcome == "error" {
						t.Errorf("%+v, %v", results, err)
					}
				}
			}
		})
	}
	group.Wait()
	after := testkit.Must(json.Marshal([]any{entries.Data[enginetest.TeamResource], entries.Projections}))(t)
	enginetest.WantEqual(t, "data", string(before), string(after))
}

// TestSharedDataHaveNoLimit promises that the limit for the context of a rule is not about data that
// are in memory anyway.
func TestSharedDataHaveNoLimit(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	entries.Data[enginetest.TeamResource] = map[string]any{"items": []any{strings.Repeat("x", maxContextBytes+1), "bad"}}
	text := enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(strings.ReplaceAll(enginetest.CachedRules["deny"], "{{ c }}", "{{ c.items[1:] }}"), "FORM", `resourceCache: {version: v1, kind: configmaps, namespace: team}`)))
	enginetest.Want(t, enginetest.Compile(t, withEntries(t, entries), text), enginetest.Subject(t, enginetest.BadPod), "r:fail")
}
