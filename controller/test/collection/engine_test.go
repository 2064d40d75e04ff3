// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/test/collection"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var policiesDir = flag.String("policies-dir", "", "folder of the public collection of policies, https://github.com/kyverno/policies; empty skips its test")

// kyvernoCompiler is the compiler of the product, without a cluster.
func kyvernoCompiler(t *testing.T) policy.Compiler {
	t.Helper()
	return testkit.Must(kyverno.NewCompiler(base.Config{ExceptionNamespaces: []string{policy.AllNamespaces}}))(t)
}

// TestPublicCollection compares the results for the public collection of policies with those that its
// tests expect. It prints what differs, and the numbers.
func TestPublicCollection(t *testing.T) {
	t.Parallel()
	if *policiesDir == "" {
		t.Skip("no collection; name its folder with -policies-dir")
	}
	for _, throughReports := range []bool{false, true} {
		t.Run(fmt.Sprintf("throughReports=%t", throughReports), func(t *testing.T) {
			t.Parallel()
			allow := testkit.Must(collection.ReadAllowList("testdata/kyverno-policies.allow"))(t)
			outcome := testkit.Must(collection.Run(t.Context(), collection.Options{
				Dir: *policiesDir, Compiler: kyvernoCompiler(t), Allow: allow, ThroughReports: throughReports,
			}))(t)
			t.Log("\n" + text(t, outcome))
			if !outcome.Good() {
				t.Error("the results are not all as the tests of the collection expect")
			}
		})
	}
}

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
	labelledPods = `apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: shop, labels: {owner: me}}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {owner: me}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web, owner: me}}, spec: {containers: [{name: c, image: nginx}]}}
`
)

// TestKyvernosEngine: the verdicts and the text of a small collection with the engine of the product,
// with and without reports between.
func TestKyvernosEngine(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [policy.yaml]\nresources: [pods.yaml]\nresults:\n"
	const agrees = "- {policy: owner, rule: label, kind: Pod, resources: [bad], result: fail}\n- {policy: owner, rule: label, kind: Pod, resources: [good], result: pass}\n" +
		"- {policy: owner, rule: label, kind: Deployment, resources: [web], result: pass}\n"
	const missing = "- {policy: owner, rule: lable, kind: Pod, resources: [bad], result: fail}\n"
	for name, test := range map[string]struct {
		results string
		allow   bool
		good    bool
		text    string
	}{
		"agrees":    {agrees, false, true, "ClusterPolicy   1       3         3"},
		"disagrees": {strings.Replace(agrees, "fail", "pass", 1), false, false, "Disagree: kyverno-test.yaml, owner, label, Pod bad: want pass, got fail: validation error: Who owns it?"},
		"missing":   {agrees + missing, false, false, "Missing: kyverno-test.yaml, owner, lable, Pod bad"},
		"allowed":   {agrees + missing, true, true, "(misspelled)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range map[string]string{
				"policy.yaml": labelPolicy, "pods.yaml": labelledPods,
				"kyverno-test.yaml": head + test.results, "allow": "kyverno-test.yaml, owner, lable, Pod bad: misspelled\n",
			} {
				testkit.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
			}
			for _, throughReports := range []bool{false, true} {
				options := collection.Options{Dir: dir, Compiler: kyvernoCompiler(t), ThroughReports: throughReports}
				if test.allow {
					options.Allow = testkit.Must(collection.ReadAllowList(filepath.Join(dir, "allow")))(t)
				}
				outcome := testkit.Must(collection.Run(t.Context(), options))(t)
				if got := text(t, outcome); outcome.Good() != test.good || !strings.Contains(got, test.text) {
					t.Errorf("through reports %t: good %t, want %t, and %q in the text:\n%s", throughReports, outcome.Good(), test.good, test.text, got)
				}
			}
		})
	}
}
