// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestReviewActions(t *testing.T) {
	t.Parallel()
	overridden := `
validationFailureAction: Audit
validationFailureActionOverrides: [{action: Enforce, namespaces: ["te*"]}]
`
	selected := `
validationFailureActionOverrides: [{action: Enforce, namespaceSelector: {matchLabels: {env: prod}}}]
`
	elsewhere := strings.Replace(enginetest.BadPod, "namespace: team", "namespace: other", 1)
	prod := map[string]string{"env": "prod"}
	ownEnforce := enginetest.ClusterPolicy(enginetest.PodRule(strings.Replace(enginetest.Unprivileged, "validate:\n", "validate:\n  failureAction: Enforce\n", 1)))
	ownAudit := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(strings.Replace(enginetest.Unprivileged, "validate:\n", "validate:\n  failureAction: Audit\n", 1))))
	ownOverride := enginetest.ClusterPolicy(enginetest.PodRule(strings.Replace(enginetest.Unprivileged, "validate:\n",
		"validate:\n  failureAction: Audit\n  failureActionOverrides: [{action: Enforce, namespaces: [team]}]\n", 1)))
	cel := `
validate: {failureAction: Enforce, cel: {expressions: [{expression: "object.metadata.name == 'good'", message: Bad.}]}}
`
	for name, test := range map[string]reviewCase{
		"audit":                               {enginetest.Plain, nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail"}},
		"enforce":                             {enginetest.Enforced, nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"enforce, lower case":                 {enginetest.WithSpec(enginetest.Plain, "validationFailureAction: enforce"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"enforce under Ignore":                {enginetest.WithSpec(enginetest.Enforced, "failurePolicy: Ignore"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"pass":                                {enginetest.Enforced, nil, enginetest.Create(t, enginetest.GoodPod), []string{"r:pass"}},
		"generated rule":                      {enginetest.Enforced, nil, enginetest.Create(t, enginetest.BadDeployment), []string{"autogen-r:fail!"}},
		"another kind":                        {enginetest.Enforced, nil, enginetest.Create(t, enginetest.ConfigMap), nil},
		"override of a namespace":             {enginetest.WithSpec(enginetest.Plain, overridden), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"override of another namespace":       {enginetest.WithSpec(enginetest.Plain, overridden), nil, enginetest.Create(t, elsewhere), []string{"r:fail"}},
		"override of labels":                  {enginetest.WithSpec(enginetest.Plain, selected), nil, enginetest.Create(t, enginetest.BadPod, enginetest.TeamWith(prod)), []string{"r:fail!"}},
		"override of other labels":            {enginetest.WithSpec(enginetest.Plain, selected), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail"}},
		"override that audits":                {enginetest.WithSpec(enginetest.Enforced, `validationFailureActionOverrides: [{action: Audit, namespaces: [team]}]`), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail"}},
		"override of all":                     {enginetest.WithSpec(enginetest.Plain, `validationFailureActionOverrides: [{action: Enforce}]`), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"action of the rule":                  {ownEnforce, nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"action of the rule, generated":       {ownEnforce, nil, enginetest.Create(t, enginetest.BadDeployment), []string{"autogen-r:fail!"}},
		"rule that audits":                    {ownAudit, nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail"}},
		"override of the rule":                {ownOverride, nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"override of the rule, elsewhere":     {ownOverride, nil, enginetest.Create(t, elsewhere), []string{"r:fail"}},
		"rule audits, override enforces":      {enginetest.WithSpec(strings.Replace(ownAudit, "  validationFailureAction: Enforce\n", "", 1), overridden), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail~"}},
		"rule enforces, override audits":      {enginetest.WithSpec(ownEnforce, `validationFailureActionOverrides: [{action: Audit, namespaces: [team]}]`), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail"}},
		"warning":                             {enginetest.WithSpec(enginetest.Plain, "emitWarning: true"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail~"}},
		"no warning of a success":             {enginetest.WithSpec(enginetest.Plain, "emitWarning: true"), nil, enginetest.Create(t, enginetest.GoodPod), []string{"r:pass"}},
		"error":                               {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unresolved))), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:error!"}},
		"error under Ignore":                  {enginetest.WithSpec(enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unresolved))), "failurePolicy: Ignore"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:error~"}},
		"error under Ignore of webhooks":      {enginetest.WithSpec(enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unresolved))), "webhookConfiguration: {failurePolicy: Ignore}"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:error~"}},
		"error of an audit":                   {enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unresolved)), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:error"}},
		"exception":                           {enginetest.Enforced, []string{enginetest.Exception}, enginetest.Create(t, enginetest.BadPod), []string{"r:skip"}},
		"exception of another":                {enginetest.Enforced, []string{strings.Replace(enginetest.Exception, "[bad]", "[other]", 1)}, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"CEL":                                 {enginetest.ClusterPolicy(enginetest.PodRule(cel)), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"CEL with an exception":               {enginetest.ClusterPolicy(enginetest.PodRule(cel)), []string{enginetest.Exception}, enginetest.Create(t, enginetest.BadPod), []string{"r:skip"}},
		"match conditions":                    {enginetest.Enforcing(enginetest.WithMatchCondition), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"match conditions of others":          {enginetest.Enforcing(enginetest.WithMatchCondition), nil, enginetest.Create(t, enginetest.GoodPod), nil},
		"pod security":                        {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("validate: {podSecurity: {level: baseline, version: latest}}"))), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"several rules":                       {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unresolved) + strings.Replace(enginetest.PodRule(enginetest.Unprivileged), "name: r", "name: second", 1))), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:error!", "second:fail!"}},
		"first rule only":                     {enginetest.WithSpec(enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)+strings.Replace(enginetest.PodRule(enginetest.Unprivileged), "name: r", "name: second", 1))), "applyRules: One"), nil, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"name yet to be made":                 {enginetest.Enforced, nil, enginetest.Create(t, strings.Replace(enginetest.BadPod, "name: bad,", "generateName: bad-,", 1)), []string{"r:fail!"}},
		"object that is being deleted":        {enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Create, strings.Replace(enginetest.BadPod, "name: bad,", `name: bad, deletionTimestamp: "2026-11-21T10:00:00Z",`, 1), ""), []string{"r:fail!"}},
		"namespace object":                    {enginetest.Enforcing(enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [Namespace]}}]}\n  validate: {pattern: {metadata: {labels: {owner: \"?*\"}}}}\n")), nil, enginetest.Create(t, enginetest.NamespaceObject, enginetest.TeamWith(nil)), []string{"r:fail!"}},
		"exception by user":                   {enginetest.Enforced, []string{strings.Replace(enginetest.Exception, "names: [bad]}", "names: [bad]}, subjects: [{kind: User, name: jane}]", 1)}, enginetest.Create(t, enginetest.BadPod), []string{"r:skip"}},
		"exception of another user":           {enginetest.Enforced, []string{strings.Replace(enginetest.Exception, "names: [bad]}", "names: [bad]}, subjects: [{kind: User, name: joe}]", 1)}, enginetest.Create(t, enginetest.BadPod), []string{"r:fail!"}},
		"ephemeral containers of a pod":       {enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.Of(enginetest.Pods, ephemeralContainers)), []string{"r:fail!"}},
		"status of a pod":                     {enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.Of(enginetest.Pods, "status")), nil},
		"update of a violation":               {enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), []string{"r:skip"}},
		"update of a violation, audit":        {enginetest.Plain, nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), []string{"r:fail"}},
		"update of a violation, precondition": {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("preconditions: {all: [{key: \"{{ request.object.metadata.name }}\", operator: Equals, value: bad}]}\nvalidate: {message: m, deny: {}}"))), nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), []string{"r:fail!"}},
		"update of a violation, variable":     {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("context: [{name: d, variable: {jmesPath: request.object.metadata.name}}]\nvalidate: {message: m, deny: {conditions: {any: [{key: \"{{ d }}\", operator: Equals, value: bad}]}}}"))), nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod), []string{"r:skip"}},
		"update to a violation":               {enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod), []string{"r:fail!"}},
		"update of a violation, forbidden":    {strings.Replace(enginetest.Enforced, "validate:\n", "validate:\n      allowExistingViolations: false\n", 1), nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), []string{"r:fail!"}},
		"pod security, update":                {enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("validate: {podSecurity: {level: baseline, version: latest}}"))), nil, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), []string{"r:skip"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.check(t)
		})
	}
}

