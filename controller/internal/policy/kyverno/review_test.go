// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
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
	elsewhere := strings.Replace(badPod, "namespace: team", "namespace: other", 1)
	prod := map[string]string{"env": "prod"}
	ownEnforce := clusterPolicy(podRule(strings.Replace(unprivileged, "validate:\n", "validate:\n  failureAction: Enforce\n", 1)))
	ownAudit := enforcing(clusterPolicy(podRule(strings.Replace(unprivileged, "validate:\n", "validate:\n  failureAction: Audit\n", 1))))
	ownOverride := clusterPolicy(podRule(strings.Replace(unprivileged, "validate:\n",
		"validate:\n  failureAction: Audit\n  failureActionOverrides: [{action: Enforce, namespaces: [team]}]\n", 1)))
	cel := `
validate: {failureAction: Enforce, cel: {expressions: [{expression: "object.metadata.name == 'good'", message: Bad.}]}}
`
	for name, test := range map[string]reviewCase{
		"audit":                               {plain, nil, create(t, badPod), []string{"r:fail"}},
		"enforce":                             {enforced, nil, create(t, badPod), []string{"r:fail!"}},
		"enforce, lower case":                 {withSpec(plain, "validationFailureAction: enforce"), nil, create(t, badPod), []string{"r:fail!"}},
		"enforce under Ignore":                {withSpec(enforced, "failurePolicy: Ignore"), nil, create(t, badPod), []string{"r:fail!"}},
		"pass":                                {enforced, nil, create(t, goodPod), []string{"r:pass"}},
		"generated rule":                      {enforced, nil, create(t, badDeployment), []string{"autogen-r:fail!"}},
		"another kind":                        {enforced, nil, create(t, configMap), nil},
		"override of a namespace":             {withSpec(plain, overridden), nil, create(t, badPod), []string{"r:fail!"}},
		"override of another namespace":       {withSpec(plain, overridden), nil, create(t, elsewhere), []string{"r:fail"}},
		"override of labels":                  {withSpec(plain, selected), nil, create(t, badPod, teamWith(prod)), []string{"r:fail!"}},
		"override of other labels":            {withSpec(plain, selected), nil, create(t, badPod), []string{"r:fail"}},
		"override that audits":                {withSpec(enforced, `validationFailureActionOverrides: [{action: Audit, namespaces: [team]}]`), nil, create(t, badPod), []string{"r:fail"}},
		"override of all":                     {withSpec(plain, `validationFailureActionOverrides: [{action: Enforce}]`), nil, create(t, badPod), []string{"r:fail!"}},
		"action of the rule":                  {ownEnforce, nil, create(t, badPod), []string{"r:fail!"}},
		"action of the rule, generated":       {ownEnforce, nil, create(t, badDeployment), []string{"autogen-r:fail!"}},
		"rule that audits":                    {ownAudit, nil, create(t, badPod), []string{"r:fail"}},
		"override of the rule":                {ownOverride, nil, create(t, badPod), []string{"r:fail!"}},
		"override of the rule, elsewhere":     {ownOverride, nil, create(t, elsewhere), []string{"r:fail"}},
		"rule audits, override enforces":      {withSpec(strings.Replace(ownAudit, "  validationFailureAction: Enforce\n", "", 1), overridden), nil, create(t, badPod), []string{"r:fail~"}},
		"rule enforces, override audits":      {withSpec(ownEnforce, `validationFailureActionOverrides: [{action: Audit, namespaces: [team]}]`), nil, create(t, badPod), []string{"r:fail"}},
		"warning":                             {withSpec(plain, "emitWarning: true"), nil, create(t, badPod), []string{"r:fail~"}},
		"no warning of a success":             {withSpec(plain, "emitWarning: true"), nil, create(t, goodPod), []string{"r:pass"}},
		"error":                               {enforcing(clusterPolicy(podRule(unresolved))), nil, create(t, badPod), []string{"r:error!"}},
		"error under Ignore":                  {withSpec(enforcing(clusterPolicy(podRule(unresolved))), "failurePolicy: Ignore"), nil, create(t, badPod), []string{"r:error~"}},
		"error under Ignore of webhooks":      {withSpec(enforcing(clusterPolicy(podRule(unresolved))), "webhookConfiguration: {failurePolicy: Ignore}"), nil, create(t, badPod), []string{"r:error~"}},
		"error of an audit":                   {clusterPolicy(podRule(unresolved)), nil, create(t, badPod), []string{"r:error"}},
		"exception":                           {enforced, []string{exception}, create(t, badPod), []string{"r:skip"}},
		"exception of another":                {enforced, []string{strings.Replace(exception, "[bad]", "[other]", 1)}, create(t, badPod), []string{"r:fail!"}},
		"CEL":                                 {clusterPolicy(podRule(cel)), nil, create(t, badPod), []string{"r:fail!"}},
		"CEL with an exception":               {clusterPolicy(podRule(cel)), []string{exception}, create(t, badPod), []string{"r:skip"}},
		"match conditions":                    {enforcing(withMatchCondition), nil, create(t, badPod), []string{"r:fail!"}},
		"match conditions of others":          {enforcing(withMatchCondition), nil, create(t, goodPod), nil},
		"pod security":                        {enforcing(clusterPolicy(podRule("validate: {podSecurity: {level: baseline, version: latest}}"))), nil, create(t, badPod), []string{"r:fail!"}},
		"several rules":                       {enforcing(clusterPolicy(podRule(unresolved) + strings.Replace(podRule(unprivileged), "name: r", "name: second", 1))), nil, create(t, badPod), []string{"r:error!", "second:fail!"}},
		"first rule only":                     {withSpec(enforcing(clusterPolicy(podRule(unprivileged)+strings.Replace(podRule(unprivileged), "name: r", "name: second", 1))), "applyRules: One"), nil, create(t, badPod), []string{"r:fail!"}},
		"name yet to be made":                 {enforced, nil, create(t, strings.Replace(badPod, "name: bad,", "generateName: bad-,", 1)), []string{"r:fail!"}},
		"object that is being deleted":        {enforced, nil, request(t, admissionv1.Create, strings.Replace(badPod, "name: bad,", `name: bad, deletionTimestamp: "2026-11-21T10:00:00Z",`, 1), ""), []string{"r:fail!"}},
		"namespace object":                    {enforcing(clusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [Namespace]}}]}\n  validate: {pattern: {metadata: {labels: {owner: \"?*\"}}}}\n")), nil, create(t, namespaceObject, teamWith(nil)), []string{"r:fail!"}},
		"exception by user":                   {enforced, []string{strings.Replace(exception, "names: [bad]}", "names: [bad]}, subjects: [{kind: User, name: jane}]", 1)}, create(t, badPod), []string{"r:skip"}},
		"exception of another user":           {enforced, []string{strings.Replace(exception, "names: [bad]}", "names: [bad]}, subjects: [{kind: User, name: joe}]", 1)}, create(t, badPod), []string{"r:fail!"}},
		"ephemeral containers of a pod":       {enforced, nil, request(t, admissionv1.Update, badPod, goodPod, of(pods, ephemeralContainers)), []string{"r:fail!"}},
		"status of a pod":                     {enforced, nil, request(t, admissionv1.Update, badPod, goodPod, of(pods, "status")), nil},
		"update of a violation":               {enforced, nil, request(t, admissionv1.Update, badPod, badPod), []string{"r:skip"}},
		"update of a violation, audit":        {plain, nil, request(t, admissionv1.Update, badPod, badPod), []string{"r:fail"}},
		"update of a violation, precondition": {enforcing(clusterPolicy(podRule("preconditions: {all: [{key: \"{{ request.object.metadata.name }}\", operator: Equals, value: bad}]}\nvalidate: {message: m, deny: {}}"))), nil, request(t, admissionv1.Update, badPod, badPod), []string{"r:fail!"}},
		"update of a violation, variable":     {enforcing(clusterPolicy(podRule("context: [{name: d, variable: {jmesPath: request.object.metadata.name}}]\nvalidate: {message: m, deny: {conditions: {any: [{key: \"{{ d }}\", operator: Equals, value: bad}]}}}"))), nil, request(t, admissionv1.Update, badPod, goodPod), []string{"r:skip"}},
		"update to a violation":               {enforced, nil, request(t, admissionv1.Update, badPod, goodPod), []string{"r:fail!"}},
		"update of a violation, forbidden":    {strings.Replace(enforced, "validate:\n", "validate:\n      allowExistingViolations: false\n", 1), nil, request(t, admissionv1.Update, badPod, badPod), []string{"r:fail!"}},
		"pod security, update":                {enforcing(clusterPolicy(podRule("validate: {podSecurity: {level: baseline, version: latest}}"))), nil, request(t, admissionv1.Update, badPod, badPod), []string{"r:skip"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.check(t)
		})
	}
}

