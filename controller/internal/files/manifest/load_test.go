// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// write makes files in a new folder; a name may have folders in it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// object is the YAML of a ConfigMap.
func object(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// names of the objects, with those of their folders cut off their origins.
func names(set manifest.Set, dir string) []string {
	var all []string
	for _, o := range set.Objects {
		all = append(all, o.GetKind()+" "+o.GetName()+" from "+strings.TrimPrefix(o.Origin, dir+"/"))
	}
	return all
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"one":                 {object("a"), []string{"ConfigMap a from f"}},
		"several":             {object("a") + "---\n" + object("b"), []string{"ConfigMap a from f: document 1", "ConfigMap b from f: document 2"}},
		"empty ones":          {"---\n---\n# nothing\n---\n" + object("a") + "---\n", []string{"ConfigMap a from f"}},
		"null":                {"null\n---\n" + object("a"), []string{"ConfigMap a from f: document 2"}},
		"comment at the mark": {object("a") + "--- # next\n" + object("b"), []string{"ConfigMap a from f: document 1", "ConfigMap b from f: document 2"}},
		"content at the mark": {"--- {apiVersion: v1, kind: A, metadata: {name: a}}\n--- {apiVersion: v1, kind: B, metadata: {name: b}}", []string{"A a from f: document 1", "B b from f: document 2"}},
		"end and directive":   {"%YAML 1.2\n---\n" + object("a") + "...\n" + object("b"), []string{"ConfigMap a from f: document 1", "ConfigMap b from f: document 2"}},
		"Windows":             {strings.ReplaceAll("\ufeff"+object("a")+"---\n"+object("b"), "\n", "\r\n"), []string{"ConfigMap a from f: document 1", "ConfigMap b from f: document 2"}},
		"dashes in a text":    {object("a") + "data:\n  x: |\n    ---\n    y\n", []string{"ConfigMap a from f"}},
		"JSON":                {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`, []string{"A a from f"}},
		"JSON after JSON":     {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"B","metadata":{"name":"b"}}`, []string{"A a from f: document 1", "B b from f: document 2"}},
		"flow style":          {"{apiVersion: v1, kind: A, metadata: {name: a}}\n---\n" + object("b"), []string{"A a from f: document 1", "ConfigMap b from f: document 2"}},
		"list":                {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n", []string{"A a from f", "B b from f"}},
		"typed list":          {"apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: a}}\n", []string{"Pod a from f"}},
		"null list":           {"apiVersion: v1\nkind: PodList\nmetadata: {}\nitems: null\n", nil},
		"list of nothing":     {"apiVersion: v1\nkind: List\nitems: []\n", nil},
		"kind ending in List": {"apiVersion: x/v1\nkind: AllowList\nmetadata:\n  name: a\nspec: {items: [x]}\n", []string{"AllowList a from f"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{"f": test.text})
			set := testkit.Must((&manifest.Loader{}).Load(filepath.Join(dir, "f")))(t)
			testkit.NoDiff(t, cmp.Diff(test.want, names(set, dir)), "objects (-want +got)")
		})
	}
}

// TestPlaces: the line of each document is that at which an editor shows its first field.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []int
	}{
		"one":                 {object("a"), []int{1}},
		"several":             {object("a") + "---\n" + object("b") + "---\n" + object("c"), []int{1, 6, 11}},
		"comments":            {"# a\n\n---\n# b\n\n" + object("a") + "# c\n---\n# d\n" + object("b"), []int{6, 13}},
		"empty ones":          {"---\n---\n# nothing\n---\n" + object("a") + "---\n\n---\n" + object("b"), []int{5, 12}},
		"content at the mark": {"# a\n--- {apiVersion: v1, kind: A, metadata: {name: a}}\n--- {apiVersion: v1, kind: B, metadata: {name: b}}", []int{2, 3}},
		"end and directive":   {"%YAML 1.2\n---\n" + object("a") + "...\n\n" + object("b"), []int{3, 9}},
		"Windows":             {strings.ReplaceAll("\ufeff"+object("a")+"---\n"+object("b"), "\n", "\r\n"), []int{1, 6}},
		"JSON":                {"\n\n{\"apiVersion\":\"v1\",\n\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"b\"}} {\"apiVersion\":\"v1\",\"kind\":\"C\",\"metadata\":{\"name\":\"c\"}}", []int{3, 6, 6}},
		"JSON and a mark":     {"{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"b\"}}\n", []int{1, 3}},
		"list":                {"\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n", []int{2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(write(t, map[string]string{"f": test.text}), "f")
			set := testkit.Must((&manifest.Loader{Stdin: strings.NewReader(test.text)}).Load(path))(t)
			var got []int
			for _, o := range set.Objects {
				if got = append(got, o.Place.Line); o.Place.File != path {
					t.Errorf("the file of %s is %q", o.GetName(), o.Place.File)
				}
			}
			testkit.NoDiff(t, cmp.Diff(test.want, got), "lines (-want +got)")
		})
	}
	set, err := (&manifest.Loader{Stdin: strings.NewReader("\n" + object("a"))}).Load(manifest.Stdin)
	if err != nil || set.Objects[0].Place != (manifest.Place{Line: 2}) {
		t.Errorf("from standard input: %+v, %v", set.Objects, err)
	}
}

func TestNumbersAreAsKubernetesHasThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {whole: 3, part: 0.5, large: 9007199254740993}\n",
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"whole":3,"part":0.5,"large":9007199254740993}}`,
	} {
		set := testkit.Must((&manifest.Loader{Stdin: strings.NewReader(text)}).Load("-"))(t)
		want := map[string]any{"whole": int64(3), "part": 0.5, "large": int64(9007199254740993)}
		testkit.NoDiff(t, cmp.Diff(want, set.Objects[0].Object["spec"]), "spec (-want +got)")
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"b.yaml": object("b"), "a.yml": object("a"), "sub/c.json": `{"apiVersion":"v1","kind":"A","metadata":{"name":"c"}}`,
		".hidden/d.yaml": object("d"), "README.md": "# no YAML: at: all", "values.yaml": "replicas: 3\n",
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [b.yaml]\n",
	})
	testkit.NoError(t, os.Symlink(filepath.Join(dir, ".hidden", "d.yaml"), filepath.Join(dir, "link.yaml")))
	set := testkit.Must((&manifest.Loader{}).Load(dir))(t)
	want := []string{"ConfigMap a from a.yml", "ConfigMap b from b.yaml", "ConfigMap d from link.yaml", "A c from sub/c.json"}
	testkit.NoDiff(t, cmp.Diff(want, names(set, dir)), "objects (-want +got)")
	if len(set.LeftOut) != 2 || !strings.Contains(set.LeftOut[0], "kustomize") || !strings.Contains(set.LeftOut[1], "values.yaml") {
		t.Errorf("left out %q", set.LeftOut)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"broken.yaml":    object("a") + "---\nkey: [\n",
		"nokind.yaml":    "apiVersion: v1\nmetadata: {name: a}\n",
		"scalar.yaml":    "just text\n",
		"noname.yaml":    "apiVersion: v1\nkind: A\nmetadata: {generateName: ''}\n",
		"boolean.yaml":   "apiVersion: v1\nkind: A\nmetadata: {name: no}\n",
		"helm.yaml":      object("a") + "---\n{{- range .Values.x }}\na: {{ . }}\n",
		"nometa.yaml":    "apiVersion: v1\nkind: A\n",
		"label.yaml":     object("a") + "  labels: {tier: 1}\n",
		"labels.yaml":    object("a") + "  labels: [x]\n",
		"namespace.yaml": object("a") + "  namespace: 7\n",
		"item.yaml":      "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: A, metadata: {}}\n",
		"item2.yaml":     "apiVersion: v1\nkind: List\nitems: [x]\n",
		"deep.yaml":      strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 9) + strings.Repeat("]}", 9),
		"json.json":      `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}`,
		"empty/x.txt":    "x",
		"inner/bad.yaml": "a: b: c\n",
	})
	for path, want := range map[string][]string{
		"broken.yaml": {"broken.yaml: document 2", "yaml"}, "nokind.yaml": {"kind is missing"}, "scalar.yaml": {"not a Kubernetes object"},
		"noname.yaml": {"noname.yaml: line 1: metadata.name", "generateName"}, "boolean.yaml": {"metadata.name: must be a string, not false; put it in quotes"}, "helm.yaml": {"document 2: line 6: looks like a Helm template: render it first"}, "nometa.yaml": {"metadata: is missing"},
		"label.yaml": {"metadata.labels[tier]", "quotes"}, "labels.yaml": {"metadata.labels: must be a map"},
		"namespace.yaml": {"metadata.namespace"}, "item.yaml": {"items[1]: metadata.name"}, "item2.yaml": {"items[0]"},
		"deep.yaml": {"nested too deeply"}, "json.json": {"json.json"}, "empty": {"empty", "no Kubernetes objects"},
		"inner": {"inner/bad.yaml"}, "absent.yaml": {"absent.yaml", "no such file"}, "-": {"standard input"},
		"https://me:secret@host/a.yaml": {"https://host: addresses are not read", "curl", "git clone"},
	} {
		full := filepath.Join(dir, path)
		if path == "-" || strings.Contains(path, "://") {
			full = path
		}
		_, err := (&manifest.Loader{}).Load(full)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, want %q in it", path, err, part)
			}
		}
	}
}

func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": object("a"), "b.yaml": object("b")})
	size := int64(len(object("a")))
	for _, test := range []struct {
		limits manifest.Limits
		want   string
	}{
		{manifest.Limits{File: size, Total: 2 * size}, ""},
		{manifest.Limits{File: size - 1, Total: 2 * size}, "split it"},
		{manifest.Limits{File: size, Total: 2*size - 1}, "all files together"},
	} {
		_, err := (&manifest.Loader{Limits: test.limits}).Load(dir)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.limits, err, test.want)
		}
	}
}

func TestStandardInputIsReadOnce(t *testing.T) {
	t.Parallel()
	loader := manifest.Loader{Stdin: strings.NewReader(object("a"))}
	if set, err := loader.Load("-"); err != nil || len(set.Objects) != 1 {
		t.Fatalf("%d objects, %v", len(set.Objects), err)
	}
	if _, err := loader.Load("-"); err == nil {
		t.Error("a second read of standard input has no error")
	}
}

// TestGoesOn: what can't be read has its place, and everything beside it is read.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.yaml": object("a") + "---\nkey: [\n---\napiVersion: v1\nkind: List\nitems: [x, {apiVersion: v1, kind: B, metadata: {name: b}}, {kind: C}]\n",
		"b.yaml": "\x00\x01\xff\n", "c.yaml": object("c"),
		"d.yaml": "apiVersion: v1\nkind: Job\nmetadata: {generateName: " + strings.Repeat("x", 60) + "}\n---\napiVersion: v1\nkind: Job\nmetadata: {generateName: j-}\n",
	})
	testkit.NoError(t, os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")))
	set := testkit.Must((&manifest.Loader{GoOn: true}).Load(dir, filepath.Join(dir, "c.yaml")))(t)
	want := []string{
		"ConfigMap a from a.yaml: document 1", "B b from a.yaml: document 3", "ConfigMap c from c.yaml",
		"Job " + strings.Repeat("x", 58) + "00001 from d.yaml: document 1", "Job j-00001 from d.yaml: document 2",
	}
	testkit.NoDiff(t, cmp.Diff(want, names(set, dir)), "objects (-want +got)")
	var got []string
	for _, unreadable := range set.Unreadable {
		got = append(got, fmt.Sprintf("%s:%d", strings.TrimPrefix(unreadable.Place.File, dir+"/"), unreadable.Place.Line))
	}
	testkit.NoDiff(t, cmp.Diff([]string{"loop.yaml:0", "a.yaml:6", "a.yaml:8", "a.yaml:8", "b.yaml:1"}, got), "unreadable (-want +got)")
}

func FuzzLoad(f *testing.F) {
	f.Add(object("a") + "---\n" + object("b"))
	f.Add(`{"apiVersion":"v1","kind":"List","items":[{"metadata":{}}]}`)
	f.Add("--- !!binary x\n...\n%")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := (&manifest.Loader{Stdin: strings.NewReader(text)}).Load("-")
		if err != nil {
			return
		}
		for _, o := range set.Objects {
			if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
				t.Errorf("an object without kind, version or name: %v", o.Object)
			}
		}
	})
}

// TestErrorsNameTheLineOfTheFile, also in a later document.
func TestErrorsNameTheLineOfTheFile(t *testing.T) {
	t.Parallel()
	const good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
	for text, want := range map[string]string{
		"a: b: c\n":                                         "yaml: mapping values",
		good + "---\na: b: c\n":                             "document 2: yaml: line 5:",
		good + "---\n# why\n\na: b\nc: d: e\n":              "line 8:",
		good + "...\n" + good + "--- # x\nc:\n - d: e: f\n": "line 10:",
	} {
		_, err := (&manifest.Loader{Stdin: strings.NewReader(text)}).Load(manifest.Stdin)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
