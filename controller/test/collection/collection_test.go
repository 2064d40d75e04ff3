// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/controller/internal/policy/policytest"
	"github.com/docket-project/docket/controller/test/collection"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// The parts of most collections here.
const (
	owner   = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: owner}, spec: {kinds: [Pod], label: owner, rules: [r, autogen-w, autogen-cronjob-c]}}\n"
	pods    = "{apiVersion: v1, kind: Pod, metadata: {name: good, labels: {owner: me}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: shop}}\n"
	header  = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [../policy.yaml]\nresources: [pods.yaml]\n"
	results = "results:\n"
)

// result is an expected result.
func result(rule, resource, outcome string) string {
	return "- {policy: owner, rule: " + rule + ", kind: Pod, resources: [" + resource + "], result: " + outcome + "}\n"
}

// folder makes a collection: a policy, a test of it, and further files.
func folder(t *testing.T, test string, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"a/policy.yaml": owner, "a/t/pods.yaml": pods, "a/t/kyverno-test.yaml": test}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// run runs a collection, with and without reports between, which must be the same.
func run(t *testing.T, dir string, allow *collection.AllowList) *collection.Outcome {
	t.Helper()
	options := collection.Options{Dir: dir, Compiler: policytest.Compiler{}, Allow: allow}
	direct := testkit.Must(collection.Run(t.Context(), options))(t)
	options.ThroughReports = true
	through := testkit.Must(collection.Run(t.Context(), options))(t)
	if a, b := text(t, direct), text(t, through); a != b {
		t.Errorf("the results are others through reports:\n%s\n%s", a, b)
	}
	return direct
}

// text is what people see.
func text(t *testing.T, outcome *collection.Outcome) string {
	t.Helper()
	var out bytes.Buffer
	testkit.NoError(t, outcome.Print(&out, true))
	return out.String()
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expected string
		want     collection.Verdict
	}{
		"pass":                         {result("r", "good", "pass"), collection.Agree},
		"fail":                         {result("r", "bad", "fail"), collection.Agree},
		"with its namespace":           {result("r", "shop/bad", "fail"), collection.Agree},
		"in the default namespace":     {result("r", "default/good", "pass"), collection.Agree},
		"generated rule":               {result("w", "good", "pass"), collection.Agree},
		"rule generated twice":         {result("c", "good", "pass"), collection.Agree},
		"another outcome":              {result("r", "bad", "pass"), collection.Disagree},
		"result instead of a skip":     {result("r", "bad", "skip"), collection.Disagree},
		"no such rule":                 {result("x", "bad", "fail"), collection.Missing},
		"no such resource":             {result("r", "ugly", "fail"), collection.Missing},
		"in another namespace":         {result("r", "other/bad", "fail"), collection.Missing},
		"nothing instead of a skip":    {result("x", "bad", "skip"), collection.Agree},
		"another kind":                 {strings.Replace(result("r", "bad", "fail"), "Pod", "Job", 1), collection.Missing},
		"another policy":               {strings.Replace(result("r", "bad", "fail"), "owner", "tier", 1), collection.Missing},
		"every rule":                   {"- {policy: owner, kind: Pod, resources: [bad], result: fail}\n", collection.Agree},
		"every resource":               {"- {policy: owner, rule: r, kind: Pod, result: fail}\n", collection.Disagree},
		"resource with all its parts":  {"- {policy: owner, rule: r, resourceSpecs: [{version: v1, namespace: shop, name: bad}], result: fail}\n", collection.Agree},
		"resource of another version":  {"- {policy: owner, rule: r, resourceSpecs: [{group: x, version: v1, namespace: shop, name: bad}], result: fail}\n", collection.Missing},
		"explicit operation of CREATE": {"- {policy: owner, rule: r, kind: Pod, resources: [bad], result: fail, operation: CREATE}\n", collection.Agree},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := run(t, folder(t, header+results+test.expected, nil), nil)
			if len(outcome.Comparisons) != 1 || outcome.Comparisons[0].Verdict != test.want {
				t.Fatalf("comparisons %+v, want %s;\n%s", outcome.Comparisons, test.want, text(t, outcome))
			}
			if outcome.Good() != (test.want == collection.Agree) {
				t.Errorf("good is %v", outcome.Good())
			}
		})
	}
}

// TestUnscoredFailuresAreWarnings, as in reports.
func TestUnscoredFailuresAreWarnings(t *testing.T) {
	t.Parallel()
	policy := map[string]string{"a/policy.yaml": strings.Replace(owner, "label: owner", "label: owner, unscored: true", 1)}
	if outcome := run(t, folder(t, header+results+result("r", "bad", "warn"), policy), nil); !outcome.Good() {
		t.Error(text(t, outcome))
	}
}

