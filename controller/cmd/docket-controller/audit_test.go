// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/cli"
)

// admissionPolicy has the words BINDING and MESSAGE, for which tests have others.
const admissionPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: vap}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "has(object.metadata.labels)", message: "no labels"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: binding}
spec: {policyName: vap, validationActions: [Audit]}
`

// TestAuditWarn: with the flag, only what admission would refuse fails, by rule, namespace and binding.
func TestAuditWarn(t *testing.T) {
	t.Parallel()
	spec := func(policy, fields string) string {
		return strings.Replace(policy, "spec:\n", "spec:\n  "+fields+"\n", 1)
	}
	rule := func(fields string) string {
		return strings.Replace(labelPolicy, "      message: ", "      "+fields+"\n      message: ", 1)
	}
	cel := strings.Replace(notLatest, "!c.image", "c.image", 1)
	overrides := "validationFailureAction: Audit, validationFailureActionOverrides: [{action: Enforce, namespaces: [prod]}]"
	overrides = strings.ReplaceAll(overrides, ", validationFailureActionOverrides", "\n  validationFailureActionOverrides")
	two := spec(labelPolicy, "validationFailureAction: Audit") + strings.NewReplacer("name: label", "name: enforced", "      message: ", "      failureAction: Enforce\n      message: ").Replace(labelPolicy[strings.Index(labelPolicy, "  - name"):])
	inProd := strings.Replace(badPod, "{name: bad}", "{name: bad, namespace: prod}", 1)
	for name, test := range map[string]struct {
		policies, pod string
		want          int
		text          string
	}{
		"the default of Kyverno": {labelPolicy, badPod, cli.ExitOK, "0 fail, 1 warn"},
		"Audit":                  {spec(labelPolicy, "validationFailureAction: Audit"), badPod, cli.ExitOK, "0 fail, 1 warn"},
		"Enforce":                {spec(labelPolicy, "validationFailureAction: Enforce"), badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"enforce":                {spec(labelPolicy, "validationFailureAction: enforce"), badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"Enforce of a rule":      {rule("failureAction: Enforce"), badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"one rule of two":        {two, badPod, filescan.ExitFindings, "1 fail, 1 warn"},
		"generated rules":        {rule("failureAction: Enforce"), strings.Replace(deployment, "app: web, owner: me", "app: web", 1), filescan.ExitFindings, "1 fail, 0 warn"},
		"override elsewhere":     {spec(labelPolicy, overrides), badPod, cli.ExitOK, "0 fail, 1 warn"},
		"override":               {spec(labelPolicy, overrides), inProd, filescan.ExitFindings, "1 fail, 0 warn"},
		"CEL":                    {cel, badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"CEL that audits":        {spec(cel, "validationActions: [Audit, Warn]"), badPod, cli.ExitOK, "0 fail, 1 warn"},
		"CEL that denies":        {spec(cel, "validationActions: [Audit, Deny]"), badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"a binding that audits":  {admissionPolicy, badPod, cli.ExitOK, "0 fail, 1 warn"},
		"a binding that denies":  {strings.Replace(admissionPolicy, "[Audit]", "[Deny]", 1), badPod, filescan.ExitFindings, "1 fail, 0 warn"},
		"an error":               {brokenPolicy, badPod, program.ExitTrouble, "0 fail, 0 warn, 1 error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, map[string]string{"p.yaml": test.policies, "r/r.yaml": test.pod})
			args := []string{"scan", "-p", dir + "/p.yaml", "-r", dir + "/r"}
			if got := command(t, "", append(args, "--audit-warn")...); got.code != test.want || !strings.Contains(got.err, test.text) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", got.code, test.want, test.text, got.out, got.err)
			}
			if got := command(t, "", args...); test.want != program.ExitTrouble && got.code != filescan.ExitFindings {
				t.Errorf("without the flag: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if got := command(t, "", append(args, "--audit-warn", "-o", "json")...); test.want == cli.ExitOK && !strings.Contains(got.out, `"result": "warn"`) {
				t.Errorf("the report has no warning:\n%s", got.out)
			}
		})
	}
}

// TestPoliciesThatCannotBeRead give an error for what they match, which names the field. One that is left out is
// mentioned once.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"app/pod.yaml": badPod, "app/deployment.yaml": deployment})
	replaced := func(old, with string) string { return strings.Replace(admissionPolicy, old, with, 1) }
	for name, test := range map[string]struct {
		policies string
		want     int
		out      string
		err      string
	}{
		"a list that is none":    {replaced(`[{expression: "has(object.metadata.labels)", message: "no labels"}]`, "x"), program.ExitTrouble, "error Pod/default/bad", "spec.validations"},
		"a message that is none": {replaced(`"no labels"`, "no"), program.ExitTrouble, "error Pod/default/bad", "spec.validations.message"},
		"a broken expression":    {replaced("has(object", "has(objct"), program.ExitTrouble, "error Pod/default/bad", "objct"},
		"constraints":            {replaced("resourceRules: [", "resourceRules: [7, "), program.ExitTrouble, "", "spec.matchConstraints.resourceRules"},
		"a broken CEL policy":    {strings.Replace(notLatest, `expression: "object`, `expression: "objct`, 1), program.ExitTrouble, "error Pod/default/bad", "objct"},
		"another":                {strings.Replace(notLatest, `[{expression: "object`, `[{expression: 7, x: "object`, 1), program.ExitTrouble, "error Pod/default/bad", "spec.validations.expression"},
		"left out":               {replaced("has(object.metadata.labels)", "authorizer.group('').resource('pods').check('get').allowed()"), cli.ExitOK, "", "Left out: ValidatingAdmissionPolicy/vap: spec.validations[0].expression: authorizer"},
		"without a binding":      {strings.Split(admissionPolicy, "---")[0], cli.ExitOK, "", "Left out: ValidatingAdmissionPolicy/vap: no ValidatingAdmissionPolicyBinding names it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policies := writeFiles(t, map[string]string{"p.yaml": test.policies})
			got := command(t, "", "scan", "-p", policies, "-r", dir+"/app")
			var want []string
			if test.out != "" {
				want = append(want, test.out)
			}
			if results := rowsIn(got.out); len(results) != len(want) || len(want) > 0 && !strings.HasPrefix(results[0], want[0]) {
				t.Errorf("results %q, want %q", results, want)
			}
			if got.code != test.want || !strings.Contains(got.err, test.err) || strings.Contains(got.err, "applies to none") {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", got.code, test.want, test.err, got.out, got.err)
			}
		})
	}
}