// TestReviewOperations promises that rules see the operation and what comes with it.
func TestReviewOperations(t *testing.T) {
	t.Parallel()
	immutable := enforcing(clusterPolicy(podRule(`
match: {any: [{resources: {kinds: [Pod], operations: [UPDATE]}}]}
validate:
  message: "{{ request.oldObject.metadata.labels.app }} may not become {{ request.object.metadata.labels.app || 'nothing' }}"
  deny: {conditions: {any: [{key: "{{ request.object.metadata.labels.app || '' }}", operator: NotEquals, value: "{{ request.oldObject.metadata.labels.app }}"}]}}
`)))
	immutable = strings.Replace(immutable, "    match: {any: [{resources: {kinds: [Pod]}}]}\n", "", 1)
	other := strings.Replace(goodPod, "app: web", "app: shop", 1)
	deletion := enforcing(clusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
  validate:
    message: "{{ request.operation }} of {{ request.object.metadata.name }} by {{ request.userInfo.username }} in {{ request.namespace }}"
    deny: {}
`))
	anyDeletion := strings.Replace(deletion, ", operations: [DELETE]", "", 1)
	exec := enforcing(clusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Pod/exec]}}]}
  validate:
    message: "{{ request.object.command[0] }} in {{ request.name }}"
    deny: {conditions: {all: [{key: "{{ request.object.container }}", operator: Equals, value: main}]}}
`))
	replicas := enforcing(clusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [team]}}]}
  validate: {message: Too many., pattern: {spec: {replicas: "<5"}}}
