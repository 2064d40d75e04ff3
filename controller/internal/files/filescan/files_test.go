// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/policytest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// parse reads objects from YAML.
func parse(t *testing.T, text string) []manifest.Object {
	t.Helper()
	set := testkit.Must((&manifest.Loader{Stdin: strings.NewReader(text)}).Load(manifest.Stdin))(t)
	return set.Objects
}

// compile compiles the policies and exceptions in YAML.
func compile(t *testing.T, text string) []policy.Policy {
	t.Helper()
	sorted := filescan.Sort(parse(t, text), "")
	return filescan.Compile(policytest.Compiler{}, sorted.Policies, sorted.Exceptions)
}

// lines describes what was found.
func lines(findings *filescan.Findings) []string {
	var all []string
	for _, f := range findings.Kept() {
		all = append(all, strings.Join([]string{f.Policy.ResultName(), f.Rule, f.Subject.Kind, f.Subject.Namespace + "/" + f.Subject.Name, string(f.Outcome)}, " "))
	}
	return all
}

// scanFiles evaluates policies for objects and returns all results.
func scanFiles(t *testing.T, policies, objects string, options filescan.FilesOptions) *filescan.Findings {
	t.Helper()
	source := filescan.NewFiles(parse(t, objects), options)
	findings := filescan.NewFindings(true)
	testkit.NoError(t, filescan.Run(t.Context(), source, compile(t, policies), filescan.Options{Findings: findings}))
	return findings
}

const ownerPolicy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: owner}\nspec: {kinds: ['*'], label: owner}\n"

func TestObjectsAreAsInACluster(t *testing.T) {
	t.Parallel()
	const objects = `
{apiVersion: v1, kind: Pod, metadata: {name: without}}
---
{apiVersion: v1, kind: Pod, metadata: {name: with, namespace: shop, labels: {owner: me}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}
---
{apiVersion: example.com/v1, kind: Fleet, metadata: {name: a}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: fleets.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: Fleet, plural: fleets}}}
---
{apiVersion: example.com/v1, kind: Unknown, metadata: {name: a}}
`
	for namespace, in := range map[string]string{"": "default", "team": "team"} {
		got := lines(scanFiles(t, ownerPolicy, objects, filescan.FilesOptions{Namespace: namespace}))
		want := []string{
			"owner r ClusterRole /reader fail", "owner r CustomResourceDefinition /fleets.example.com fail",
			"owner r Fleet /a fail", "owner r Namespace /shop fail",
		}
		there := []string{"owner r Pod " + in + "/without fail", "owner r Unknown " + in + "/a fail"}
		shop := []string{"owner r Pod shop/with pass"}
		if in > "shop" {
			want = append(append(want, shop...), there...)
		} else {
			want = append(append(want, there...), shop...)
		}
		testkit.NoDiff(t, cmp.Diff(want, got), "namespace %q (-want +got)", namespace)
	}
}

// TestNamespaceLabels: they come from Namespaces among the objects, those from the API server are
// added, and a Namespace has its own.
func TestNamespaceLabels(t *testing.T) {
	t.Parallel()
	const objects = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: prod}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: other}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: given}}
---
{apiVersion: v1, kind: Node, metadata: {name: d}}
`
	options := filescan.FilesOptions{NamespaceLabels: map[string]map[string]string{"given": {"env": "x"}, "shop": {"env": "hidden"}}}
	for label, want := range map[string][]string{
		"env":                         {"owner r Namespace /shop fail", "owner r Pod given/c fail", "owner r Pod shop/a fail"},
		"kubernetes.io/metadata.name": {"owner r Namespace /shop fail", "owner r Pod given/c fail", "owner r Pod other/b fail", "owner r Pod shop/a fail"},
	} {
		policies := strings.Replace(ownerPolicy, "label: owner", "label: owner, namespaceLabel: "+label, 1)
		testkit.NoDiff(t, cmp.Diff(want, lines(scanFiles(t, policies, objects, options))), "%s (-want +got)", label)
	}
}

// TestNamespaceObjects: policies see the Namespace among the objects as it is.
func TestNamespaceObjects(t *testing.T) {
	t.Parallel()
	files := filescan.NewFiles(parse(t, `
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {owner: a}}, status: {phase: Active}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: other}}
`), filescan.FilesOptions{})
	seen := map[string]string{}
	err := files.Each(t.Context(), nil, func(item filescan.Item) error {
		if space := item.Subject.NamespaceObject; space != nil {
			seen[item.Subject.Object.GetName()] = space.Name + " " + space.Annotations["owner"] + " " + string(space.Status.Phase)
		}
		return nil
	})
	if diff := cmp.Diff(map[string]string{"a": "shop a Active"}, seen); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestWrongObjectsAreNamed, and all others are evaluated.
func TestWrongObjectsAreNamed(t *testing.T) {
	t.Parallel()
	files := filescan.NewFiles(parse(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: 1}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b}, status: 1}
`), filescan.FilesOptions{})
	var got []string
	for _, unreadable := range files.Unreadable {
		got = append(got, unreadable.Error())
	}
	want := []string{"standard input: document 1: line 2: read the namespace a: ", "standard input: document 3: line 6: read the namespace b: "}
	if files.Len() != 1 || len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("%d objects, unreadable: %q, want %q", files.Len(), got, want)
	}
	if files.Covers(policy.Reference{Namespace: "default"}) {
		t.Error("files with something that can't be read claim to be all there is")
	}
}

