// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestPresentation(t *testing.T) {
	t.Parallel()
	text := strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "{name: p}", `
  name: p
  annotations: {policies.kyverno.io/category: Pods, policies.kyverno.io/severity: high, policies.kyverno.io/scored: "false"}`, 1)
	enginetest.WantEqual(t, "presentation", policy.Presentation{
		Source: "kyverno", Category: "Pods", Severity: report.SeverityHigh, Process: "background scan",
	}, compile(t, text).Presentation())
	text = strings.Replace(text, "spec:\n", "spec:\n  background: false\n", 1)
	text = strings.Replace(text, "severity: high", "severity: terrible", 1)
	p := compile(t, text)
	enginetest.WantEqual(t, "presentation", policy.Presentation{Source: "kyverno", Category: "Pods", Process: "admission review"}, p.Presentation())
	if p.Background() {
		t.Error("background false is not seen")
	}

	cel := compile(t, enginetest.ValidatingPolicy)
	enginetest.WantEqual(t, "presentation", policy.Presentation{Source: "KyvernoValidatingPolicy", Scored: true, Process: "background scan"}, cel.Presentation())
	cel = compile(t, strings.Replace(enginetest.ValidatingPolicy, "spec:\n", "spec:\n  evaluation: {background: {enabled: false}}\n", 1))
	if cel.Background() || cel.Presentation().Process != "admission review" {
		t.Errorf("background %v, %+v", cel.Background(), cel.Presentation())
	}
}

