// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
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
	celPolicy = `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: named}
spec:
  evaluation: {background: {enabled: false}}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations: [{expression: "object.metadata.name != 'web'", message: Find a better name.}]
`
	listingPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: broken}
spec:
  rules:
  - name: lookup
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: all, apiCall: {urlPath: /api/v1/pods}}]
    validate: {message: "{{ all }}", deny: {conditions: {any: [{key: "{{ all.items[] | length(@) }}", operator: GreaterThan, value: 1}]}}}
`
	// The registry is a port of this machine that nobody may ask.
	imagePolicy = `apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: signed}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchImageReferences: [{glob: "127.0.0.1:1/*"}]
  validations: [{expression: "image.GetMetadata('127.0.0.1:1/app:v1').config.architecture != ''"}]
`
	exception = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e}
spec:
  exceptions: [{policyName: owner, ruleNames: [label, autogen-label]}]
  match: {any: [{resources: {kinds: [Pod], names: [bad]}}]}
`
	badPod     = "apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: c, image: nginx}]}\n"
	goodPod    = "apiVersion: v1\nkind: Pod\nmetadata: {name: good, namespace: shop, labels: {owner: me}}\nspec: {containers: [{name: c, image: nginx}]}\n"
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {owner: me}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web, owner: me}}, spec: {containers: [{name: c, image: nginx}]}}
`
)

// brokenPolicy asks for what only a cluster has.
var brokenPolicy = strings.Replace(listingPolicy, "/api/v1/pods", "/version", 1)

// endlessPolicy has so many rules that a few thousand pods take long.
func endlessPolicy() string {
	rules := []string{strings.TrimSuffix(labelPolicy, "\n")}
	_, rule, _ := strings.Cut(labelPolicy, "rules:\n")
	for i := range 200 {
		rules = append(rules, strings.Replace(strings.TrimSuffix(rule, "\n"), "name: label", fmt.Sprintf("name: r%d", i), 1))
	}
	return strings.Join(rules, "\n") + "\n"
}

func manyPods(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d"},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`+"\n---\n", i)
	}
	return text.String()
}

