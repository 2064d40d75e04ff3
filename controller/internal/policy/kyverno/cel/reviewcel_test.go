// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestReviewCEL(t *testing.T) {
	t.Parallel()
	const maps, all = "configmaps", "CREATE, UPDATE, DELETE"
	simple := func(expression string) string { return enginetest.CELPolicyText(maps, all, expression, "") }
	with := func(expression, fields string) string { return enginetest.CELPolicyText(maps, all, expression, fields) }
	labeled := strings.Replace(enginetest.ConfigMap, "namespace: team", "namespace: team, labels: {a: b}", 1)
	generated := strings.Replace(enginetest.ConfigMap, "name: c", "generateName: c-", 1)
	dry := func(r *policy.Request) { yes := true; r.DryRun = &yes }
	options := func(r *policy.Request) {
		r.Options = runtime.RawExtension{Raw: []byte(`{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"}`)}
	}
	connect := func(r *policy.Request) { r.Name, r.Namespace = "bad", "team" }
	prod := enginetest.TeamWith(map[string]string{"env": "prod"})
	update := func(newText, oldText string) *policy.Request {
		return enginetest.Request(t, admissionv1.Update, newText, oldText)
	}
	for name, test := range map[string]struct {
		policy   string
		request  *policy.Request
		verdicts []string
	}{
		"denial":                   {simple("false"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail!"}},
		"pass":                     {simple("true"), enginetest.Create(t, enginetest.ConfigMap), []string{":pass"}},
		"audit":                    {with("false", "validationActions: [Audit]"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail"}},
		"warning":                  {with("false", "validationActions: [Audit, Warn]"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail~"}},
		"warning of a pass":        {with("true", "validationActions: [Warn]"), enginetest.Create(t, enginetest.ConfigMap), []string{":pass"}},
		"denial and warning":       {with("false", "validationActions: [Deny, Warn]"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail!~"}},
		"error":                    {simple("object.data.none == 'a'"), enginetest.Create(t, enginetest.ConfigMap), []string{":error!"}},
		"error under Ignore":       {with("object.data.none == 'a'", "failurePolicy: Ignore"), enginetest.Create(t, enginetest.ConfigMap), []string{":error"}},
		"failure under Ignore":     {with("false", "failurePolicy: Ignore"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail!"}},
		"audited error":            {with("object.data.none == 'a'", "validationActions: [Audit]"), enginetest.Create(t, enginetest.ConfigMap), []string{":error"}},
		"user":                     {simple("request.userInfo.username != 'jane'"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail!"}},
		"group":                    {simple("'dev' in request.userInfo.groups"), enginetest.Create(t, enginetest.ConfigMap), []string{":pass"}},
		"old object":               {simple("object.metadata.labels == oldObject.metadata.labels"), update(labeled, labeled), []string{":pass"}},
		"old object, changed":      {simple("oldObject.metadata.labels.a == 'c'"), update(labeled, labeled), []string{":fail!"}},
		"object of the request":    {simple("request.object.metadata.labels.a == request.oldObject.metadata.labels.a"), update(labeled, labeled), []string{":pass"}},
		"deletion":                 {simple("oldObject.metadata.name != 'c'"), enginetest.Request(t, admissionv1.Delete, "", enginetest.ConfigMap), []string{":fail!"}},
		"deletions only":           {enginetest.CELPolicyText(maps, "DELETE", "false", ""), enginetest.Create(t, enginetest.ConfigMap), nil},
		"no deletions":             {enginetest.CELPolicyText(maps, "CREATE", "false", ""), enginetest.Request(t, admissionv1.Delete, "", enginetest.ConfigMap), nil},
		"every operation":          {enginetest.CELPolicyText(maps, `"*"`, "false", ""), enginetest.Request(t, admissionv1.Delete, "", enginetest.ConfigMap), []string{":fail!"}},
		"operation":                {simple("request.operation == 'UPDATE'"), update(enginetest.ConfigMap, enginetest.ConfigMap), []string{":pass"}},
		"dry run":                  {simple("request.dryRun"), enginetest.Create(t, enginetest.ConfigMap, dry), []string{":pass"}},
		"no dry run":               {simple("request.dryRun"), enginetest.Create(t, enginetest.ConfigMap), []string{":fail!"}},
		"options":                  {simple("request.options.fieldManager == 'kubectl'"), enginetest.Create(t, enginetest.ConfigMap, options), []string{":pass"}},
		"identity of the request":  {simple("request.kind.kind == 'ConfigMap' && request.name == 'c' && request.namespace == 'team'"), enginetest.Create(t, enginetest.ConfigMap), []string{":pass"}},
		"namespace":                {simple("namespaceObject.metadata.labels.env == 'prod'"), enginetest.Create(t, enginetest.ConfigMap, prod), []string{":pass"}},
		"name yet to be made":      {simple("object.metadata.generateName != 'c-'"), enginetest.Create(t, generated), []string{":fail!"}},
		"match conditions":         {with("false", "matchConditions: [{name: a, expression: \"request.userInfo.username == 'joe'\"}]"), enginetest.Create(t, enginetest.ConfigMap), nil},
		"failing match conditions": {with("true", "matchConditions: [{name: a, expression: \"object.none == 1\"}]"), enginetest.Create(t, enginetest.ConfigMap), []string{"evaluation:error!"}},
		"another resource":         {simple("false"), enginetest.Create(t, enginetest.GoodPod), nil},
		"generated policy":         {enginetest.CELPolicyText("pods", "CREATE", "object.metadata.name == 'good'", ""), enginetest.Create(t, enginetest.BadDeployment), []string{":fail!"}},
		"exec": {enginetest.CELPolicyText("pods/exec", "CONNECT", "object.container != 'main' || request.subResource != 'exec'", ""),
			enginetest.Request(t, admissionv1.Connect, enginetest.ExecOptions, "", enginetest.Of(enginetest.Pods, "exec"), connect), []string{":fail!"}},
		"attach": {enginetest.CELPolicyText("pods/exec", "CONNECT", "false", ""),
			enginetest.Request(t, admissionv1.Connect, enginetest.ExecOptions, "", enginetest.Of(enginetest.Pods, "attach"), connect), nil},
		"scale": {enginetest.CELPolicyText("deployments/scale.apps", "UPDATE", "object.spec.replicas < 5", ""),
			enginetest.Request(t, admissionv1.Update, enginetest.Scale, enginetest.Scale, enginetest.Of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale")), []string{":fail!"}},
		"a namespace itself": {enginetest.CELPolicyText("namespaces", "CREATE", "object.metadata.labels.env == 'test'", ""),
			enginetest.Create(t, enginetest.NamespaceObject, enginetest.TeamWith(nil)), []string{":fail!"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newBefore, oldBefore := test.request.New.DeepCopy(), test.request.Old.DeepCopy()
			verdicts := enginetest.WantVerdicts(t, compile(t, test.policy), test.request, test.verdicts...)
			enginetest.WantEqual(t, "new object", newBefore, test.request.New)
			enginetest.WantEqual(t, "old object", oldBefore, test.request.Old)
			if len(verdicts) == 1 && strings.HasPrefix(test.verdicts[0], ":fail") && verdicts[0].Message != "Refused." {
				t.Errorf("message %q", verdicts[0].Message)
			}
		})
	}
}

func TestReviewCELException(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ValidatingPolicy, enginetest.CELException)
	enginetest.WantVerdicts(t, p, enginetest.Create(t, enginetest.BadPod), "exception:skip")
	enginetest.WantVerdicts(t, p, enginetest.Create(t, strings.Replace(enginetest.BadPod, "name: bad", "name: worse", 1)), ":fail!")
	byUser := strings.Replace(enginetest.CELException, "object.metadata.name == 'bad'", "request.userInfo.username == 'jane'", 1)
	enginetest.WantVerdicts(t, compile(t, enginetest.ValidatingPolicy, byUser), enginetest.Create(t, enginetest.BadPod), "exception:skip")
}
