// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

var update = flag.Bool("update", false, "write golden files anew")

// everything is what all golden files and comparisons begin with.
func everything() bootstrap.Parameters {
	p := bootstrap.NewParameters()
	p.CABundle = []byte("the authority\n")
	return p
}

func printed(t *testing.T, p bootstrap.Parameters, format bootstrap.Format) []byte {
	t.Helper()
	return testkit.Must(bootstrap.Print(p, format))(t)
}

func TestPrint(t *testing.T) {
	t.Parallel()
	one := everything()
	one.Groups = []string{"wgpolicyk8s.io"}
	one.Namespace, one.CreateNamespace, one.Service, one.HTTPSPort = "reports", true, "archive", 8443
	one.CABundle = nil
	for name, test := range map[string]struct {
		parameters bootstrap.Parameters
		format     bootstrap.Format
	}{
		"all.yaml": {everything(), bootstrap.YAML},
		"one.json": {one, bootstrap.JSON},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(t, test.parameters, test.format)
			path := filepath.Join("testdata", name)
			if *update {
				testkit.NoError(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; write it with `make golden`", err)
			}
			testkit.NoDiff(t, cmp.Diff(string(want), string(got)), "%s (-want +got)", path)
			if again := printed(t, test.parameters, test.format); !bytes.Equal(got, again) {
				t.Error("the same parameters gave other bytes")
			}
		})
	}
}

// TestFormats: both say the same.
func TestFormats(t *testing.T) {
	t.Parallel()
	fromYAML := testkit.Must(yaml.YAMLToJSON(printed(t, everything(), bootstrap.YAML)))(t)
	testkit.NoDiff(t, cmp.Diff(decode(t, fromYAML), decode(t, printed(t, everything(), bootstrap.JSON))), "YAML and JSON differ")
	if _, err := bootstrap.ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "yaml, json") {
		t.Errorf("format xml: %v, want an error with those that exist", err)
	}
}

func decode(t *testing.T, data []byte) (object map[string]any) {
	t.Helper()
	testkit.NoError(t, json.Unmarshal(data, &object))
	return object
}

// items returns the objects of a printed List by their names.
func items(t *testing.T, list []byte) map[string]any {
	t.Helper()
	found := map[string]any{}
	for _, item := range decode(t, list)["items"].([]any) {
		add(t, found, item.(map[string]any))
	}
	return found
}

func add(t *testing.T, objects map[string]any, object map[string]any) {
	t.Helper()
	metadata := object["metadata"].(map[string]any)
	name := fmt.Sprintf("%s %s", object["kind"], metadata["name"])
	if objects[name] != nil {
		t.Errorf("%s is there twice", name)
	}
	objects[name] = object
}

// TestDefaults: with the defaults, the objects equal deploy/base, except for those that run
// a server. No file there is forgotten.
func TestDefaults(t *testing.T) {
	t.Parallel()
	files := testkit.Must(filepath.Glob(filepath.Join("..", "..", "..", "deploy", "base", "*.yaml")))(t)
	want := map[string]any{}
	for _, file := range files {
		data := testkit.Must(os.ReadFile(file))(t)
		for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			var object map[string]any
			err := documents.Decode(&object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !slices.Contains([]string{"Deployment", "NetworkPolicy", "Kustomization"}, object["kind"].(string)) {
				add(t, want, object)
			}
		}
	}
	p := bootstrap.NewParameters()
	p.CreateNamespace = true
	testkit.NoDiff(t, cmp.Diff(want, items(t, printed(t, p, bootstrap.JSON))), "the List differs from deploy/base (-deploy/base +list)")
}

// TestKinds: each kind of the registry is registered, and there are roles for who reads
// and who writes it. Kyverno writes its ephemeral reports with roles of its own.
func TestKinds(t *testing.T) {
	t.Parallel()
	objects := items(t, printed(t, everything(), bootstrap.JSON))
	readers := verbsOf(t, objects["ClusterRole docket:reports-view"])
	maps.Copy(readers, verbsOf(t, objects["ClusterRole docket:ephemeral-reports-view"]))
	writers := verbsOf(t, objects["ClusterRole docket:reports-writer"])
	for _, kind := range registry.Kinds() {
		version, resource := kind.GroupVersion(), kind.GroupResource().String()
		var service apiService
		convert(t, objects["APIService "+version.Version+"."+version.Group], &service)
		want := apiServiceSpec{version.Group, version.Version, bootstrap.GroupPriorityMinimum, bootstrap.VersionPriority}
		if service.Spec != want {
			t.Errorf("%s: APIService %+v, want %+v", resource, service.Spec, want)
		}
		read := []string{"get", "list", "watch"}
		testkit.NoDiff(t, cmp.Diff(read, readers[resource]), "%s: verbs of those who read (-want +got)", resource)
		write := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
		if version.Group == "reports.kyverno.io" {
			write = nil
		}
		testkit.NoDiff(t, cmp.Diff(write, writers[resource]), "%s: verbs of those who write (-want +got)", resource)
	}
}