// TestReviewOperations promises that rules see the operation and its data.
func TestReviewOperations(t *testing.T) {
	t.Parallel()
	immutable := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`
match: {any: [{resources: {kinds: [Pod], operations: [UPDATE]}}]}
validate:
  message: "{{ request.oldObject.metadata.labels.app }} may not become {{ request.object.metadata.labels.app || 'nothing' }}"
  deny: {conditions: {any: [{key: "{{ request.object.metadata.labels.app || '' }}", operator: NotEquals, value: "{{ request.oldObject.metadata.labels.app }}"}]}}
`)))
	immutable = strings.Replace(immutable, "    match: {any: [{resources: {kinds: [Pod]}}]}\n", "", 1)
	other := strings.Replace(enginetest.GoodPod, "app: web", "app: shop", 1)
	deletion := enginetest.Enforcing(enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
  validate:
    message: "{{ request.operation }} of {{ request.object.metadata.name }} by {{ request.userInfo.username }} in {{ request.namespace }}"
    deny: {}
`))
	anyDeletion := strings.Replace(deletion, ", operations: [DELETE]", "", 1)
	exec := enginetest.Enforcing(enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Pod/exec]}}]}
  validate:
    message: "{{ request.object.command[0] }} in {{ request.name }}"
    deny: {conditions: {all: [{key: "{{ request.object.container }}", operator: Equals, value: main}]}}
`))
	replicas := enginetest.Enforcing(enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [team]}}]}
  validate: {message: Too many., pattern: {spec: {replicas: "<5"}}}