// plurals shows the resource under which policies see each kind.
type plurals struct {
	policy.Policy

	seen map[string]string
}

func (p *plurals) Evaluate(_ context.Context, subject policy.Subject) ([]policy.Result, error) {
	p.seen[subject.Object.GetKind()] = subject.Resource.String()
	return nil, nil
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Pod": "/v1, Resource=pods", "Endpoints": "/v1, Resource=endpoints", "Ingress": "networking.k8s.io/v1, Resource=ingresses",
		"NetworkPolicy": "networking.k8s.io/v1, Resource=networkpolicies", "Gateway": "gateway.networking.k8s.io/v1, Resource=gateways",
		"StorageClass": "storage.k8s.io/v1, Resource=storageclasses", "Mouse": "example.com/v1, Resource=mice", "Patch": "example.com/v1, Resource=patches",
		"CustomResourceDefinition": "apiextensions.k8s.io/v1, Resource=customresourcedefinitions",
	}
	text := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: example.com, scope: Namespaced, names: {kind: Mouse, plural: mice}}}\n"
	for kind, resource := range want {
		if group, _, _ := strings.Cut(resource, ","); kind != "CustomResourceDefinition" {
			text += "---\n{apiVersion: " + strings.TrimPrefix(group, "/") + ", kind: " + kind + ", metadata: {name: x}}\n"
		}
	}
	source := filescan.NewFiles(parse(t, text), filescan.FilesOptions{})
	recorder := &plurals{Policy: compile(t, ownerPolicy)[0], seen: map[string]string{}}
	testkit.NoError(t, filescan.Run(t.Context(), source, []policy.Policy{recorder}, filescan.Options{Workers: 1}))
	testkit.NoDiff(t, cmp.Diff(want, recorder.seen), "resources (-want +got)")
}

// TestDefinitionsOfOneResource, such as those of several folders: each is evaluated, and the report has the results of
// all, in their order.
func TestDefinitionsOfOneResource(t *testing.T) {
	t.Parallel()
	const twice = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {owner: me}}}\n"
	source, findings := filescan.NewFiles(parse(t, twice), filescan.FilesOptions{}), filescan.NewFindings(true)
	reports := &recorded{presented: map[string]policy.Presentation{}, set: map[string]int{}}
	testkit.NoError(t, filescan.Run(t.Context(), source, compile(t, ownerPolicy), filescan.Options{Findings: findings, Reports: reports}))
	want := []string{"owner r Pod default/a pass", "owner r Pod default/a fail", "owner r Pod default/b fail"}
	slices.Sort(want)
	got := lines(findings)
	slices.Sort(got)
	testkit.NoDiff(t, cmp.Diff(want, got), "findings (-want +got)")
	testkit.NoDiff(t, cmp.Diff(map[string]int{"ClusterPolicy/owner default/a": 2, "ClusterPolicy/owner default/b": 1}, reports.set), "results in reports (-want +got)")
	if findings.Resources() != 3 || source.Len() != 3 {
		t.Errorf("%d of %d objects were evaluated, want 3", findings.Resources(), source.Len())
	}
}

// TestSort: policies and exceptions of both groups; those that need a namespace get one; a kind
// of the same name in another group is neither.
func TestSort(t *testing.T) {
	t.Parallel()
	sorted := filescan.Sort(parse(t, `
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}}
---
{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: b}}
---
{apiVersion: policies.kyverno.io/v1beta1, kind: ValidatingPolicy, metadata: {name: c}}
---
{apiVersion: policies.kyverno.io/v1, kind: NamespacedValidatingPolicy, metadata: {name: d, namespace: own}}
---
{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e}}
---
{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: f}}
---
{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {name: g}}
---
{apiVersion: policy.example.com/v1, kind: Policy, metadata: {name: h}}
`), "team")
	var got []string
	for prefix, list := range map[string][]manifest.Object{"p": sorted.Policies, "e": sorted.Exceptions, "o": sorted.Others} {
		for _, o := range list {
			got = append(got, prefix+" "+o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		}
	}
	want := map[string]bool{
		"p ClusterPolicy /a": true, "p Policy team/b": true, "p ValidatingPolicy /c": true, "p NamespacedValidatingPolicy own/d": true,
		"e PolicyException team/e": true, "e PolicyException team/f": true, "o GeneratingPolicy /g": true, "o Policy /h": true,
	}
	for _, line := range got {
		if !want[line] {
			t.Errorf("unexpected %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}