type apiService struct {
	Spec apiServiceSpec `json:"spec"`
}

type apiServiceSpec struct {
	Group                string `json:"group"`
	Version              string `json:"version"`
	GroupPriorityMinimum int    `json:"groupPriorityMinimum"`
	VersionPriority      int    `json:"versionPriority"`
}

// verbsOf returns the verbs of a role by resource and group.
func verbsOf(t *testing.T, role any) map[string][]string {
	t.Helper()
	var typed rbacv1.ClusterRole
	convert(t, role, &typed)
	verbs := map[string][]string{}
	for _, rule := range typed.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				verbs[schema.GroupResource{Group: group, Resource: resource}.String()] = rule.Verbs
			}
		}
	}
	return verbs
}

func convert(t *testing.T, object, into any) {
	t.Helper()
	fields, ok := object.(map[string]any)
	if !ok {
		t.Fatalf("no object for %T", into)
	}
	testkit.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into))
}

// TestGroups: groups that were not chosen are nowhere, and nothing that is left over
// for them.
func TestGroups(t *testing.T) {
	t.Parallel()
	for _, chosen := range bootstrap.Groups() {
		p := everything()
		p.Groups = []string{chosen, chosen}
		text := string(printed(t, p, bootstrap.YAML))
		for _, group := range bootstrap.Groups() {
			if strings.Contains(text, group) != (group == chosen) {
				t.Errorf("chosen %s: %s in the List is %t", chosen, group, group != chosen)
			}
		}
		if strings.Contains(text, "rules: null") || strings.Contains(text, "rules: []") {
			t.Errorf("chosen %s: a role without rules", chosen)
		}
		if got := strings.Count(text, "kind: APIService\n"); got != 1 {
			t.Errorf("chosen %s: %d APIServices, want 1", chosen, got)
		}
	}
}

func TestNothingInsecure(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]bootstrap.Parameters{"with an authority": everything(), "without": bootstrap.NewParameters()} {
		text := string(printed(t, p, bootstrap.YAML))
		if found := regexp.MustCompile(`(?i)insecure|kind: Secret|PRIVATE KEY`).FindString(text); found != "" {
			t.Errorf("%s: %q is in the List", name, found)
		}
		if got, want := strings.Count(text, "caBundle: "), len(bootstrap.Groups()); p.CABundle != nil && got != want || p.CABundle == nil && got != 0 {
			t.Errorf("%s: %d objects with a caBundle", name, got)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*bootstrap.Parameters)
		want   []string // parts of the error
	}{
		"no group":        {func(p *bootstrap.Parameters) { p.Groups = nil }, []string{"choose from", "wgpolicyk8s.io"}},
		"unknown group":   {func(p *bootstrap.Parameters) { p.Groups = []string{"apps"} }, []string{`"apps"`, "wgpolicyk8s.io"}},
		"namespace":       {func(p *bootstrap.Parameters) { p.Namespace = "a/b" }, []string{"namespace: ", `"a/b"`}},
		"no namespace":    {func(p *bootstrap.Parameters) { p.Namespace = "" }, []string{"namespace: "}},
		"service":         {func(p *bootstrap.Parameters) { p.Service = "Docket" }, []string{"service: ", `"Docket"`}},
		"port":            {func(p *bootstrap.Parameters) { p.HTTPSPort = 0 }, []string{"https-port: ", "between 1 and 65535"}},
		"all at once":     {func(p *bootstrap.Parameters) { *p = bootstrap.Parameters{} }, []string{"namespace", "service", "https-port", "choose from"}},
		"injected object": {func(p *bootstrap.Parameters) { p.Service = "a\nkind: Secret" }, []string{"service: "}},
	} {
		p := everything()
		test.change(&p)
		_, err := bootstrap.Print(p, bootstrap.YAML)
		for _, part := range test.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q in it", name, err, part)
			}
		}
	}
}

// TestFurther: group versions of definitions get the APIServices that reports get, and nothing else.
func TestFurther(t *testing.T) {
	t.Parallel()
	p := everything()
	want := items(t, printed(t, p, bootstrap.JSON))
	for _, version := range []string{"v1", "v1beta1"} {
		p.Further = append(p.Further, schema.GroupVersion{Group: "example.com", Version: version})
		like := string(testkit.Must(json.Marshal(want["APIService v1.reports.kyverno.io"]))(t))
		like = strings.ReplaceAll(strings.ReplaceAll(like, "reports.kyverno.io", "example.com"), `"v1`, `"`+version)
		want["APIService "+version+".example.com"] = decode(t, []byte(strings.ReplaceAll(like, `apiregistration.k8s.io/`+version, "apiregistration.k8s.io/v1")))
	}
	p.Groups = append(p.Groups, "example.com")
	testkit.NoDiff(t, cmp.Diff(want, items(t, printed(t, p, bootstrap.JSON))), "with further group versions (-want +got)")
	p.Groups = []string{"openreports.io"}
	if text := string(printed(t, p, bootstrap.YAML)); strings.Contains(text, "example.com") {
		t.Error("a group that was not chosen is registered")
	}
}
