// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
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
	exec := policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"}
	maps := policy.Target{Group: "*", Version: "*", Kind: "ConfigMap"}
	rule := func(match, check string) string {
		return clusterPolicy("- name: r\n  match: {any: [{" + match + "}]}\n" + indent(check))
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
		"audit":                   {without(plain), policy.Admission{Enabled: true, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"enforce":                 {without(enforced), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"enforce under Ignore":    {withSpec(without(enforced), "failurePolicy: Ignore"), policy.Admission{Enabled: true, Enforces: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"off":                     {withSpec(without(enforced), "admission: false"), policy.Admission{Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"override":                {withSpec(without(plain), "validationFailureActionOverrides: [{action: Enforce, namespaces: [a]}]"), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"action of a rule":        {rule("resources: {kinds: [ConfigMap]}", strings.Replace(deny, "{", "{failureAction: Enforce, ", 1)), policy.Admission{Enabled: true, Enforces: true, Closed: true, Warns: true, Operations: operations(onCreate, onUpdate, onDelete), Targets: []policy.Target{maps}}},
		"operations":              {rule("resources: {kinds: [ConfigMap], operations: [DELETE, CREATE]}", deny), policy.Admission{Enabled: true, Operations: operations(onCreate, onDelete), Targets: []policy.Target{maps}}},
		"subresource":             {rule("resources: {kinds: [Pod/exec]}", deny), policy.Admission{Enabled: true, Operations: allOperations, Targets: []policy.Target{exec}}},
		"connect":                 {rule("resources: {kinds: [Pod/exec], operations: [CONNECT]}", deny), policy.Admission{Enabled: true, Operations: operations(onConnect), Targets: []policy.Target{exec}}},
		"roles":                   {rule("resources: {kinds: [ConfigMap], operations: [CREATE]}, clusterRoles: [admin]", deny), policy.Admission{Enabled: true, Roles: true, Operations: operations(onCreate), Targets: []policy.Target{maps}}},
		"roles in an expression":  {rule("resources: {kinds: [ConfigMap], operations: [CREATE]}", strings.Replace(deny, "m,", `"{{ request.roles }}",`, 1)), policy.Admission{Enabled: true, Roles: true, Operations: operations(onCreate), Targets: []policy.Target{maps}}},
		"timeout":                 {withSpec(without(plain), "webhookConfiguration: {timeoutSeconds: 3}"), policy.Admission{Enabled: true, Timeout: 3 * time.Second, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"timeout of old":          {withSpec(without(plain), "webhookTimeoutSeconds: 4"), policy.Admission{Enabled: true, Timeout: 4 * time.Second, Operations: changes, Targets: []policy.Target{ephemeral, pod}}},
		"rules of other types":    {rule("resources: {kinds: [ConfigMap]}", "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}"), policy.Admission{Targets: []policy.Target{}}},
		"foreach checks deletion": {rule("resources: {kinds: [ConfigMap]}", "validate: {message: m, foreach: [{list: request.oldObject.data, deny: {}}]}"), policy.Admission{Enabled: true, Operations: operations(onCreate, onUpdate, onDelete), Targets: []policy.Target{maps}}},
	} {
		got := compile(t, test.policy).Admission()
		if len(got.Targets) == 0 {
			got.Targets = []policy.Target{}
		}
		wantEqual(t, name, test.want, got)
	}
	roles := strings.Replace(exception, "names: [bad]}", "names: [bad]}, roles: [\"a:b\"]", 1)
	if !compile(t, plain, roles).Admission().Roles {
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
		"default":   {celPolicyText("configmaps", "UPDATE, DELETE", "true", ""), policy.Admission{Enabled: true, Enforces: true, Closed: true, Operations: operations(onUpdate, onDelete), Targets: maps}},
		"audit":     {celPolicyText("configmaps", `"*"`, "true", "validationActions: [Audit, Warn]"), policy.Admission{Enabled: true, Warns: true, Operations: allOperations, Targets: maps}},
		"Ignore":    {celPolicyText("configmaps", "CREATE", "true", "failurePolicy: Ignore"), policy.Admission{Enabled: true, Enforces: true, Operations: operations(onCreate), Targets: maps}},
		"off":       {celPolicyText("configmaps", "CREATE", "true", "evaluation: {admission: {enabled: false}}"), policy.Admission{Enforces: true, Closed: true, Operations: operations(onCreate), Targets: maps}},
		"timeout":   {celPolicyText("configmaps", "CREATE", "true", "webhookConfiguration: {timeoutSeconds: 5}"), policy.Admission{Enabled: true, Enforces: true, Closed: true, Timeout: 5 * time.Second, Operations: operations(onCreate), Targets: maps}},
		"JSON mode": {celPolicyText("configmaps", "CREATE", "true", "evaluation: {mode: JSON}"), policy.Admission{}},
		"connect":   {celPolicyText("pods/exec", "CONNECT", "true", ""), policy.Admission{Enabled: true, Enforces: true, Closed: true, Operations: operations(onConnect), Targets: []policy.Target{{Version: "v1", Resource: "pods", Subresource: "exec"}}}},
	} {
		p := compile(t, test.policy)
		wantEqual(t, name, test.want, p.Admission())
		if name == "connect" || name == "default" {
			wantEqual(t, name+": targets of a scan", 0, len(p.Targets()))
		}
	}
	generated := compile(t, validatingPolicy).Admission().Targets
	if !requested(generated, kinds["deployments"], "deployments", "") {
		t.Errorf("targets %v lack what is generated for workloads", generated)
	}
}

// TestAdmissionOfBrokenPolicies promises that a policy that can't be evaluated denies what it is
// about if it says so, with what is wrong with it.
func TestAdmissionOfBrokenPolicies(t *testing.T) {
	t.Parallel()
	undecodable := "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules: [{name: 1, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {failureAction: Enforce, pattern: {}}}]\n"
	invalid := enforcing(clusterPolicy(podRule("validate: {message: m, deny: {conditions: {any: [{key: \"{{ unknown.variable }}\", operator: Equals, value: 1}]}}}")))
	invalidPattern := enforcing(clusterPolicy(podRule(`validate: {message: "{{ unknown.variable }}", pattern: {metadata: {name: "?*"}}}`)))
	badCEL := celPolicyText("pods", "CREATE", "object.", "")
	selecting := strings.Replace(badCEL, "matchConstraints:\n", "matchConstraints:\n    namespaceSelector: {matchLabels: {env: prod}}\n", 1)
	undecodableCEL := strings.Replace(badCEL, "validations: [{expression: \"object.\", message: Refused.}]", "validations: 1", 1)
	noRules := strings.Replace(badCEL, "resourceRules: [", "resourceRules: [] #", 1)
	del := request(t, onDelete, "", badPod)
	for name, test := range map[string]struct {
		policy   string
		request  *policy.Request
		verdicts []string
	}{
		"undecodable":                    {undecodable, create(t, badPod), []string{":error!"}},
		"undecodable, audit":             {strings.Replace(undecodable, "Enforce", "Audit", 1), create(t, badPod), []string{":error"}},
		"undecodable, Ignore":            {withSpec(undecodable, "failurePolicy: Ignore"), create(t, badPod), []string{":error~"}},
		"undecodable, off":               {withSpec(undecodable, "admission: false"), create(t, badPod), nil},
		"undecodable, another kind":      {undecodable, create(t, configMap), nil},
		"undecodable, deletion":          {undecodable, del, nil},
		"invalid":                        {invalid, create(t, badPod), []string{"r:error!"}},
		"invalid, audit":                 {strings.Replace(invalid, "Enforce", "Audit", 1), create(t, badPod), []string{"r:error"}},
		"invalid, another kind":          {invalid, create(t, configMap), nil},
		"invalid, generated rule":        {invalid, create(t, badDeployment), []string{"autogen-r:error!"}},
		"invalid pattern, deletion":      {invalidPattern, del, nil},
		"invalid pattern":                {invalidPattern, create(t, badPod), []string{"r:error!"}},
		"invalid CEL":                    {badCEL, create(t, badPod), []string{":error!"}},
		"invalid CEL, audit":             {withSpec(badCEL, "validationActions: [Audit]"), create(t, badPod), []string{":error"}},
		"invalid CEL, another resource":  {badCEL, create(t, configMap), nil},
		"invalid CEL, deletion":          {badCEL, del, nil},
		"invalid CEL, another namespace": {selecting, create(t, badPod), nil},
		"invalid CEL, that namespace":    {selecting, create(t, badPod, teamWith(map[string]string{"env": "prod"})), []string{":error!"}},
		"undecodable CEL":                {undecodableCEL, create(t, badPod), []string{":error!"}},
		"undecodable CEL, another":       {undecodableCEL, create(t, configMap), nil},
		"undecodable CEL, audit":         {withSpec(undecodableCEL, "validationActions: [Audit]"), create(t, badPod), []string{":error"}},
		"without kinds":                  {strings.Replace(invalid, "[{resources: {kinds: [Pod]}}]", "[{resources: {names: [bad]}}]", 1), create(t, badPod), nil},
		"CEL without resources":          {noRules, create(t, badPod), nil},
		"what is no policy":              {"apiVersion: v1\nkind: X\nmetadata: {name: x}\n", create(t, badPod), nil},
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
			for _, verdict := range wantVerdicts(t, p, test.request, test.verdicts...) {
				if verdict.Message != p.Problem().Error() {
					t.Errorf("message %q is not the problem %q", verdict.Message, p.Problem())
				}
			}
		})
	}
}