// TestScanOfFiles: what it prints and how it exits, with the real evaluator.
func TestScanOfFiles(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"policies/owner.yaml": labelPolicy, "policies/sub/named.yaml": celPolicy, "policies/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"policies/package.yml": "name: owner\nversion: 1\n",
		"app/bad.yaml":         badPod, "app/good.yaml": goodPod + "---\n" + deployment,
		"broken/a.yaml": "a: [", "broken/b.yaml": "a: {", "broken2.json": "{",
		"exception.yaml": exception, "broken.yaml": brokenPolicy, "good.yaml": goodPod,
		"invalid.yaml":  strings.Replace(labelPolicy, "pattern: {", "pattern: {^(x): y, ", 1),
		"newer.yaml":    strings.Replace(labelPolicy, "spec:\n", "spec:\n  surprise: true\n", 1),
		"again.yaml":    labelPolicy,
		"misspelt.yaml": strings.Replace(labelPolicy, "pattern: ", "patern: ", 1),
		"podd.yaml":     strings.Replace(labelPolicy, "kinds: [Pod]", "kinds: [Podd]", 1),
		"images.yaml":   labelPolicy[:strings.Index(labelPolicy, "    validate:")] + "    verifyImages: [{imageReferences: [nginx]}]\n",
		"ivpol.yaml":    imagePolicy,
		"unscored.yaml": strings.Replace(labelPolicy, "{name: owner}", "{name: owner, annotations: {policies.kyverno.io/scored: \"false\"}}", 1),
	})
	in := func(flag string, names ...string) []string {
		var args []string
		for _, name := range names {
			args = append(args, "--"+flag, dir+"/"+name)
		}
		return args
	}
	for name, test := range map[string]struct {
		args []string
		want int
		out  []string
		err  []string
	}{
		"something fails": {
			slices.Concat(in("policy", "policies"), in("resource", "app")), filescan.ExitFindings,
			[]string{"Pod/default/bad  " + dir + "/app/bad.yaml:1\n  fail  ClusterPolicy/owner/label: validation error: Who owns it?", "Deployment/shop/web  " + dir + "/app/good.yaml:6\n  fail  ValidatingPolicy/named: Find a better name.\n", "TOTAL"},
			[]string{"3 resources: 2 pass, 2 fail", "Left out: " + dir + "/policies/other.yaml: a ConfigMap", "package.yml: is not a Kubernetes object"},
		},
		"all pass":  {slices.Concat(in("policy", "policies"), in("resource", "good.yaml")), cli.ExitOK, []string{"TOTAL               1", "2 policies without findings; --all shows all."}, []string{"1 pass, 0 fail"}},
		"exception": {slices.Concat(in("policy", "policies/owner.yaml"), in("resource", "app"), in("exception", "exception.yaml")), cli.ExitOK, nil, []string{"1 skip"}},
		"exception of elsewhere": {
			slices.Concat(in("policy", "policies/owner.yaml"), in("resource", "app"), in("exception", "exception.yaml"), []string{"--exception-namespaces=other"}), filescan.ExitFindings,
			nil, []string{"Left out: ClusterPolicy/owner: the PolicyException ", " does not count: exceptions in the namespace "},
		},
		"exception among policies": {slices.Concat(in("policy", "policies/owner.yaml", "exception.yaml"), in("resource", "app")), cli.ExitOK, nil, []string{"1 skip"}},
		"not scored":               {slices.Concat(in("policy", "unscored.yaml"), in("resource", "app")), cli.ExitOK, []string{"warn"}, []string{"0 fail, 1 warn"}},
		"context without cluster":  {slices.Concat(in("policy", "broken.yaml", "policies"), in("resource", "app")), program.ExitTrouble, []string{"error"}, []string{"could not be evaluated"}},
		"invalid policy":           {slices.Concat(in("policy", "invalid.yaml"), in("resource", "good.yaml")), program.ExitTrouble, nil, []string{"ClusterPolicy/owner can't be evaluated"}},
		"unknown field":            {slices.Concat(in("policy", "newer.yaml"), in("resource", "app")), program.ExitTrouble, []string{"error ClusterPolicy/owner/label: kyverno v1.19.1 does not know spec.surprise"}, []string{"ClusterPolicy/owner can't be evaluated: kyverno v1.19.1 does not know spec.surprise: "}},
		"policies beside it":       {slices.Concat(in("policy", "newer.yaml", "policies/sub"), in("resource", "app")), program.ExitTrouble, []string{"fail  ValidatingPolicy/named"}, nil},
		"strict":                   {slices.Concat(in("policy", "newer.yaml", "policies/sub"), in("resource", "app"), []string{"--strict"}), program.ExitTrouble, nil, []string{"Error: ClusterPolicy/owner can't be evaluated"}},
		"strict about documents":   {slices.Concat(in("policy", "policies/owner.yaml"), in("resource", "app", "broken"), []string{"--strict"}), program.ExitTrouble, nil, []string{"Error: --resource: " + dir + "/broken/a.yaml: yaml: line 1"}},
		"misspelt rule":            {slices.Concat(in("policy", "misspelt.yaml"), in("resource", "app")), program.ExitTrouble, nil, []string{"spec.rules[0].validate.patern"}},
		"kind that is none":        {slices.Concat(in("policy", "podd.yaml"), in("resource", "app")), cli.ExitOK, nil, []string{"No results: ClusterPolicy/owner applies to none"}},
		"kind that must be one":    {slices.Concat(in("policy", "podd.yaml"), in("resource", "app"), []string{"--require-match"}), program.ExitTrouble, nil, []string{"--require-match: policies that apply to no resource: 1 (1 policy, 3 resources:"}},
		"a policy for images":      {slices.Concat(in("policy", "ivpol.yaml"), in("resource", "app")), cli.ExitOK, nil, []string{"Left out: ImageValidatingPolicy/signed: images are not verified"}},
		"with registries":          {slices.Concat(in("policy", "ivpol.yaml"), in("resource", "app"), []string{"--registry"}), program.ExitTrouble, []string{"error ImageValidatingPolicy/signed", "address 127.0.0.1 is blocked"}, nil},
		"bad registry flags":       {slices.Concat(in("policy", "ivpol.yaml"), in("resource", "app"), []string{"--image-pull-secrets=a/b/c", "--registry-credential-helpers=vault", "--registry-cache-age=1ms"}), cli.ExitUsage, nil, []string{"--image-pull-secrets", "--registry-credential-helpers", "--registry-cache-age"}},
		"another type of rule":     {slices.Concat(in("policy", "images.yaml"), in("resource", "app")), cli.ExitOK, nil, []string{"Left out: ClusterPolicy/owner: rule label: images are not verified: image registries are not asked; --registry asks them"}},
		"no policies":              {slices.Concat(in("policy", "policies/other.yaml"), in("resource", "app")), program.ExitTrouble, nil, []string{"--policy: there is no policy in it"}},
		"flags swapped":            {slices.Concat(in("policy", "app"), in("resource", "policies")), program.ExitTrouble, nil, []string{"--policy: there is no policy in it", "--resource has policies: are the two flags the wrong way round?"}},
		"policy twice":             {slices.Concat(in("policy", "policies", "unscored.yaml"), in("resource", "app")), program.ExitTrouble, []string{"fail  ClusterPolicy/owner", "fail  ValidatingPolicy/named"}, []string{"--policy: " + dir + "/unscored.yaml: line 1: the ClusterPolicy owner is also in"}},
		"the same policy twice":    {slices.Concat(in("policy", "policies/owner.yaml", "again.yaml"), in("resource", "good.yaml")), cli.ExitOK, nil, []string{"1 policy, 1 resource: 1 pass"}},
		"resource twice":           {slices.Concat(in("policy", "policies"), in("resource", "app", "good.yaml")), filescan.ExitFindings, nil, []string{"4 resources: 3 pass, 2 fail"}},
		"same file twice":          {slices.Concat(in("policy", "policies/owner.yaml", "policies"), in("resource", "good.yaml", "good.yaml")), cli.ExitOK, nil, []string{"2 policies, 1 resource: 1 pass"}},
		"all broken files": {
			slices.Concat(in("policy", "broken", "policies"), in("exception", "broken2.json"), in("resource", "app", "broken/b.yaml", "none.yaml")), program.ExitTrouble, nil,
			[]string{"--policy: " + dir + "/broken/a.yaml: yaml: ", "/broken/b.yaml: yaml: ", "--exception: " + dir + "/broken2.json: ", "--resource: " + dir + "/broken/b.yaml: yaml: ", "none.yaml: no such file"},
		},
		"all results":       {slices.Concat(in("policy", "policies/owner.yaml"), in("resource", "app"), []string{"--all"}), filescan.ExitFindings, []string{"Pod/shop/good", "  pass  ClusterPolicy/owner/label"}, nil},
		"another namespace": {slices.Concat(in("policy", "policies"), in("resource", "app/bad.yaml"), []string{"--namespace=team"}), filescan.ExitFindings, []string{"Pod/team/bad"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := command(t, "", append([]string{"scan"}, test.args...)...)
			if got.code != test.want {
				t.Errorf("exit code %d, want %d", got.code, test.want)
			}
			for _, text := range test.out {
				if !strings.Contains(got.out, text) {
					t.Errorf("%q is not in the output", text)
				}
			}
			for _, text := range test.err {
				if !strings.Contains(got.err, text) {
					t.Errorf("%q is not in the errors", text)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s\nerrors:\n%s", got.out, got.err)
			}
		})
	}
}

