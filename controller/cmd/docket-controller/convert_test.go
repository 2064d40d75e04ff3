// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mutatingPolicy = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: mutating}, spec: {rules: [{name: add, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}}
`
	// failingCEL fails for a resource in the older engine where the newer one has an error.
	failingCEL = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: failing}, spec: {rules: [{name: cel, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: "object.spec.priority == 1"}]}}}]}}
`
	excepted = `{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: shop}, spec: {exceptions: [{policyName: owner, ruleNames: ["*"]}], match: {any: [{resources: {kinds: [Pod], names: [bad]}}]}}}
`
)

func TestConvert(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"owner.yaml": labelPolicy, "mutating.yaml": mutatingPolicy, "failing.yaml": failingCEL, "exception.yaml": excepted,
		"pods.yaml": badPod + "---\n" + goodPod, "new.yaml": "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: x}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}, validations: [{expression: 'true'}]}}\n",
	})
	owner, pods := "--policy="+dir+"/owner.yaml", "--resource="+dir+"/pods.yaml"
	for name, test := range map[string]struct {
		args []string
		want int
		text string
	}{
		"help":              {[]string{"--help"}, 0, "Exit codes:"},
		"equal":             {[]string{owner, pods}, 0, "1 rules: 1 equal, 0 differ, 0 unproven, 0 not converted"},
		"exceptions":        {[]string{owner, pods, "--exception=" + dir + "/exception.yaml"}, 0, "1 equal"},
		"variants":          {[]string{owner, pods, "--variants=20"}, 0, "1 equal"},
		"as JSON":           {[]string{owner, pods, "--proof=json"}, 0, `"state": "equal"`},
		"not compared":      {[]string{owner}, 0, "1 unproven"},
		"policies":          {[]string{owner, "--output=yaml"}, 0, "kind: ValidatingPolicy"},
		"another policy":    {[]string{owner, "--policy=" + dir + "/new.yaml", pods}, 0, "is no policy of kyverno.io"},
		"not converted":     {[]string{owner, "--policy=" + dir + "/mutating.yaml", pods}, exitPartly, "write a MutatingPolicy by hand"},
		"exception of none": {[]string{"--policy=" + dir + "/failing.yaml", "--exception=" + dir + "/exception.yaml", pods}, exitFindings, "PolicyException/shop/e: not converted"},
		"differs":           {[]string{"--policy=" + dir + "/failing.yaml", pods}, exitFindings, "is error"},
		"no policy":         {[]string{}, exitTrouble, "--policy: is required"},
		"bad output":        {[]string{owner, "--output=xml"}, exitTrouble, `--output: "xml"`},
		"bad proof":         {[]string{owner, "--proof=xml"}, exitTrouble, `--proof: "xml"`},
		"too many variants": {[]string{owner, pods, "--variants=100000"}, exitTrouble, "--variants"},
		"variants of none":  {[]string{owner, "--variants=1"}, exitTrouble, "--variants needs --resource"},
		"no such file":      {[]string{owner, "--resource=/nonexistent"}, exitTrouble, "--resource"},
		"no such folder":    {[]string{owner, "--output-dir=" + dir + "/owner.yaml"}, exitTrouble, "--output-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := command(t, "", append([]string{"convert"}, test.args...)...)
			if got.code != test.want || !strings.Contains(got.out+got.err, test.text) {
				t.Errorf("exit code %d, want %d, and %q in the text:\n%s%s", got.code, test.want, test.text, got.out, got.err)
			}
		})
	}
}

// TestConvertedFilesCanBeScanned: what --output-dir has is what scan takes, and says the same.
func TestConvertedFilesCanBeScanned(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"owner.yaml": labelPolicy, "exception.yaml": excepted, "pods.yaml": badPod + "---\n" + goodPod})
	out := filepath.Join(dir, "new", "folder")
	if got := command(t, "", "convert", "--policy="+dir+"/owner.yaml", "--exception="+dir+"/exception.yaml", "--output-dir="+out); got.code != 0 {
		t.Fatal(got)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v; want a policy and an exception", files, err)
	}
	got := command(t, "", "scan", "--policy="+out, "--resource="+dir+"/pods.yaml", "--all")
	if got.code != 0 || !strings.Contains(got.err+got.out, "1 pass, 0 fail, 0 warn, 0 error, 1 skip") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
}
