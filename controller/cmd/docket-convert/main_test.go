// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/convert/conversion"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/cli"
)

const (
	labelPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Who owns it?
      pattern: {metadata: {labels: {owner: "?*"}}}
`
	badPod         = "apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: c, image: nginx}]}\n"
	goodPod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: good, namespace: shop, labels: {owner: me}}\nspec: {containers: [{name: c, image: nginx}]}\n"
	mutatingPolicy = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: mutating}, spec: {rules: [{name: add, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}}
`
	// failingCEL fails for a resource in the older engine where the newer one has an error.
	failingCEL = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: failing}, spec: {rules: [{name: cel, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: "object.spec.priority == 1"}]}}}]}}
`
	excepted = `{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: shop}, spec: {exceptions: [{policyName: owner, ruleNames: ["*"]}], match: {any: [{resources: {kinds: [Pod], names: [bad]}}]}}}
`
)

// answer is the outcome of a command.
type answer struct {
	code     int
	out, err string
}

// process is one whose output is in the answer.
func (a *answer) process(run func(cli.Process)) {
	var out, errOut bytes.Buffer
	run(cli.Process{
		In: strings.NewReader(""), Out: &out, ErrOut: &errOut, LookupEnv: func(string) (string, bool) { return "", false },
	})
	a.out, a.err = out.String(), errOut.String()
}

// command runs the program in this process.
func command(t *testing.T, args ...string) (a answer) {
	t.Helper()
	a.process(func(p cli.Process) { a.code = cli.Execute(t.Context(), newRoot(p), args) })
	return a
}

// writeFiles makes files in a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

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
		"another policy":    {[]string{owner, "--policy=" + dir + "/new.yaml", pods}, 0, "is a CEL policy already"},
		"not converted":     {[]string{owner, "--policy=" + dir + "/mutating.yaml", pods}, conversion.ExitPartly, "write a MutatingPolicy by hand"},
		"exception of none": {[]string{"--policy=" + dir + "/failing.yaml", "--exception=" + dir + "/exception.yaml", pods}, filescan.ExitFindings, "PolicyException/shop/e: not converted"},
		"differs":           {[]string{"--policy=" + dir + "/failing.yaml", pods}, filescan.ExitFindings, "is error"},
		"version":           {[]string{"version"}, 0, "docket-convert "},
		"version flag":      {[]string{"--version"}, 0, "engine of Kyverno"},
		"completion":        {[]string{"completion", "bash"}, 0, "__start_docket-convert"},
		"help of a command": {[]string{"completion", "--help"}, 0, "autocompletion script"},
		"unknown flag":      {[]string{"--polcy=x"}, program.ExitTrouble, "did you mean --policy?"},
		"a shell's list":    {[]string{"--policy", "a.yaml", "b.yaml"}, program.ExitTrouble, "name the folder"},
		"no policy":         {[]string{}, program.ExitTrouble, "--policy: is required"},
		"bad output":        {[]string{owner, "--output=xml"}, program.ExitTrouble, `--output: "xml"`},
		"bad proof":         {[]string{owner, "--proof=xml"}, program.ExitTrouble, `--proof: "xml"`},
		"too many variants": {[]string{owner, pods, "--variants=100000"}, program.ExitTrouble, "--variants"},
		"variants of none":  {[]string{owner, "--variants=1"}, program.ExitTrouble, "--variants needs --resource"},
		"no such file":      {[]string{owner, "--resource=/nonexistent"}, program.ExitTrouble, "--resource"},
		"no such folder":    {[]string{owner, "--output-dir=" + dir + "/owner.yaml"}, program.ExitTrouble, "--output-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := command(t, test.args...)
			if got.code != test.want || !strings.Contains(got.out+got.err, test.text) {
				t.Errorf("exit code %d, want %d, and %q in the text:\n%s%s", got.code, test.want, test.text, got.out, got.err)
			}
		})
	}
}

// TestConvertedFilesCanBeScanned: what --output-dir has is what a scan takes, and says the same.
func TestConvertedFilesCanBeScanned(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"owner.yaml": labelPolicy, "exception.yaml": excepted, "pods.yaml": badPod + "---\n" + goodPod})
	out := filepath.Join(dir, "new", "folder")
	if got := command(t, "--policy="+dir+"/owner.yaml", "--exception="+dir+"/exception.yaml", "--output-dir="+out); got.code != 0 {
		t.Fatal(got)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v; want a policy and an exception", files, err)
	}
	var got answer
	got.process(func(p cli.Process) {
		in := program.NewInput(&filescan.Input{Process: p, Policies: []string{out}, Resources: []string{dir + "/pods.yaml"}})
		if errs := in.Apply(); len(errs) > 0 {
			t.Fatal(errs)
		}
		scan := filescan.Command{Input: *in.Input, Output: filescan.OutputTable, FailOn: string(report.SeverityInfo), All: true}
		if err := scan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(got.err+got.out, "1 pass, 0 fail, 0 warn, 0 error, 1 skip") {
		t.Errorf("%s%s", got.out, got.err)
	}
}
