// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/policytest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func objects(t *testing.T, text string) []manifest.Object {
	t.Helper()
	set := testkit.Must((&manifest.Loader{Stdin: strings.NewReader(text)}).Load(manifest.Stdin))(t)
	return set.Objects
}

// compare compares a policy with the rule r, and one that it is said to have become.
func compare(t *testing.T, before, after string) proof.Report {
	t.Helper()
	old := objects(t, "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: old}, spec: "+before+"}")[0]
	created := objects(t, "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: new}, spec: "+after+"}")[0]
	files := filescan.NewFiles(objects(t, "{apiVersion: v1, kind: Pod, metadata: {name: good, labels: {owner: me}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: bad}}"), filescan.FilesOptions{})
	result := convert.Result{Old: proof.IdentityOf(old.Unstructured), Rules: []convert.Rule{{Name: "r", Policy: created.Unstructured}, {Name: "left", Err: fmt.Errorf("too\nhard")}}}
	var compiled []policy.Policy
	for _, each := range []*unstructured.Unstructured{old.Unstructured, created.Unstructured} {
		compiled = append(compiled, policytest.Compiler{}.Compile(each, nil))
	}
	comparisons := testkit.Must(proof.Compare(t.Context(), files, compiled, []convert.Result{result}, filescan.Options{Workers: 1}))(t)
	return proof.NewReport([]convert.Result{result}, comparisons, false)
}

// TestDifferencesAreFound, whichever side has the other result.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	const owner = "{kinds: [Pod], label: owner, rules: [r]}"
	for name, test := range map[string]struct {
		before, after string
		state         proof.State
		differences   int
		text          string
	}{
		"equal":          {owner, owner, proof.Equal, 0, "equal for 2 resources (0 skipped)"},
		"other outcomes": {owner, "{kinds: [Pod], label: tier, rules: [r]}", proof.Differs, 1, "Pod default/good: was pass"},
		"results lost":   {owner, "{kinds: [Service], label: owner, rules: [r]}", proof.Differs, 2, "is no result"},
		"results gained": {"{kinds: [Service], label: owner, rules: [r]}", owner, proof.Differs, 2, "was no result"},
		"no results":     {"{kinds: [Service], label: owner, rules: [r]}", "{kinds: [Service], label: owner, rules: [r]}", proof.Unproven, 0, "unproven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := compare(t, test.before, test.after)
			var table, asJSON bytes.Buffer
			testkit.NoError(t, report.PrintTable(&table))
			testkit.NoError(t, report.PrintJSON(&asJSON))
			rule := report.Rules[0]
			if rule.State != test.state || len(rule.Differences) != test.differences || !strings.Contains(table.String(), test.text) || !strings.Contains(asJSON.String(), `"state": "`+string(test.state)) {
				t.Errorf("state %s with %d differences; want %s with %d, and %q in\n%s", rule.State, len(rule.Differences), test.state, test.differences, test.text, table.String())
			}
			if !strings.Contains(table.String(), "ClusterPolicy/old left: not converted\n  too hard") || report.Count(proof.NotConverted) != 1 {
				t.Errorf("what was not converted is not in\n%s", table.String())
			}
		})
	}
}

// TestMutants differ from the object in one place each, and say which.
func TestMutants(t *testing.T) {
	t.Parallel()
	object := objects(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {hostNetwork: true, size: 5, containers: [{name: c}]}}")[0]
	var names []string
	for _, mutant := range proof.Mutants(object, 0) {
		names = append(names, string(mutant.GetUID()))
		if mutant.GetName() != "p" || mutant.GetKind() != "Pod" {
			t.Errorf("%s is another object: %s", mutant.GetUID(), mutant.GetName())
		}
	}
	for _, want := range []string{"[metadata labels] removed", "[metadata labels a] removed", "[metadata labels a] = *", "[spec hostNetwork] = false", "[spec hostNetwork] removed", "[spec size] = 6", "[spec containers 0] removed", "[spec containers 0 name] = cx"} {
		if !slices.Contains(names, want) {
			t.Errorf("no mutant %q in %q", want, names)
		}
	}
	if slices.Contains(names, "[spec] removed") || slices.Contains(names, "[spec containers] removed") {
		t.Errorf("what no server stores is in %q", names)
	}
	if object.GetUID() != "" || object.GetLabels()["a"] != "b" {
		t.Error("the object was changed")
	}
	if few := proof.Mutants(object, 5); len(few) == 0 || len(few) > 5 {
		t.Errorf("%d mutants, want at most 5", len(few))
	}
	if some := proof.Mutants(objects(t, "{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {a: b}}}")[0], 5); len(some) > 0 {
		t.Errorf("a namespace has mutants: %v", some)
	}
}