`))
	connect := func(r *policy.Request) { r.Name, r.Namespace = "bad", "team" }
	for name, test := range map[string]struct {
		reviewCase
		message string
	}{
		"changed field":           {reviewCase{immutable, nil, enginetest.Request(t, admissionv1.Update, other, enginetest.GoodPod), []string{"r:fail!"}}, "web may not become shop"},
		"unchanged field":         {reviewCase{immutable, nil, enginetest.Request(t, admissionv1.Update, enginetest.GoodPod, enginetest.GoodPod), []string{"r:pass"}}, ""},
		"creation":                {reviewCase{immutable, nil, enginetest.Create(t, enginetest.GoodPod), nil}, ""},
		"deletion":                {reviewCase{deletion, nil, enginetest.Request(t, admissionv1.Delete, "", enginetest.ConfigMap), []string{"r:fail!"}}, "DELETE of c by jane in team"},
		"creation, not deletion":  {reviewCase{deletion, nil, enginetest.Create(t, enginetest.ConfigMap), nil}, ""},
		"any operation":           {reviewCase{anyDeletion, nil, enginetest.Request(t, admissionv1.Delete, "", enginetest.ConfigMap), []string{"r:fail!"}}, "DELETE of c"},
		"deletion and a pattern":  {reviewCase{enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Delete, "", enginetest.BadPod), nil}, ""},
		"exec":                    {reviewCase{exec, nil, enginetest.Request(t, admissionv1.Connect, enginetest.ExecOptions, "", enginetest.Of(enginetest.Pods, "exec"), connect), []string{"r:fail!"}}, "sh in bad"},
		"attach":                  {reviewCase{exec, nil, enginetest.Request(t, admissionv1.Connect, enginetest.ExecOptions, "", enginetest.Of(enginetest.Pods, "attach"), connect), nil}, ""},
		"exec, not by the object": {reviewCase{enginetest.Enforced, nil, enginetest.Request(t, admissionv1.Connect, enginetest.ExecOptions, "", enginetest.Of(enginetest.Pods, "exec"), connect), nil}, ""},
		"scale": {reviewCase{replicas, nil, enginetest.Request(t, admissionv1.Update, enginetest.Scale, strings.Replace(enginetest.Scale, "9", "2", 1),
			enginetest.Of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{"r:fail!"}}, "Too many."},
		"number in an expression": {reviewCase{enginetest.Enforcing(enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [team]}}]}\n  validate: {message: Many., deny: {conditions: {any: [{key: \"{{ request.object.spec.replicas > `5` }}\", operator: Equals, value: true}]}}}\n")), nil,
			enginetest.Request(t, admissionv1.Update, enginetest.Scale, strings.Replace(enginetest.Scale, "9", "2", 1), enginetest.Of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{"r:fail!"}}, "Many."},
		"scale of others": {reviewCase{replicas, nil, enginetest.Create(t, enginetest.BadDeployment), nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdicts := test.check(t)
			if test.message != "" && (len(verdicts) != 1 || !strings.Contains(verdicts[0].Message, test.message)) {
				t.Errorf("%+v, want %q", verdicts, test.message)
			}
		})
	}
}

// TestReviewUser promises that rules see who asks.
func TestReviewUser(t *testing.T) {
	t.Parallel()
	matching := func(filter string) string {
		return enginetest.Enforcing(enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}, " + filter + "}]}\n  validate: {message: m, deny: {}}\n"))
	}
	excluding := func(filter string) string {
		return enginetest.Enforcing(enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n  exclude: {any: [{" + filter + "}]}\n  validate: {message: m, deny: {}}\n"))
	}
	saying := func(message string) string {
		return enginetest.Enforcing(enginetest.ClusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n  validate: {message: \"" + message + "\", deny: {}}\n"))
	}
	dry := func(r *policy.Request) { yes := true; r.DryRun = &yes }
	account := func(r *policy.Request) { r.UserInfo.Username = "system:serviceaccount:ci:builder" }
	roles := enginetest.WithRoles([]string{"team:editor"}, []string{"admin", "view"})
	deny := []string{"r:fail!"}
	for name, test := range map[string]struct {
		reviewCase
		message string
	}{
		"user":                      {reviewCase{matching("subjects: [{kind: User, name: jane}]"), nil, enginetest.Create(t, enginetest.ConfigMap), deny}, "m"},
		"another user":              {reviewCase{matching("subjects: [{kind: User, name: joe}]"), nil, enginetest.Create(t, enginetest.ConfigMap), nil}, ""},
		"group":                     {reviewCase{matching("subjects: [{kind: Group, name: dev}]"), nil, enginetest.Create(t, enginetest.ConfigMap), deny}, "m"},
		"role":                      {reviewCase{matching(`roles: ["team:editor"]`), nil, enginetest.Create(t, enginetest.ConfigMap, roles), deny}, "m"},
		"no role":                   {reviewCase{matching(`roles: ["team:editor"]`), nil, enginetest.Create(t, enginetest.ConfigMap), nil}, ""},
		"cluster role":              {reviewCase{matching("clusterRoles: [admin]"), nil, enginetest.Create(t, enginetest.ConfigMap, roles), deny}, "m"},
		"another cluster role":      {reviewCase{matching("clusterRoles: [owner]"), nil, enginetest.Create(t, enginetest.ConfigMap, roles), nil}, ""},
		"excluded user":             {reviewCase{excluding("subjects: [{kind: User, name: jane}]"), nil, enginetest.Create(t, enginetest.ConfigMap), nil}, ""},
		"excluded cluster role":     {reviewCase{excluding("clusterRoles: [admin]"), nil, enginetest.Create(t, enginetest.ConfigMap, roles), nil}, ""},
		"not excluded cluster role": {reviewCase{excluding("clusterRoles: [owner]"), nil, enginetest.Create(t, enginetest.ConfigMap, roles), deny}, "m"},
		"user in a message":         {reviewCase{saying("{{ request.userInfo.username }} of {{ request.userInfo.groups[0] }}"), nil, enginetest.Create(t, enginetest.ConfigMap), deny}, "jane of dev"},
		"roles in a message":        {reviewCase{saying("{{ request.roles[0] }} {{ request.clusterRoles[1] }}"), nil, enginetest.Create(t, enginetest.ConfigMap, roles), deny}, "team:editor view"},
		"service account":           {reviewCase{saying("{{ serviceAccountNamespace }}/{{ serviceAccountName }}"), nil, enginetest.Create(t, enginetest.ConfigMap, account), deny}, "ci/builder"},
		"request":                   {reviewCase{saying("{{ request.kind.kind }} {{ request.resource.resource }} {{ request.name }} {{ request.uid }}"), nil, enginetest.Create(t, enginetest.ConfigMap), deny}, "ConfigMap configmaps c 5c1e0a0e"},
		"dry run":                   {reviewCase{saying("dry: {{ request.dryRun }}"), nil, enginetest.Create(t, enginetest.ConfigMap, dry), deny}, "dry: true"},
		"no dry run":                {reviewCase{saying("dry: {{ request.dryRun }}"), nil, enginetest.Create(t, enginetest.ConfigMap), deny}, "dry: false"},
		"image":                     {reviewCase{enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("validate: {message: \"{{ images.containers.main.tag }}\", deny: {}}"))), nil, enginetest.Create(t, enginetest.GoodPod), deny}, "1.2"},
		"element": {reviewCase{enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`
