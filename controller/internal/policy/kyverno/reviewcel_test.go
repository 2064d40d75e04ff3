// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// celPolicyText is a policy with one expression about a resource.
func celPolicyText(resource, operations, expression, fields string) string {
	group := `""`
	if name, rest, found := strings.Cut(resource, "."); found {
		resource, group = name, rest
	}
	return `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [` + group + `], apiVersions: [v1], operations: [` + operations + `], resources: [` + resource + `]}]
  validations: [{expression: "` + expression + `", message: Refused.}]
` + indent(fields)
}

func TestReviewCEL(t *testing.T) {
	t.Parallel()
	const maps, all = "configmaps", "CREATE, UPDATE, DELETE"
	simple := func(expression string) string { return celPolicyText(maps, all, expression, "") }
	with := func(expression, fields string) string { return celPolicyText(maps, all, expression, fields) }
	labeled := strings.Replace(configMap, "namespace: team", "namespace: team, labels: {a: b}", 1)
	generated := strings.Replace(configMap, "name: c", "generateName: c-", 1)
	dry := func(r *policy.Request) { yes := true; r.DryRun = &yes }
	options := func(r *policy.Request) {
		r.Options = runtime.RawExtension{Raw: []byte(`{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"}`)}
	}
	connect := func(r *policy.Request) { r.Name, r.Namespace = "bad", "team" }
	prod := teamWith(map[string]string{"env": "prod"})
	update := func(newText, oldText string) *policy.Request {
		return request(t, admissionv1.Update, newText, oldText)
	}
	for name, test := range map[string]struct {
		policy   string
		request  *policy.Request
		verdicts []string
	}{
		"denial":                   {simple("false"), create(t, configMap), []string{":fail!"}},
		"pass":                     {simple("true"), create(t, configMap), []string{":pass"}},
		"audit":                    {with("false", "validationActions: [Audit]"), create(t, configMap), []string{":fail"}},
		"warning":                  {with("false", "validationActions: [Audit, Warn]"), create(t, configMap), []string{":fail~"}},
		"warning of a pass":        {with("true", "validationActions: [Warn]"), create(t, configMap), []string{":pass"}},
		"denial and warning":       {with("false", "validationActions: [Deny, Warn]"), create(t, configMap), []string{":fail!~"}},
		"error":                    {simple("object.data.none == 'a'"), create(t, configMap), []string{":error!"}},
		"error under Ignore":       {with("object.data.none == 'a'", "failurePolicy: Ignore"), create(t, configMap), []string{":error"}},
		"failure under Ignore":     {with("false", "failurePolicy: Ignore"), create(t, configMap), []string{":fail!"}},
		"audited error":            {with("object.data.none == 'a'", "validationActions: [Audit]"), create(t, configMap), []string{":error"}},
		"user":                     {simple("request.userInfo.username != 'jane'"), create(t, configMap), []string{":fail!"}},
		"group":                    {simple("'dev' in request.userInfo.groups"), create(t, configMap), []string{":pass"}},
		"old object":               {simple("object.metadata.labels == oldObject.metadata.labels"), update(labeled, labeled), []string{":pass"}},
		"old object, changed":      {simple("oldObject.metadata.labels.a == 'c'"), update(labeled, labeled), []string{":fail!"}},
		"object of the request":    {simple("request.object.metadata.labels.a == request.oldObject.metadata.labels.a"), update(labeled, labeled), []string{":pass"}},
		"deletion":                 {simple("oldObject.metadata.name != 'c'"), request(t, admissionv1.Delete, "", configMap), []string{":fail!"}},
		"deletions only":           {celPolicyText(maps, "DELETE", "false", ""), create(t, configMap), nil},
		"no deletions":             {celPolicyText(maps, "CREATE", "false", ""), request(t, admissionv1.Delete, "", configMap), nil},
		"every operation":          {celPolicyText(maps, `"*"`, "false", ""), request(t, admissionv1.Delete, "", configMap), []string{":fail!"}},
		"operation":                {simple("request.operation == 'UPDATE'"), update(configMap, configMap), []string{":pass"}},
		"dry run":                  {simple("request.dryRun"), create(t, configMap, dry), []string{":pass"}},
		"no dry run":               {simple("request.dryRun"), create(t, configMap), []string{":fail!"}},
		"options":                  {simple("request.options.fieldManager == 'kubectl'"), create(t, configMap, options), []string{":pass"}},
		"identity of the request":  {simple("request.kind.kind == 'ConfigMap' && request.name == 'c' && request.namespace == 'team'"), create(t, configMap), []string{":pass"}},
		"namespace":                {simple("namespaceObject.metadata.labels.env == 'prod'"), create(t, configMap, prod), []string{":pass"}},
		"name yet to be made":      {simple("object.metadata.generateName != 'c-'"), create(t, generated), []string{":fail!"}},
		"match conditions":         {with("false", "matchConditions: [{name: a, expression: \"request.userInfo.username == 'joe'\"}]"), create(t, configMap), nil},
		"failing match conditions": {with("true", "matchConditions: [{name: a, expression: \"object.none == 1\"}]"), create(t, configMap), []string{"evaluation:error!"}},
		"another resource":         {simple("false"), create(t, goodPod), nil},
		"generated policy":         {celPolicyText("pods", "CREATE", "object.metadata.name == 'good'", ""), create(t, badDeployment), []string{":fail!"}},
		"exec": {celPolicyText("pods/exec", "CONNECT", "object.container != 'main' || request.subResource != 'exec'", ""),
			request(t, admissionv1.Connect, execOptions, "", of(pods, "exec"), connect), []string{":fail!"}},
		"attach": {celPolicyText("pods/exec", "CONNECT", "false", ""),
			request(t, admissionv1.Connect, execOptions, "", of(pods, "attach"), connect), nil},
		"scale": {celPolicyText("deployments/scale.apps", "UPDATE", "object.spec.replicas < 5", ""),
			request(t, admissionv1.Update, scale, scale, of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{":fail!"}},
		"a namespace itself": {celPolicyText("namespaces", "CREATE", "object.metadata.labels.env == 'test'", ""),
			create(t, namespaceObject, teamWith(nil)), []string{":fail!"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newBefore, oldBefore := test.request.New.DeepCopy(), test.request.Old.DeepCopy()
			verdicts := wantVerdicts(t, compile(t, test.policy), test.request, test.verdicts...)
			wantEqual(t, "new object", newBefore, test.request.New)
			wantEqual(t, "old object", oldBefore, test.request.Old)
			if len(verdicts) == 1 && strings.HasPrefix(test.verdicts[0], ":fail") && verdicts[0].Message != "Refused." {
				t.Errorf("message %q", verdicts[0].Message)
			}
		})
	}
}

func TestReviewCELException(t *testing.T) {
	t.Parallel()
	p := compile(t, validatingPolicy, celException)
	wantVerdicts(t, p, create(t, badPod), "exception:skip")
	wantVerdicts(t, p, create(t, strings.Replace(badPod, "name: bad", "name: worse", 1)), ":fail!")
	byUser := strings.Replace(celException, "object.metadata.name == 'bad'", "request.userInfo.username == 'jane'", 1)
	wantVerdicts(t, compile(t, validatingPolicy, byUser), create(t, badPod), "exception:skip")
}