// TestScanPrintsReports: as YAML and JSON, of both groups, split and not; nothing else is on
// standard output.
func TestScanPrintsReports(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy + "---\n" + celPolicy, "app.yaml": badPod + "---\n" + goodPod + "---\n" + deployment})
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"split": {[]string{"--output=yaml"}, []string{
			"default/polr-ns-default-owner pass 0 fail 1", "shop/polr-ns-shop-named-… pass 0 fail 1", "shop/polr-ns-shop-owner pass 2 fail 0",
		}},
		"by namespace": {[]string{"--output=json", "--split-policy-report=false"}, []string{
			"default/polr-ns-default pass 0 fail 1", "shop/polr-ns-shop pass 2 fail 1",
		}},
		"openreports": {[]string{"--output=json", "--split-policy-report=false", "--reports-api=openreports.io"}, []string{
			"default/polr-ns-default pass 0 fail 1", "shop/polr-ns-shop pass 2 fail 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := command(t, "", append([]string{"scan", "--policy", dir + "/policy.yaml", "--resource", dir + "/app.yaml"}, test.args...)...)
			if got.code != filescan.ExitFindings {
				t.Errorf("exit code %d:\n%s", got.code, got.err)
			}
			if asJSON := slices.Contains(test.args, "--output=json"); json.Valid([]byte(got.out)) != asJSON {
				t.Errorf("the output is JSON: %v", !asJSON)
			}
			testkit.NoDiff(t, cmp.Diff(test.want, reportsIn(t, got.out)), "reports (-want +got)")
		})
	}
}