func TestExceptionsAndNamespaceLabelsAreUsed(t *testing.T) {
	t.Parallel()
	more := map[string]string{
		"a/t/exception.yaml": "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e}, spec: {policy: owner, resource: bad}}\n",
		"a/t/values.yaml":    "namespaceSelector:\n- {name: shop, labels: {env: prod}}\n",
		"a/policy.yaml":      strings.Replace(owner, "label: owner", "label: owner, namespaceLabel: env", 1),
	}
	const head = header + "exceptions: [exception.yaml]\n"
	const tail = results + "- {policy: owner, rule: r, kind: Pod, resources: [bad], result: skip}\n"
	for name, values := range map[string]string{
		"file":       "variables: values.yaml\n",
		"inline":     "values: {namespaceSelector: [{name: shop, labels: {env: prod}}]}\n",
		"namespaces": "values: {namespaces: [{metadata: {name: shop, labels: {env: prod}}}]}\n",
	} {
		outcome := run(t, folder(t, head+values+tail, more), nil)
		if len(outcome.Comparisons) != 1 || len(outcome.Comparisons[0].Got) != 1 || outcome.Comparisons[0].Got[0] != "skip" {
			t.Errorf("%s: %+v\n%s", name, outcome.Comparisons, text(t, outcome))
		}
	}
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	dir := folder(t, header+results+result("x", "bad", "fail")+result("r", "good", "pass"), map[string]string{
		"allow": "# comment\n\na/t/kyverno-test.yaml, owner, x, Pod bad: the rule is misspelled: really\na/t/kyverno-test.yaml, owner, gone, Pod bad: was so once\n",
	})
	if outcome := run(t, dir, nil); outcome.Good() {
		t.Error("a missing result is good")
	}
	allow := testkit.Must(collection.ReadAllowList(filepath.Join(dir, "allow")))(t)
	outcome := run(t, dir, allow)
	shown := text(t, outcome)
	for _, want := range []string{
		"Missing, allowed: a/t/kyverno-test.yaml, owner, x, Pod bad: want fail, got nothing (the rule is misspelled: really)",
		"In the allow-list, and not needed: a/t/kyverno-test.yaml, owner, gone, Pod bad",
		"ClusterPolicy   1       2         1       0          0         1",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if !outcome.Good() {
		t.Error("an allowed result is not good")
	}
}

// TestAllowListAllowsNoDisagreement: only what is missing can be allowed.
func TestAllowListAllowsNoDisagreement(t *testing.T) {
	t.Parallel()
	dir := folder(t, header+results+result("r", "bad", "pass"), map[string]string{"allow": "a/t/kyverno-test.yaml, owner, r, Pod bad: so there\n"})
	allow := testkit.Must(collection.ReadAllowList(filepath.Join(dir, "allow")))(t)
	if run(t, dir, allow).Good() {
		t.Error("a disagreement is good")
	}
}

func TestAllowListErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"f, p, r: why\n", "f, p, r, x\n", "f, p, r, x: \n", "f, p, r, x: a\nf, p, r, x: b\n"} {
		path := filepath.Join(t.TempDir(), "allow")
		testkit.NoError(t, os.WriteFile(path, []byte("#\n"+content), 0o600))
		if _, err := collection.ReadAllowList(path); err == nil || !strings.Contains(err.Error(), path+": line ") {
			t.Errorf("%q: error %v", content, err)
		}
	}
	if _, err := collection.ReadAllowList("/nonexistent"); err == nil {
		t.Error("an absent file has no error")
	}
}