`))
	connect := func(r *policy.Request) { r.Name, r.Namespace = "bad", "team" }
	for name, test := range map[string]struct {
		reviewCase
		message string
	}{
		"changed field":           {reviewCase{immutable, nil, request(t, admissionv1.Update, other, goodPod), []string{"r:fail!"}}, "web may not become shop"},
		"unchanged field":         {reviewCase{immutable, nil, request(t, admissionv1.Update, goodPod, goodPod), []string{"r:pass"}}, ""},
		"creation":                {reviewCase{immutable, nil, create(t, goodPod), nil}, ""},
		"deletion":                {reviewCase{deletion, nil, request(t, admissionv1.Delete, "", configMap), []string{"r:fail!"}}, "DELETE of c by jane in team"},
		"creation, not deletion":  {reviewCase{deletion, nil, create(t, configMap), nil}, ""},
		"any operation":           {reviewCase{anyDeletion, nil, request(t, admissionv1.Delete, "", configMap), []string{"r:fail!"}}, "DELETE of c"},
		"deletion and a pattern":  {reviewCase{enforced, nil, request(t, admissionv1.Delete, "", badPod), nil}, ""},
		"exec":                    {reviewCase{exec, nil, request(t, admissionv1.Connect, execOptions, "", of(pods, "exec"), connect), []string{"r:fail!"}}, "sh in bad"},
		"attach":                  {reviewCase{exec, nil, request(t, admissionv1.Connect, execOptions, "", of(pods, "attach"), connect), nil}, ""},
		"exec, not by the object": {reviewCase{enforced, nil, request(t, admissionv1.Connect, execOptions, "", of(pods, "exec"), connect), nil}, ""},
		"scale": {reviewCase{replicas, nil, request(t, admissionv1.Update, scale, strings.Replace(scale, "9", "2", 1),
			of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{"r:fail!"}}, "Too many."},
		"number in an expression": {reviewCase{enforcing(clusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [team]}}]}\n  validate: {message: Many., deny: {conditions: {any: [{key: \"{{ request.object.spec.replicas > `5` }}\", operator: Equals, value: true}]}}}\n")), nil,
			request(t, admissionv1.Update, scale, strings.Replace(scale, "9", "2", 1), of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{"r:fail!"}}, "Many."},
		"scale of others": {reviewCase{replicas, nil, create(t, badDeployment), nil}, ""},
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
		return enforcing(clusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}, " + filter + "}]}\n  validate: {message: m, deny: {}}\n"))
	}
	excluding := func(filter string) string {
		return enforcing(clusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n  exclude: {any: [{" + filter + "}]}\n  validate: {message: m, deny: {}}\n"))
	}
	saying := func(message string) string {
		return enforcing(clusterPolicy("- name: r\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n  validate: {message: \"" + message + "\", deny: {}}\n"))
	}
	dry := func(r *policy.Request) { yes := true; r.DryRun = &yes }
	account := func(r *policy.Request) { r.UserInfo.Username = "system:serviceaccount:ci:builder" }
	roles := withRoles([]string{"team:editor"}, []string{"admin", "view"})
	deny := []string{"r:fail!"}
	for name, test := range map[string]struct {
		reviewCase
		message string
	}{
		"user":                      {reviewCase{matching("subjects: [{kind: User, name: jane}]"), nil, create(t, configMap), deny}, "m"},
		"another user":              {reviewCase{matching("subjects: [{kind: User, name: joe}]"), nil, create(t, configMap), nil}, ""},
		"group":                     {reviewCase{matching("subjects: [{kind: Group, name: dev}]"), nil, create(t, configMap), deny}, "m"},
		"role":                      {reviewCase{matching(`roles: ["team:editor"]`), nil, create(t, configMap, roles), deny}, "m"},
		"no role":                   {reviewCase{matching(`roles: ["team:editor"]`), nil, create(t, configMap), nil}, ""},
		"cluster role":              {reviewCase{matching("clusterRoles: [admin]"), nil, create(t, configMap, roles), deny}, "m"},
		"another cluster role":      {reviewCase{matching("clusterRoles: [owner]"), nil, create(t, configMap, roles), nil}, ""},
		"excluded user":             {reviewCase{excluding("subjects: [{kind: User, name: jane}]"), nil, create(t, configMap), nil}, ""},
		"excluded cluster role":     {reviewCase{excluding("clusterRoles: [admin]"), nil, create(t, configMap, roles), nil}, ""},
		"not excluded cluster role": {reviewCase{excluding("clusterRoles: [owner]"), nil, create(t, configMap, roles), deny}, "m"},
		"user in a message":         {reviewCase{saying("{{ request.userInfo.username }} of {{ request.userInfo.groups[0] }}"), nil, create(t, configMap), deny}, "jane of dev"},
		"roles in a message":        {reviewCase{saying("{{ request.roles[0] }} {{ request.clusterRoles[1] }}"), nil, create(t, configMap, roles), deny}, "team:editor view"},
		"service account":           {reviewCase{saying("{{ serviceAccountNamespace }}/{{ serviceAccountName }}"), nil, create(t, configMap, account), deny}, "ci/builder"},
		"request":                   {reviewCase{saying("{{ request.kind.kind }} {{ request.resource.resource }} {{ request.name }} {{ request.uid }}"), nil, create(t, configMap), deny}, "ConfigMap configmaps c 5c1e0a0e"},
		"dry run":                   {reviewCase{saying("dry: {{ request.dryRun }}"), nil, create(t, configMap, dry), deny}, "dry: true"},
		"no dry run":                {reviewCase{saying("dry: {{ request.dryRun }}"), nil, create(t, configMap), deny}, "dry: false"},
		"image":                     {reviewCase{enforcing(clusterPolicy(podRule("validate: {message: \"{{ images.containers.main.tag }}\", deny: {}}"))), nil, create(t, goodPod), deny}, "1.2"},
		"element": {reviewCase{enforcing(clusterPolicy(podRule(`
