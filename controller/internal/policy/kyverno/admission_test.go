// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

const (
	onCreate  = admissionv1.Create
	onUpdate  = admissionv1.Update
	onDelete  = admissionv1.Delete
	onConnect = admissionv1.Connect
)

func operations(list ...admissionv1.Operation) []admissionv1.Operation { return list }

func TestAdmissionOfClassicPolicies(t *testing.T) {
	t.Parallel()
	pod := policy.Target{Group: "*", Version: "*", Kind: "Pod"}
	ephemeral := policy.Target{Version: "v1", Kind: "Pod", Subresource: "ephemeralcontainers"}
	resized := policy.Target{Version: "v1", Kind: "Pod", Subresource: "resize"}
	exec := policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"}
	maps := policy.Target{Group: "*", Version: "*", Kind: "ConfigMap"}
	rule := func(match, check string) string {
		return enginetest.ClusterPolicy("- name: r\n  match: {any: [{" + match + "}]}\n" + enginetest.Indent(check))
	}
	const deny = "validate: {message: m, deny: {}}"
	without := func(text string) string {
		return strings.Replace(text, "metadata: {name: p}", `metadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}`, 1)
	}
	changes := operations(onCreate, onUpdate)
	for name, test := range map[string]struct {
		policy string
		want   policy.Admission
	}{
		"audit":                   {without(enginetest.Plain), policy.Admission{Enabled: true, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"enforce":                 {without(enginetest.Enforced), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"enforce under Ignore":    {enginetest.WithSpec(without(enginetest.Enforced), "failurePolicy: Ignore"), policy.Admission{Enabled: true, Enforces: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"off":                     {enginetest.WithSpec(without(enginetest.Enforced), "admission: false"), policy.Admission{Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"override":                {enginetest.WithSpec(without(enginetest.Plain), "validationFailureActionOverrides: [{action: Enforce, namespaces: [a]}]"), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"action of a rule":        {rule("resources: {kinds: [ConfigMap]}", strings.Replace(deny, "{", "{failureAction: Enforce, ", 1)), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: operations(onCreate, onUpdate, onDelete), Targets: []policy.Target{maps}}},
		"operations":              {rule("resources: {kinds: [ConfigMap], operations: [DELETE, CREATE]}", deny), policy.Admission{Enabled: true, Operations: operations(onCreate, onDelete), Targets: []policy.Target{maps}}},
		"subresource":             {rule("resources: {kinds: [Pod/exec]}", deny), policy.Admission{Enabled: true, Operations: base.AllOperations, Targets: []policy.Target{exec}}},
		"connect":                 {rule("resources: {kinds: [Pod/exec], operations: [CONNECT]}", deny), policy.Admission{Enabled: true, Operations: operations(onConnect), Targets: []policy.Target{exec}}},
		"roles":                   {rule("resources: {kinds: [ConfigMap], operations: [CREATE]}, clusterRoles: [admin]", deny), policy.Admission{Enabled: true, Roles: true, Operations: operations(onCreate), Targets: []policy.Target{maps}}},
		"roles in an expression":  {rule("resources: {kinds: [ConfigMap], operations: [CREATE]}", strings.Replace(deny, "m,", `"{{ request.roles }}",`, 1)), policy.Admission{Enabled: true, Roles: true, Operations: operations(onCreate), Targets: []policy.Target{maps}}},
		"timeout":                 {enginetest.WithSpec(without(enginetest.Plain), "webhookConfiguration: {timeoutSeconds: 3}"), policy.Admission{Enabled: true, Timeout: 3 * time.Second, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"timeout of old":          {enginetest.WithSpec(without(enginetest.Plain), "webhookTimeoutSeconds: 4"), policy.Admission{Enabled: true, Timeout: 4 * time.Second, Operations: changes, Targets: []policy.Target{ephemeral, resized, pod}}},
		"rules of other types":    {rule("resources: {kinds: [ConfigMap]}", "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}"), policy.Admission{Targets: []policy.Target{}}},
		"foreach checks deletion": {rule("resources: {kinds: [ConfigMap]}", "validate: {message: m, foreach: [{list: request.oldObject.data, deny: {}}]}"), policy.Admission{Enabled: true, Operations: operations(onCreate, onUpdate, onDelete), Targets: []policy.Target{maps}}},
	} {
		got := compile(t, test.policy).Admission()
		if len(got.Targets) == 0 {
			got.Targets = []policy.Target{}
		}
		enginetest.WantEqual(t, name, test.want, got)
	}
	roles := strings.Replace(enginetest.Exception, "names: [bad]}", "names: [bad]}, roles: [\"a:b\"]", 1)
	if !compile(t, enginetest.Plain, roles).Admission().Roles {
		t.Error("the roles of an exception are not read")
	}
}

func TestAdmissionOfCELPolicies(t *testing.T) {
	t.Parallel()
	maps := []policy.Target{{Version: "v1", Resource: "configmaps"}}
	for name, test := range map[string]struct {
		policy string
		want   policy.Admission
	}{
		"default":   {enginetest.CELPolicyText("configmaps", "UPDATE, DELETE", "true", ""), policy.Admission{Enabled: true, Enforces: true, Closed: true, Operations: operations(onUpdate, onDelete), Targets: maps}},
		"audit":     {enginetest.CELPolicyText("configmaps", `"*"`, "true", "validationActions: [Audit, Warn]"), policy.Admission{Enabled: true, Warns: true, Operations: base.AllOperations, Targets: maps}},
		"Ignore":    {enginetest.CELPolicyText("configmaps", "CREATE", "true", "failurePolicy: Ignore"), policy.Admission{Enabled: true, Enforces: true, Operations: operations(onCreate), Targets: maps}},
		"off":       {enginetest.CELPolicyText("configmaps", "CREATE", "true", "evaluation: {admission: {enabled: false}}"), policy.Admission{Enforces: true, Closed: true, Operations: operations(onCreate), Targets: maps}},
		"timeout":   {enginetest.CELPolicyText("configmaps", "CREATE", "true", "webhookConfiguration: {timeoutSeconds: 5}"), policy.Admission{Enabled: true, Enforces: true, Closed: true, Timeout: 5 * time.Second, Operations: operations(onCreate), Targets: maps}},
		"JSON mode": {enginetest.CELPolicyText("configmaps", "CREATE", "true", "evaluation: {mode: JSON}"), policy.Admission{}},
		"connect":   {enginetest.CELPolicyText("pods/exec", "CONNECT", "true", ""), policy.Admission{Enabled: true, Enforces: true, Closed: true, Operations: operations(onConnect), Targets: []policy.Target{{Version: "v1", Resource: "pods", Subresource: "exec"}}}},
	} {
		p := compile(t, test.policy)
		enginetest.WantEqual(t, name, test.want, p.Admission())
		if name == "connect" || name == "default" {
			enginetest.WantEqual(t, name+": targets of a scan", 0, len(p.Targets()))
		}
	}
	generated := compile(t, enginetest.ValidatingPolicy).Admission().Targets
	if !base.Requested(generated, enginetest.Kinds["deployments"], "deployments", "") {
		t.Errorf("targets %v lack what is generated for workloads", generated)
	}
}

// TestAdmissionOfBrokenPolicies promises that a policy that can't be evaluated denies what it is
// about if it says so, with what is wrong with it.
func TestAdmissionOfBrokenPolicies(t *testing.T) {
	t.Parallel()
	undecodable := "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules: [{name: 1, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {failureAction: Enforce, pattern: {}}}]\n"
	invalid := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("validate: {message: m, deny: {conditions: {any: [{key: \"{{ unknown.variable }}\", operator: Equals, value: 1}]}}}")))
	invalidPattern := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`validate: {message: "{{ unknown.variable }}", pattern: {metadata: {name: "?*"}}}`)))
	badCEL := enginetest.CELPolicyText("pods", "CREATE", "object.", "")
	selecting := strings.Replace(badCEL, "matchConstraints:\n", "matchConstraints:\n    namespaceSelector: {matchLabels: {env: prod}}\n", 1)
	undecodableCEL := strings.Replace(badCEL, "validations: [{expression: \"object.\", message: Refused.}]", "validations: 1", 1)
	noRules := strings.Replace(badCEL, "resourceRules: [", "resourceRules: [] #", 1)
	del := enginetest.Request(t, onDelete, "", enginetest.BadPod)
	for name, test := range map[string]struct {
		policy   string
		request  *policy.Request
		verdicts []string
	}{
		"undecodable":                    {undecodable, enginetest.Create(t, enginetest.BadPod), []string{":error!"}},
		"undecodable, audit":             {strings.Replace(undecodable, "Enforce", "Audit", 1), enginetest.Create(t, enginetest.BadPod), []string{":error"}},
		"undecodable, Ignore":            {enginetest.WithSpec(undecodable, "failurePolicy: Ignore"), enginetest.Create(t, enginetest.BadPod), []string{":error~"}},
		"undecodable, off":               {enginetest.WithSpec(undecodable, "admission: false"), enginetest.Create(t, enginetest.BadPod), nil},
		"undecodable, another kind":      {undecodable, enginetest.Create(t, enginetest.ConfigMap), nil},
		"undecodable, deletion":          {undecodable, del, nil},
		"invalid":                        {invalid, enginetest.Create(t, enginetest.BadPod), []string{"r:error!"}},
		"invalid, audit":                 {strings.Replace(invalid, "Enforce", "Audit", 1), enginetest.Create(t, enginetest.BadPod), []string{"r:error"}},
		"invalid, another kind":          {invalid, enginetest.Create(t, enginetest.ConfigMap), nil},
		"invalid, generated rule":        {invalid, enginetest.Create(t, enginetest.BadDeployment), []string{"autogen-r:error!"}},
		"invalid pattern, deletion":      {invalidPattern, del, nil},
		"invalid pattern":                {invalidPattern, enginetest.Create(t, enginetest.BadPod), []string{"r:error!"}},
		"invalid CEL":                    {badCEL, enginetest.Create(t, enginetest.BadPod), []string{":error!"}},
		"invalid CEL, audit":             {enginetest.WithSpec(badCEL, "validationActions: [Audit]"), enginetest.Create(t, enginetest.BadPod), []string{":error"}},
		"invalid CEL, another resource":  {badCEL, enginetest.Create(t, enginetest.ConfigMap), nil},
		"invalid CEL, deletion":          {badCEL, del, nil},
		"invalid CEL, another namespace": {selecting, enginetest.Create(t, enginetest.BadPod), nil},
		"invalid CEL, that namespace":    {selecting, enginetest.Create(t, enginetest.BadPod, enginetest.TeamWith(map[string]string{"env": "prod"})), []string{":error!"}},
		"undecodable CEL":                {undecodableCEL, enginetest.Create(t, enginetest.BadPod), []string{":error!"}},
		"undecodable CEL, another":       {undecodableCEL, enginetest.Create(t, enginetest.ConfigMap), nil},
		"undecodable CEL, audit":         {enginetest.WithSpec(undecodableCEL, "validationActions: [Audit]"), enginetest.Create(t, enginetest.BadPod), []string{":error"}},
		"without kinds":                  {strings.Replace(invalid, "[{resources: {kinds: [Pod]}}]", "[{resources: {names: [bad]}}]", 1), enginetest.Create(t, enginetest.BadPod), nil},
		"CEL without resources":          {noRules, enginetest.Create(t, enginetest.BadPod), nil},
		"what is no policy":              {"apiVersion: v1\nkind: X\nmetadata: {name: x}\n", enginetest.Create(t, enginetest.BadPod), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compileAny(t, test.policy)
			if p.Problem() == nil {
				t.Fatal("the policy is fine")
			}
			if p.Admission().Enabled && len(p.Admission().Targets) == 0 {
				t.Error("enabled, about nothing")
			}
			for _, verdict := range enginetest.WantVerdicts(t, p, test.request, test.verdicts...) {
				if verdict.Message != p.Problem().Error() {
					t.Errorf("message %q is not the problem %q", verdict.Message, p.Problem())
				}
			}
		})
	}
}