func TestLeftOut(t *testing.T) {
	t.Parallel()
	policy := func(spec string) map[string]string {
		return map[string]string{"a/policy.yaml": "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: owner}, spec: {kinds: [Pod], rules: [" + spec + "]}}\n"}
	}
	for name, test := range map[string]struct {
		head string
		more map[string]string
		want string
	}{
		"mutating policy":  {header, map[string]string{"a/policy.yaml": "{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: owner}}"}, "out of scope: MutatingPolicy"},
		"mutate rule":      {header, policy("{name: r, mutate: {x: y}}"), "out of scope: rules of the type mutate"},
		"API call":         {header, policy("{name: r, context: [{name: c, apiCall: {urlPath: /x}}]}"), "needs mocks: apiCall"},
		"in a loop":        {header, policy("{name: r, validate: {foreach: [{list: x, context: [{name: c, configMap: {name: x}}]}]}}"), "needs mocks: configMap"},
		"global context":   {header, policy("{name: r, context: [{name: c, globalReference: {name: x}}, {name: d, imageRegistry: {}}]}"), "needs mocks: globalReference, imageRegistry"},
		"roles":            {header, policy("{name: r, exclude: {any: [{clusterRoles: [cluster-admin]}]}}"), "needs mocks: user info"},
		"user variable":    {header, policy(`{name: r, preconditions: "{{ request.userInfo.username }}"}`), "needs mocks: user info"},
		"user info":        {header + "userinfo: user.yaml\n", nil, "needs mocks: userinfo"},
		"unknown field":    {header + "moonPhase: full\n", nil, "needs mocks: moonPhase"},
		"variables":        {header + "values: {policies: [{name: owner}]}\n", nil, "needs mocks: values of variables"},
		"global values":    {header + "values: {globalValues: {a: b}}\n", nil, "needs mocks: values of variables"},
		"subresources":     {header + "values: {subresources: [{a: b}]}\n", nil, "needs mocks: subresources"},
		"from elsewhere":   {strings.Replace(header, "../policy.yaml", "https://example.com/policy.yaml", 1), nil, "needs the network: files from elsewhere"},
		"other operations": {header + "results: [{policy: owner, rule: r, kind: Pod, resources: [bad], result: fail, operation: DELETE}]\n", nil, "needs mocks: requests of other operations than CREATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := test.head
			if !strings.Contains(head, results[:7]) {
				head += results + result("r", "good, bad", "pass")
			}
			outcome := run(t, folder(t, head, test.more), nil)
			if len(outcome.LeftOut) != 1 || outcome.LeftOut[0].Reason != test.want || outcome.LeftOut[0].Results == 0 {
				t.Errorf("left out %+v, want %q;\n%s", outcome.LeftOut, test.want, text(t, outcome))
			}
		})
	}
}

// TestNotLeftOut: what only looks like a need of mocks.
func TestNotLeftOut(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"CEL policies have no variables": "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: owner}, spec: {kinds: [Pod], label: owner}}",
	} {
		outcome := run(t, folder(t, header+"values: {policies: [{name: owner}]}\n"+results+result("r", "bad", "fail"), map[string]string{"a/policy.yaml": policy}), nil)
		if len(outcome.LeftOut) > 0 || !outcome.Good() || outcome.Files["ValidatingPolicy"] != 1 {
			t.Errorf("%s:\n%s", name, text(t, outcome))
		}
	}
}

// TestBrokenFilesAreFailures, and don't stop the others.
func TestBrokenFilesAreFailures(t *testing.T) {
	t.Parallel()
	good := map[string]string{"b/policy.yaml": owner, "b/t/pods.yaml": pods, "b/t/kyverno-test.yaml": header + results + result("r", "good", "pass")}
	for name, test := range map[string]struct{ content, want string }{
		"no YAML":         {"a: b: c", "a/t/kyverno-test.yaml"},
		"another kind":    {"apiVersion: v1\nkind: Pod\n", "is a Pod"},
		"strange outcome": {header + results + result("r", "good", "maybe"), `results[0].result: "maybe"`},
		"no policies":     {strings.Replace(header, "[../policy.yaml]", "[]", 1), "policies: there are none"},
		"absent policy":   {strings.Replace(header, "../policy", "../absent", 1), "absent.yaml"},
		"absent values":   {header + "variables: absent.yaml\n", "variables"},
		"absent resource": {strings.Replace(header, "pods", "absent", 1), "resources"},
	} {
		outcome := run(t, folder(t, test.content, good), nil)
		if outcome.Good() || len(outcome.Broken) != 1 || !strings.Contains(outcome.Broken[0].Error(), test.want) || len(outcome.Comparisons) != 1 {
			t.Errorf("%s: broken %v, want %q; comparisons %v", name, outcome.Broken, test.want, outcome.Comparisons)
		}
	}
}

func TestFolderWithoutTests(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), "/nonexistent"} {
		if _, err := collection.Run(t.Context(), collection.Options{Dir: dir, Compiler: policytest.Compiler{}}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := collection.Run(ctx, collection.Options{Dir: folder(t, header+results+result("r", "good", "pass"), nil), Compiler: policytest.Compiler{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestNumbers: files and results by the kind of their policies, and their sum.
func TestNumbers(t *testing.T) {
	t.Parallel()
	dir := folder(t, header+results+result("r", "good, bad", "pass"), map[string]string{
		"b/policy.yaml":         "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: owner}, spec: {kinds: [Pod], label: owner}}",
		"b/t/pods.yaml":         pods,
		"b/t/kyverno-test.yaml": header + results + result("r", "bad, ugly", "fail"),
	})
	outcome := run(t, dir, nil)
	want := []collection.Tally{
		{Kind: "ClusterPolicy", Files: 1, Results: 2, Agree: 1, Disagree: 1},
		{Kind: "ValidatingPolicy", Files: 1, Results: 2, Agree: 1, Missing: 1},
		{Kind: "TOTAL", Files: 2, Results: 4, Agree: 2, Disagree: 1, Missing: 1},
	}
	testkit.NoDiff(t, cmp.Diff(want, outcome.Tallies()), "tallies (-want +got)")
}
