// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 3}}}
`

// changed returns the definition with texts replaced, pairwise.
func changed(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(widgets) }

func asFile(t *testing.T, name, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

func one(t *testing.T, data string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := testkit.Must(Read(asFile(t, "one.yaml", data)))(t)
	if len(all) != 1 {
		t.Fatalf("%d definitions", len(all))
	}
	return all[0]
}

// TestServed: a definition that was read has what kube-apiserver and its controllers add.
func TestServed(t *testing.T) {
	t.Parallel()
	crd := one(t, widgets)
	names := crd.Status.AcceptedNames
	if names.ListKind != "WidgetList" || names.Singular != "widget" || names.Plural != "widgets" || crd.Spec.Conversion.Strategy != "None" {
		t.Errorf("no defaults: %+v", crd)
	}
	exported := one(t, changed("  name: widgets.example.com", "  name: widgets.example.com\n  uid: a\n  resourceVersion: '7'\n  generation: 3\n"+
		"  creationTimestamp: '2026-01-02T03:04:05Z'\n  deletionTimestamp: '2026-01-02T03:04:05Z'\n  finalizers: [customresourcecleanup.apiextensions.k8s.io]")+
		"status: {acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: [v0]}\n")
	testkit.NoDiff(t, cmp.Diff(crd, exported), "as it is exported from a cluster")
	if len(crd.Status.Conditions) != 2 || len(crd.Status.StoredVersions) != 1 || crd.Status.StoredVersions[0] != "v1" {
		t.Errorf("status %+v", crd.Status)
	}
}

func TestReadFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, data := range map[string]string{
		"b.yaml": "# A comment.\n---\n" + widgets + "---\n" + changed("widgets", "gadgets", "Widget", "Gadget", "wd", "gd") + "---\n",
		"a.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
			`"metadata":{"name":"apples.example.com"},"spec":{"group":"example.com","names":{"plural":"apples","kind":"Apple"},"scope":"Cluster",` +
			`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}]}`,
		".hidden.yaml":      "no definition",
		"readme.md":         "no definition",
		"inner.yaml/c.yaml": "no definition",
	} {
		path := filepath.Join(folder, name)
		testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	var names []string
	all := testkit.Must(Read(folder))(t)
	for _, crd := range all {
		names = append(names, crd.Name)
	}
	if got := strings.Join(names, " "); got != "apples.example.com gadgets.example.com widgets.example.com" {
		t.Errorf("read %s", got)
	}
	testkit.NoError(t, CheckAll(all, []string{"wgpolicyk8s.io"}))
	if _, err := Read(folder, asFile(t, "other.yaml", widgets)); err == nil ||
		!strings.Contains(err.Error(), "b.yaml") || !strings.Contains(err.Error(), "other.yaml both give the definition widgets.example.com") {
		t.Errorf("given twice: %v", err)
	}
}

// TestRefused: errors name the file, the definition and the field, and say what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want []string
	}{
		"not YAML":        {"{{ .Values.x }}: [", []string{"document 1"}},
		"a list of texts": {"- a", []string{"no Kubernetes object"}},
		"another kind":    {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", []string{`Deployment "web" of "apps/v1" is no CustomResourceDefinition: remove it`}},
		"v1beta1":         {changed("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"), []string{"widgets.example.com: apiVersion", "state the definition in apiextensions.k8s.io/v1"}},
		"an unknown field": {changed("scope: Namespaced", "scopes: Namespaced"), []string{
			"widgets.example.com", `unknown field "spec.scopes"`, "correct or remove it",
		}},
		"a field twice":  {widgets + "  scope: Cluster\n", []string{"document 1", "scope"}},
		"too large":      {widgets + "# " + strings.Repeat("x", maxFileSize), []string{"larger than 3 MiB: split it"}},
		"beyond etcd":    {changed("type: integer", "type: integer, description: "+strings.Repeat("x", maxDefinitionSize)), []string{"widgets.example.com", "at most 1572864"}},
		"another name":   {changed("name: widgets", "name: gadgets"), []string{"gadgets.example.com", "metadata.name", `spec.names.plural+"."+spec.group`}},
		"not structural": {changed("type: object, properties: {size", "properties: {size"), []string{"openAPIV3Schema.properties[spec].type", "must not be empty"}},
		"a bad default":  {changed("default: 3", "default: x"), []string{"properties[size].default"}},
		"bad CEL":        {changed("default: 3", "x-kubernetes-validations: [{rule: 'self.foo('}]"), []string{"x-kubernetes-validations[0].rule"}},
		"costly CEL": {
			changed("size: {type: integer, default: 3}", "l: {type: array, items: {type: array, items: {type: string}}, x-kubernetes-validations: [{rule: 'self.all(a, self.all(b, a.all(c, b.all(d, c.contains(d)))))'}]}"),
			[]string{"estimated rule cost exceeds budget"},
		},
		"a bad column": {changed("    storage: true", "    storage: true\n    additionalPrinterColumns: [{name: S, type: text, jsonPath: .spec.size}]"), []string{"additionalPrinterColumns[0].type"}},
		"a selectable field that is not there": {
			changed("    storage: true", "    storage: true\n    selectableFields: [{jsonPath: .spec.colour}]"), []string{"selectableFields[0].jsonPath"},
		},
		"a group of Kubernetes": {changed("example.com", "example.k8s.io"), []string{"api-approved.kubernetes.io"}},
		"no pruning":            {changed("  scope:", "  preserveUnknownFields: true\n  scope:"), []string{"spec.preserveUnknownFields"}},
		"a webhook": {
			changed("  scope:", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://a.example'}}}\n  scope:"),
			[]string{"widgets.example.com: spec.conversion.strategy: no webhook is called", "keep this kind in etcd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(asFile(t, "wrong.yaml", c.data))
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range append(c.want, "wrong.yaml: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%.400s\nlacks %q", err, want)
				}
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a path that is missing was accepted")
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "*.yaml") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestCollisions: names are one for all definitions of a group, and groups that the server has by itself are taken.
func TestCollisions(t *testing.T) {
	t.Parallel()
	gadgets := func(pairs ...string) string {
		return strings.NewReplacer(pairs...).Replace(changed("widgets", "gadgets", "Widget", "Gadget", "wd", "gd"))
	}
	for name, c := range map[string]struct{ second, want string }{
		"short name":         {gadgets("gd", "wd"), `widgets.example.com and gadgets.example.com: spec.names.shortNames: both have the name "wd"`},
		"short and plural":   {gadgets("gd", "widgets"), `spec.names.shortNames: both have the name "widgets"`},
		"singular":           {gadgets("kind: Gadget", "kind: Gadget, singular: wd"), `spec.names.singular: both have the name "wd"`},
		"kind":               {gadgets("kind: Gadget", "kind: Widget, listKind: GadgetList, singular: gadget"), `spec.names.kind: both have the name "Widget"`},
		"list and kind":      {gadgets("kind: Gadget", "kind: WidgetList, listKind: Gadgets"), `spec.names.kind: both have the name "WidgetList"`},
		"nothing":            {gadgets(), ""},
		"other groups":       {strings.ReplaceAll(gadgets("gd", "wd"), "example.com", "other.com"), ""},
		"a group of reports": {strings.ReplaceAll(gadgets(), "example.com", "openreports.io"), "gadgets.openreports.io: spec.group: this server serves openreports.io by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckAll([]*apiextensionsv1.CustomResourceDefinition{one(t, widgets), one(t, c.second)}, []string{"openreports.io"})
			if c.want == "" {
				testkit.NoError(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestUpdates: what kube-apiserver refuses when a definition changes is refused.
func TestUpdates(t *testing.T) {
	t.Parallel()
	second := `  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}` + "\n"
	for name, c := range map[string]struct{ newer, want string }{
		"nothing":                    {widgets, ""},
		"a field":                    {changed("size:", "colour: {type: string}, size:"), ""},
		"a version":                  {changed("storage: true", "storage: false") + second, ""},
		"another scope":              {changed("Namespaced", "Cluster"), "spec.scope"},
		"another kind":               {changed("kind: Widget", "kind: Gizmo"), "spec.names.kind"},
		"without the stored version": {changed("name: v1", "name: v2"), "was previously a storage version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			older, newer := one(t, widgets), one(t, c.newer)
			older.UID, older.ResourceVersion = "a", "7"
			SetProven(older)
			err := CheckUpdate(newer, older)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "widgets.example.com") {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			testkit.NoError(t, err)
			want := "v1"
			if name == "a version" {
				want = "v1 v2"
			}
			if got := strings.Join(newer.Status.StoredVersions, " "); got != want {
				t.Errorf("objects may be stored in %s, want %s", got, want)
			}
			if unchanged := name == "nothing"; Proven(newer) != unchanged {
				t.Errorf("proven: %t, want %t", Proven(newer), unchanged)
			}
			testkit.NoError(t, Check(newer))
			if Proven(newer) {
				t.Error("proven because its file says so")
			}
		})
	}
}