validate:
  message: m
  foreach: [{list: request.object.spec.containers, deny: {conditions: {any: [{key: "{{ element.name }}/{{ request.userInfo.username }}", operator: Equals, value: side/jane}]}}}]
`))), nil, create(t, badPod), deny}, "m"},
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
	r := create(t, badPod, func(r *policy.Request) {
		r.Roles = func() ([]string, []string, error) { asked++; return nil, nil, errors.New("no bindings") }
	})
	wantVerdicts(t, compile(t, enforced), r, "r:fail!")
	if asked != 0 {
		t.Errorf("asked %d times for nothing", asked)
	}
	p := compile(t, strings.Replace(enforced, "[{resources: {kinds: [Pod]}}]", "[{resources: {kinds: [Pod]}, clusterRoles: [admin]}]", 1))
	verdicts := wantVerdicts(t, p, r, "r:error!")
	if len(verdicts) == 1 && (!strings.Contains(verdicts[0].Message, "no bindings") || !strings.Contains(verdicts[0].Message, "jane")) {
		t.Errorf("message %q", verdicts[0].Message)
	}
}

// TestReviewWithoutAnObject promises nothing of what is about nothing.
func TestReviewWithoutAnObject(t *testing.T) {
	t.Parallel()
	r := create(t, badPod)
	r.New, r.Object.Raw = nil, nil
	wantVerdicts(t, compile(t, enforced), r)
	if verdicts, err := compile(t, enforced).Review(t.Context(), &policy.Request{}); err != nil || verdicts != nil {
		t.Errorf("%+v, %v", verdicts, err)
	}
}

// TestRequestedKind promises the kind of the resource for objects of subresources.
func TestRequestedKind(t *testing.T) {
	t.Parallel()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for name, test := range map[string]struct {
		mapper  meta.RESTMapper
		targets []policy.Target
		request *policy.Request
		want    schema.GroupVersionKind
	}{
		"object":              {mapper, nil, create(t, badPod), kinds["pods"]},
		"mapper":              {mapper, nil, create(t, scale, of(deployments, "scale")), kinds["deployments"]},
		"targets":             {nil, kindTargets([]string{"Pod", "Deployment/scale"}), create(t, scale, of(deployments, "scale")), kinds["deployments"]},
		"neither":             {nil, kindTargets([]string{"*/*"}), create(t, scale, of(deployments, "scale")), deployments.GroupVersion().WithKind("Scale")},
		"object of the kind":  {nil, nil, create(t, badPod, of(pods, "status")), kinds["pods"]},
		"unknown to a mapper": {meta.NewDefaultRESTMapper(nil), kindTargets([]string{"Pod/exec"}), create(t, execOptions, of(pods, "exec")), kinds["pods"]},
	} {
		if got := requestedKind(test.mapper, test.targets, test.request); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