// TestReported: the label counts, not its value, and evaluates nothing.
func TestReported(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"p": enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "v": enginetest.ValidatingPolicy} {
		before := compile(t, text)
		for _, value := range []string{"'true'", "'false'", "''"} {
			p := compile(t, strings.Replace(text, "{name: "+name+"}", "{name: "+name+", labels: {reports.kyverno.io/disabled: "+value+"}}", 1))
			if !before.Reported() || p.Reported() || p.Fingerprint() != before.Fingerprint() || p.Admission().Enforces != before.Admission().Enforces {
				t.Errorf("%s with the value %s: reported %v", name, value, p.Reported())
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))
	annotated := func(annotation string) string {
		return strings.Replace(base, "{name: p}", "{name: p, annotations: {"+annotation+"}}", 1)
	}
	unchanged := compile(t, base).Fingerprint()
	for name, text := range map[string]string{
		"title":    annotated("policies.kyverno.io/title: A title"),
		"severity": annotated("policies.kyverno.io/severity: high"),
		"argocd":   annotated("argocd.argoproj.io/tracking-id: x"),
		"status":   base + "status: {ready: true, validatingadmissionpolicy: {generated: true}}\n",
		"labels":   strings.Replace(base, "{name: p}", "{name: p, resourceVersion: \"7\", labels: {a: b}}", 1),
	} {
		if compile(t, text).Fingerprint() != unchanged {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	other := strings.Replace(enginetest.Exception, "policyName: p", "policyName: other", 1)
	if compile(t, base, other).Fingerprint() != unchanged {
		t.Error("an exception for another policy changes the fingerprint")
	}
	seen := map[string]string{unchanged: "base"}
	add := func(name, fingerprint string) {
		if before, ok := seen[fingerprint]; ok {
			t.Errorf("%s has the fingerprint of %s", name, before)
		}
		seen[fingerprint] = name
	}
	add("autogen", compile(t, annotated("pod-policies.kyverno.io/autogen-controllers: none")).Fingerprint())
	add("name", compile(t, strings.Replace(base, "{name: p}", "{name: q}", 1)).Fingerprint())
	add("spec", compile(t, strings.Replace(base, "No privileged", "Not one privileged", 1)).Fingerprint())
	add("exception", compile(t, base, enginetest.Exception).Fingerprint())
	add("other spec of an exception", compile(t, base, strings.Replace(enginetest.Exception, "[bad]", "[bad, worse]", 1)).Fingerprint())
	add("other name of an exception", compile(t, base, strings.Replace(enginetest.Exception, "name: e,", "name: f,", 1)).Fingerprint())
	add("CEL", compile(t, enginetest.ValidatingPolicy).Fingerprint())
	add("CEL exception", compile(t, enginetest.ValidatingPolicy, enginetest.CELException).Fingerprint())
}

func TestTargets(t *testing.T) {
	t.Parallel()
	none := "metadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}"
	for name, test := range map[string]struct {
		match string
		want  []policy.Target
	}{
		"kinds": {`any: [{resources: {kinds: [Pod, apps/v1/Deployment, v1/Secret]}}]`, []policy.Target{
			{Group: "*", Version: "*", Kind: "Pod"}, {Group: "*", Version: "v1", Kind: "Secret"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		}},
		"subresources": {`any: [{resources: {kinds: [Deployment/scale, Pod.status, "*/*/Pod/exec"]}}]`, []policy.Target{
			{Group: "*", Version: "*", Kind: "Deployment", Subresource: "scale"}, {Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"},
			{Group: "*", Version: "*", Kind: "Pod", Subresource: "status"},
		}},
		"wildcards": {`any: [{resources: {kinds: ["*Set", "apps/*/Depl?yment"]}}]`, []policy.Target{
			{Group: "*", Version: "*", Kind: "*Set"}, {Group: "apps", Version: "*", Kind: "Depl?yment"},
		}},
		"all":           {`all: [{resources: {kinds: [Pod]}}, {resources: {names: ["a*"]}}]`, []policy.Target{{Group: "*", Version: "*", Kind: "Pod"}}},
		"without kinds": {`any: [{resources: {kinds: [Pod]}}, {resources: {names: ["a*"]}}]`, []policy.Target{{Group: "*", Version: "*", Kind: "*"}}},
		"old form":      {`resources: {kinds: [Pod]}`, []policy.Target{{Group: "*", Version: "*", Kind: "Pod"}}},
	} {
		text := strings.Replace(enginetest.ClusterPolicy("- name: r\n  match: {"+test.match+"}\n"+enginetest.Indent(`validate: {deny: {}}`)), "metadata: {name: p}", none, 1)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.WantEqual(t, "targets", test.want, compileAny(t, text).Targets())
		})
	}
}

func targeted(p policy.Policy, s policy.Subject) bool {
	return slices.ContainsFunc(p.Targets(), func(target policy.Target) bool {
		return target.Matches(s.Object.GroupVersionKind(), s.Resource.Resource)
	})
}

func TestTargetsOfGeneratedRules(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]policy.Policy{
		"classic": compile(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))), "CEL": compile(t, enginetest.ValidatingPolicy),
	} {
		for _, text := range []string{enginetest.GoodPod, enginetest.BadDeployment, enginetest.BadCronJob} {
			if s := enginetest.Subject(t, text); !targeted(p, s) {
				t.Errorf("%s: %v have no %s", name, p.Targets(), s.Object.GetKind())
			}
		}
		if targeted(p, enginetest.Subject(t, enginetest.ConfigMap)) {
			t.Errorf("%s: %v have ConfigMap", name, p.Targets())
		}
	}
	if targets := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}`))).Targets(); len(targets) != 0 {
		t.Errorf("a policy that only mutates has the targets %v", targets)
	}
}

func TestTargetsOfConstraints(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(enginetest.ValidatingPolicy, `{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}`,
		`{apiGroups: ["", apps], apiVersions: ["*"], operations: ["*"], resources: [pods/exec, "things/*"]}, {apiGroups: [x], apiVersions: [v1], operations: [DELETE], resources: [gone]}`, 1))
	var expected []policy.Target
	for _, group := range []string{"", "apps"} {
		expected = append(expected, policy.Target{Group: group, Version: "*", Resource: "pods", Subresource: "exec"},
			policy.Target{Group: group, Version: "*", Resource: "things"}, policy.Target{Group: group, Version: "*", Resource: "things", Subresource: "*"})
	}
	enginetest.WantEqual(t, "targets", expected, p.Targets())
}

func TestProblems(t *testing.T) {
	t.Parallel()
	base := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))
	for name, test := range map[string]struct{ text, rule, problem string }{
		"no rules":          {"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: []}\n", "none", "spec.rules"},
		"no spec":           {"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n", "none", "spec.rules"},
		"wrong type":        {strings.Replace(base, "message: No privileged containers.", "message: {no: text}", 1), "", "spec.rules.validate.message"},
		"wrong type above":  {strings.Replace(base, "spec:\n", "spec:\n  background: perhaps\n", 1), "", "spec.background"},
		"invalid pattern":   {enginetest.ClusterPolicy(enginetest.PodRule(`validate: {pattern: {spec: {+(x): y}}}`)), "r", "pattern"},
		"broken JMESPath":   {enginetest.ClusterPolicy(enginetest.PodRule(`validate: {pattern: {metadata: {name: "{{ request.object.[ }}"}}}`)), "r", "request.object.["},
		"unknown variable":  {enginetest.ClusterPolicy(enginetest.PodRule(`validate: {pattern: {metadata: {name: "{{ surprise }}"}}}`)), "r", "surprise"},
		"two types":         {enginetest.ClusterPolicy(enginetest.PodRule("validate: {deny: {}}\nmutate: {patchStrategicMerge: {a: b}}")), "r", "r"},
		"broken CEL rule":   {enginetest.ClusterPolicy(enginetest.PodRule(`validate: {cel: {expressions: [{expression: "object.metadata."}]}}`)), "r", "Syntax error"},
		"unknown kind":      {"apiVersion: kyverno.io/v1\nkind: Nonsense\nmetadata: {name: p}\n", "none", "Nonsense"},
		"broken CEL":        {strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "'object.', m", 1), "", "spec.validations[0].expression"},
		"CEL variable":      {strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "variables.other, m", 1), "", "other"},
		"wrong type in CEL": {strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "7, m", 1), "", "spec.validations.expression"},
		"no constraints":    {"apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec: {validations: [{expression: 'true'}]}\n", "none", "spec.matchConstraints"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compileAny(t, test.text)
			if p.Problem() == nil || !strings.Contains(p.Problem().Error(), test.problem) {
				t.Fatalf("problem %v, want one about %q", p.Problem(), test.problem)
			}
			enginetest.Want(t, p, enginetest.Subject(t, enginetest.ConfigMap))
			if test.rule == "none" {
				enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod))
				return
			}
			enginetest.WantError(t, p, enginetest.Subject(t, enginetest.BadPod), test.rule, test.problem)
		})
	}
}

// TestStrangeObjects promises that Compile survives what JSON does not have.
func TestStrangeObjects(t *testing.T) {
	t.Parallel()
	for _, text := range []string{enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), enginetest.ValidatingPolicy} {
		strange := enginetest.Object(t, text)
		strange.Object["spec"].(map[string]any)["background"] = make(chan int)
		if p := compiler(t).Compile(strange, nil); p.Problem() == nil || p.Fingerprint() == "" {
			t.Errorf("%s: problem %v", p.Identity(), p.Problem())
		}
	}
}

// TestUnknownFields promises that a policy of a newer Kyverno is evaluated as the API server would
// have stored it, and that the fields left out are named by their paths.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	const loop = "validate: {foreach: [{list: request.object.spec.containers, surprise: 1, deny: {conditions: {all: [{key: a, operater: Equals, value: b}]}}}]}"
	for name, test := range map[string]struct {
		text  string
		paths []string
	}{
		"none":            {enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), nil},
		"none in CEL":     {enginetest.ValidatingPolicy, nil},
		"spec":            {strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "spec:\n", "spec:\n  surprise: {a: 1}\n", 1), []string{"spec.surprise"}},
		"spec of CEL":     {strings.Replace(enginetest.ValidatingPolicy, "spec:\n", "spec:\n  surprise: true\n", 1), []string{"spec.surprise"}},
		"match":           {strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "resources: {", "resources: {surprise: [a], ", 1), []string{"spec.rules[0].match", "surprise"}},
		"matchConstraint": {strings.Replace(enginetest.ValidatingPolicy, "    resourceRules", "    excludeEverything: true\n    resourceRules", 1), []string{"spec.matchConstraints.excludeEverything"}},
		"loop": {enginetest.ClusterPolicy(enginetest.PodRule(loop)), []string{
			"spec.rules[0].validate.foreach[0].surprise", "spec.rules[0].validate.foreach[0].deny.conditions.all[0].operater",
		}},
		"list of conditions": {enginetest.ClusterPolicy(enginetest.PodRule("preconditions: [{key: a, operator: Equals, value: b, surprise: c}]\n" + enginetest.Unprivileged)), []string{
			"spec.rules[0].preconditions[0].surprise",
		}},
	} {
		doubt := compiler(t).Compile(enginetest.Object(t, test.text), nil).Doubt()
		if (doubt != nil) != (test.paths != nil) {
			t.Errorf("%s: doubt %v", name, doubt)
			continue
		}
		for _, path := range test.paths {
			if !strings.Contains(doubt.Error(), path) {
				t.Errorf("%s: %v does not name %s", name, doubt, path)
			}
		}
	}
	many := "spec:\n"
	for i := range 60 {
		many += fmt.Sprintf("  surprise%d: 1\n", i)
	}
	if p := compile(t, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "spec:\n", many, 1)); !strings.Contains(p.Doubt().Error(), "and 40 more") {
		t.Errorf("many: %v", p.Doubt())
	}
	enginetest.Want(t, compile(t, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "spec:\n", "spec:\n  surprise: true\n", 1)), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, compile(t, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "kyverno.io/v1", "kyverno.io/v2beta1", 1)), enginetest.Subject(t, enginetest.BadPod), "r:fail")
}

// TestLongNames promises that Kyverno's limit for names, which is about its own labels, is none here.
func TestLongNames(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "{name: p}", "{name: "+strings.Repeat("p", 253)+"}", 1))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
}