validate:
  message: m
  foreach: [{list: request.object.spec.containers, deny: {conditions: {any: [{key: "{{ element.name }}/{{ request.userInfo.username }}", operator: Equals, value: side/jane}]}}}]
`))), nil, enginetest.Create(t, enginetest.BadPod), deny}, "m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdicts := test.check(t)
			if test.message != "" && (len(verdicts) != 1 || !strings.Contains(verdicts[0].Message, test.message)) {
				t.Errorf("%+v, want %q", verdicts, test.message)
			}
		})
	}
}

// TestReviewWithoutRoles promises an error where the roles of the user can't be told, and no
// question about them where nobody wants to know.
func TestReviewWithoutRoles(t *testing.T) {
	t.Parallel()
	asked := 0
	r := enginetest.Create(t, enginetest.BadPod, func(r *policy.Request) {
		r.Roles = func() ([]string, []string, error) { asked++; return nil, nil, errors.New("no bindings") }
	})
	enginetest.WantVerdicts(t, compile(t, enginetest.Enforced), r, "r:fail!")
	if asked != 0 {
		t.Errorf("asked %d times for nothing", asked)
	}
	p := compile(t, strings.Replace(enginetest.Enforced, "[{resources: {kinds: [Pod]}}]", "[{resources: {kinds: [Pod]}, clusterRoles: [admin]}]", 1))
	verdicts := enginetest.WantVerdicts(t, p, r, "r:error!")
	if len(verdicts) == 1 && (!strings.Contains(verdicts[0].Message, "no bindings") || !strings.Contains(verdicts[0].Message, "jane")) {
		t.Errorf("message %q", verdicts[0].Message)
	}
}

// TestReviewWithoutAnObject promises no verdicts about a request without an object.
func TestReviewWithoutAnObject(t *testing.T) {
	t.Parallel()
	r := enginetest.Create(t, enginetest.BadPod)
	r.New, r.Object.Raw = nil, nil
	enginetest.WantVerdicts(t, compile(t, enginetest.Enforced), r)
	if verdicts, err := compile(t, enginetest.Enforced).Review(t.Context(), &policy.Request{}); err != nil || verdicts != nil {
		t.Errorf("%+v, %v", verdicts, err)
	}
}

// TestRequestedKind promises the kind of the resource for objects of subresources.
func TestRequestedKind(t *testing.T) {
	t.Parallel()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range enginetest.Kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for name, test := range map[string]struct {
		mapper  meta.RESTMapper
		targets []policy.Target
		request *policy.Request
		want    schema.GroupVersionKind
	}{
		"object":              {mapper, nil, enginetest.Create(t, enginetest.BadPod), enginetest.Kinds["pods"]},
		"mapper":              {mapper, nil, enginetest.Create(t, enginetest.Scale, enginetest.Of(deployments, "scale")), enginetest.Kinds["deployments"]},
		"targets":             {nil, kindTargets([]string{"Pod", "Deployment/scale"}), enginetest.Create(t, enginetest.Scale, enginetest.Of(deployments, "scale")), enginetest.Kinds["deployments"]},
		"neither":             {nil, kindTargets([]string{"*/*"}), enginetest.Create(t, enginetest.Scale, enginetest.Of(deployments, "scale")), deployments.GroupVersion().WithKind("Scale")},
		"object of the kind":  {nil, nil, enginetest.Create(t, enginetest.BadPod, enginetest.Of(enginetest.Pods, "status")), enginetest.Kinds["pods"]},
		"unknown to a mapper": {meta.NewDefaultRESTMapper(nil), kindTargets([]string{"Pod/exec"}), enginetest.Create(t, enginetest.ExecOptions, enginetest.Of(enginetest.Pods, "exec")), enginetest.Kinds["pods"]},
	} {
		if got := base.RequestedKind(test.mapper, test.targets, test.request); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
