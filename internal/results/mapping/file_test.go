// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
)

// TestWrongFiles: each error names the file, where in it, and what would be right.
func TestWrongFiles(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"syntax":       {"item.policy", "item.policy +", "file.yaml: mapping 1 (findings.example.com): line 13: results[0].policy: column 14: Syntax error: mismatched input '<EOF>'"},
		"unquoted":     {"\"'Example'\"", "Example", "line 7: source: column 1: undeclared reference to 'Example' (in container ''); use CEL with object and item, such as item.name, and quote texts: 'a text'"},
		"item outside": {"object.spec.pod", "item.pod", "line 10: subject.name: item is not known here; use object, or give the field among those of results"},
		"item of all":  {"object.items", "item.items", "line 12: results[0].items: item is not known here"},
		"list":         {"item.policy", "{a: b}", "file.yaml: line 13: must be an expression in CEL, or a list of them; quote what YAML takes for something else"},
		"empty text":   {"item.policy", `""`, "file.yaml: line 13: must be an expression in CEL"},
		"field":        {"    policy: item.policy", "    police: item.policy", "file.yaml: line 13: field police not found in type results; docs/produce/result-mappings.md has the fields"},
		"at the top":   {"mappings:", "mapping:", "file.yaml: line 1: field mapping not found in type the file"},
		"not YAML":     {"mappings:", "mappings: ]", "file.yaml: did not find expected node content"},
		"no mapping":   {example, "mappings: []", "file.yaml: there is no mapping in it; give a list of them as mappings"},
		"no list":      {example, "mappings: 5", "file.yaml: line 1: cannot unmarshal !!int `5` into a list of mappings"},
		"empty":        {example, "", "file.yaml: there is no mapping in it"},
		"a null":       {example, "mappings: [null]", "file.yaml: mapping 1 is empty"},
		"a null block": {example, example[:strings.Index(example, "  - items")] + "  - null", "results[0]: is empty; give items, policy and result"},
		"no items":     {"items: object.items", "rule: item.rule", "results[0].items: is missing; give an expression in CEL"},
		"no policy":    {"policy: item.policy", "rule: item.rule", "results[0].policy: is missing; give an expression in CEL"},
		"no result":    {"result: item.result", "rule: item.rule", "results[0].result: is missing; give an expression in CEL"},
		"no results":   {example, example[:strings.Index(example, "  results")], "results: is missing; say where the results are"},
		"no kind":      {"  kind: Finding", "  # no kind", "mapping 1 (findings.example.com): kind: is missing; give it as in the CustomResourceDefinition, such as Finding"},
		"a group":      {"example.com", "Example/com", `group: "Example/com" is no name; give it as in the CustomResourceDefinition, such as example.com`},
		"scope":        {"Namespaced", "namespaced", `scope: "namespaced" is neither Namespaced nor Cluster`},
		"too long":     {"item.policy", "item.policy == '" + strings.Repeat("x", maxExpression) + "'", "expression code point size exceeds limit"},
		"too large":    {"mappings:", "#" + strings.Repeat("x", maxFile) + "\nmappings:", "a file of mappings has at most 1048576"},
	} {
		if _, err := parse(compiler{}, "file.yaml", []byte(strings.Replace(example, test.old, test.new, 1))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, test.want)
		}
	}
	// All that is wrong is said at once.
	_, err := parse(compiler{}, "file.yaml", []byte(strings.ReplaceAll(example, "item.", "itme.")))
	if err == nil || strings.Count(err.Error(), "file.yaml: mapping 1 (findings.example.com): line 1") != 2 {
		t.Errorf("of two mistakes it says %v", err)
	}
}

// FuzzMapping: no file and no object makes anything but an error, or results as reports have them.
func FuzzMapping(f *testing.F) {
	f.Add(example, `{"items":[{"policy":"p","result":"fail"}]}`)
	f.Add(string(trivy), `{"report":{"checks":[{"checkID":"a","severity":"LOW","success":true}]}}`)
	f.Add("mappings:\n- &a {results: [*a]}", "{}")
	f.Add(strings.ReplaceAll(example, "object.items", "object"), "[]")
	f.Fuzz(func(t *testing.T, file, body string) {
		mappings, err := parse(compiler{}, "file.yaml", []byte(file))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file.yaml: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for _, m := range mappings {
			object := &stored{body: []byte(body)}
			results := m.Report(object).GetResults()
			for _, r := range results {
				if r.Policy == "" || report.Count([]report.Result{r}) == (report.Counts{}) {
					t.Errorf("%s has the result %+v", body, r)
				}
			}
		}
	})
}