// TestFailOn: only failures of the severity and above set the exit code; errors always do.
func TestFailOn(t *testing.T) {
	t.Parallel()
	graded := func(name, severity string) string {
		return strings.Replace(labelPolicy, "{name: owner}", "{name: "+name+", annotations: {policies.kyverno.io/severity: "+severity+"}}", 1)
	}
	dir := writeFiles(t, map[string]string{
		"none.yaml": labelPolicy, "medium.yaml": graded("m", "medium"), "high.yaml": graded("h", "high"), "critical.yaml": graded("c", "critical"),
		"low.yaml": graded("l", "low"), "info.yaml": graded("i", "info"), "broken.yaml": brokenPolicy, "pod.yaml": badPod,
	})
	for _, test := range []struct {
		policies, failOn string
		want             int
		text             string
	}{
		{"none", "", filescan.ExitFindings, "1 fail, 0 warn, 0 error, 0 skip\n"},
		{"none", "info", filescan.ExitFindings, "1 fail, 0 warn, 0 error, 0 skip\n"},
		{"none", "low", cli.ExitOK, "0 skip; 1 of the failures are below --fail-on low"},
		{"info", "low", cli.ExitOK, ""}, {"info", "info", filescan.ExitFindings, ""},
		{"low", "medium", cli.ExitOK, ""}, {"low", "low", filescan.ExitFindings, ""},
		{"medium", "high", cli.ExitOK, ""}, {"medium", "medium", filescan.ExitFindings, ""},
		{"high", "critical", cli.ExitOK, ""}, {"high", "high", filescan.ExitFindings, ""},
		{"critical", "critical", filescan.ExitFindings, ""}, {"critical", "info", filescan.ExitFindings, ""},
		{"none,low,high", "high", filescan.ExitFindings, "3 fail, 0 warn, 0 error, 0 skip; 2 of the failures are below --fail-on high"},
		{"critical,none", "none", cli.ExitOK, "0 skip; 2 of the failures are below --fail-on none"},
		{"broken,low", "none", program.ExitTrouble, "rules that could not be evaluated: 1"},
		{"broken,low", "critical", program.ExitTrouble, "rules that could not be evaluated: 1"},
		{"none", "grave", program.ExitTrouble, "--fail-on: \"grave\" is none of critical"},
	} {
		args := []string{"scan", "--resource=" + dir + "/pod.yaml"}
		for name := range strings.SplitSeq(test.policies, ",") {
			args = append(args, "--policy="+dir+"/"+name+".yaml")
		}
		if test.failOn != "" {
			args = append(args, "--fail-on="+test.failOn)
		}
		if got := command(t, "", args...); got.code != test.want || !strings.Contains(got.err, test.text) {
			t.Errorf("%s with --fail-on %s: exit code %d, want %d and %q:\n%s", test.policies, test.failOn, got.code, test.want, test.text, got.err)
		}
	}
}

// TestScanForPipelines: findings with the places of their resources, relative to the current folder, and nothing else
// on standard output.
func TestScanForPipelines(t *testing.T) {
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy + "---\n" + celPolicy, "app/all.yaml": badPod + "---\n" + goodPod + "---\n" + deployment})
	t.Chdir(dir)
	const exact = "::error file=app/all.yaml,line=1,title=ClusterPolicy/owner/label::Pod/default/bad: validation error: Who owns it?. rule label failed at path /metadata/labels/\n" +
		"::error file=app/all.yaml,line=11,title=ValidatingPolicy/named::Deployment/shop/web: Find a better name.\n"
	for output, want := range map[string][]string{
		"github": {exact},
		"sarif":  {`"uri": "app/all.yaml"`, `"startLine": 11`, `"uri": "policy.yaml"`, `"startLine": 12`, `"ruleId": "ValidatingPolicy/named"`},
		"junit":  {`tests="4" failures="2"`, `<testcase name="Pod/shop/good" classname="ClusterPolicy/owner/label" file="app/all.yaml" line="6">`},
	} {
		got := command(t, "", "scan", "--policy=policy.yaml", "--resource=app", "--output="+output)
		for _, text := range want {
			if got.code != filescan.ExitFindings || !strings.Contains(got.out, text) {
				t.Errorf("%s: exit code %d, and %q is not in\n%s\n%s", output, got.code, text, got.out, got.err)
			}
		}
		if output == "github" && got.out != exact {
			t.Errorf("more is printed:\n%s", got.out)
		}
	}
}

// reportsIn reads a list of reports, with the hashes of names cut off.
func reportsIn(t *testing.T, text string) []string {
	t.Helper()
	var list struct{ Items []json.RawMessage }
	asJSON := testkit.Must(yaml.YAMLToJSON([]byte(text)))(t)
	testkit.NoError(t, json.Unmarshal(asJSON, &list))
	var lines []string
	for _, raw := range list.Items {
		var accessor report.Accessor = &wgpolicy.PolicyReport{}
		if strings.Contains(string(raw), "openreports.io") {
			accessor = &openreports.Report{}
		}
		testkit.NoError(t, yaml.UnmarshalStrict(raw, accessor))
		name := accessor.GetName()
		if i := strings.LastIndex(name, "-"); len(name)-i == 11 {
			name = name[:i] + "-…"
		}
		counts := accessor.GetSummary().Counts()
		lines = append(lines, fmt.Sprintf("%s/%s pass %d fail %d", accessor.GetNamespace(), name, counts.Pass, counts.Fail))
	}
	return lines
}

func TestScanOfStandardInput(t *testing.T) {
	t.Parallel()
	for _, empty := range [][]string{{"--policy", writeFiles(t, map[string]string{"p.yaml": labelPolicy}), "--resource", "-"}, {"--policy", "-", "--resource", writeFiles(t, map[string]string{"p.yaml": goodPod})}} {
		if got := command(t, " \n", append([]string{"scan"}, empty...)...); got.code != program.ExitTrouble || !strings.Contains(got.err, "standard input: is empty: no Kubernetes objects found in it") {
			t.Errorf("%q: exit code %d:\n%s%s", empty, got.code, got.out, got.err)
		}
	}
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy})
	if got := command(t, badPod, "scan", "--policy", dir, "--resource", "-"); got.code != filescan.ExitFindings || !strings.Contains(got.out, "Pod/default/bad\n") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
	if got := command(t, labelPolicy, "scan", "--policy", "-", "--resource", "-"); got.code != program.ExitTrouble || !strings.Contains(got.err, "only once") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
}

// TestExamples: what the README shows.
func TestExamples(t *testing.T) {
	t.Parallel()
	const examples = "../../../examples"
	got := command(t, "", "scan", "--policy", examples+"/policies", "--resource", examples+"/app")
	if got.code != filescan.ExitFindings || !strings.Contains(got.err, "5 pass, 7 fail, 0 warn, 0 error") {
		t.Errorf("%d\n%s%s", got.code, got.out, got.err)
	}
}
