// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const document = `
Text before.

| package | imports of ours | never depends on |
|---|---|---|
| ` + "`api/...`" + ` | – | ` + "`k8s.io/apiserver/...`" + ` |
| ` + "`store`, `other`" + ` | ` + "`engine`, `codec`" + ` | |
| ` + "`store/sqlite`" + ` | ` + "`engine`" + ` | |
| ` + "`engine`" + ` | – | ` + "`k8s.io/...`" + ` |
| ` + "`cmd`" + ` | anything | |

| import | only in |
|---|---|
| ` + "`sql.example/...`" + ` | ` + "`store/sqlite`" + ` |
| ` + "`sql.example/api`" + ` | ` + "`cmd`" + ` |
| ` + "`storetest`" + ` | |
`

func TestParseTables(t *testing.T) {
	t.Parallel()
	got := testkit.Must(parseTables([]byte(document)))(t)
	want := tables{
		packages: []packageRow{
			{"api/...", nil, []string{"k8s.io/apiserver/..."}},
			{"store", []string{"engine", "codec"}, nil},
			{"other", []string{"engine", "codec"}, nil},
			{"store/sqlite", []string{"engine"}, nil},
			{"engine", nil, []string{"k8s.io/..."}},
			{"cmd", []string{"anything"}, nil},
		},
		importers: []importerRow{
			{"sql.example/...", []string{"store/sqlite"}},
			{"sql.example/api", []string{"cmd"}},
			{"storetest", nil},
		},
	}
	testkit.NoDiff(t, cmp.Diff(want, got, cmp.AllowUnexported(tables{}, packageRow{}, importerRow{})), "(-want +got)")
}

func TestParseTablesRefusesDamage(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string]string{
		"no tables":         "nothing here",
		"a missing cell":    strings.Replace(document, "| anything | |", "| anything |", 1),
		"a missing package": strings.Replace(document, "`cmd`", "cmd", 1),
		"one table only":    document[:strings.Index(document, "| import |")],
	} {
		if _, err := parseTables([]byte(damaged)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"internal/store", "internal/store", true},
		{"internal/store", "internal/store/sqlite", false},
		{"internal/store", "internal/storetest", false},
		{"internal/store/...", "internal/store", true},
		{"internal/store/...", "internal/store/sqlite/x", true},
		{"internal/store/...", "internal/storetest", false},
		{"internal/*test", "internal/enginetest", true},
		{"internal/*test", "internal/store/enginetest", false},
		{"k8s.io/api", "k8sXio/api", false},
		{"anything", "internal/store", true},
	} {
		if got := matches(test.pattern, test.path); got != test.want {
			t.Errorf("matches(%q, %q) = %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	parsed := testkit.Must(parseTables([]byte(document)))(t)
	// good has a package for every row and no differences.
	good := []goPackage{
		{ImportPath: ourModule + "/api/v1", Deps: []string{"k8s.io/apimachinery/pkg/runtime"}},
		{ImportPath: ourModule + "/store", Imports: []string{ourModule + "/engine", "fmt"}},
		{ImportPath: ourModule + "/other"},
		{ImportPath: ourModule + "/store/sqlite", Imports: []string{"sql.example/driver"}},
		{ImportPath: ourModule + "/engine", Imports: []string{"context"}, Deps: []string{"context"}},
		{ImportPath: ourModule + "/cmd", Imports: []string{ourModule + "/store/sqlite"}},
	}
	for _, test := range []struct {
		name    string
		changed goPackage // takes the place of the package with its path, or comes last
		want    []string
	}{
		{"as it should be", good[0], nil},
		{
			"an import of ours that is not allowed",
			goPackage{ImportPath: ourModule + "/store", Imports: []string{ourModule + "/store/sqlite"}},
			[]string{"store imports store/sqlite: row store allows engine, codec"},
		},
		{
			"the longest pattern decides",
			goPackage{ImportPath: ourModule + "/store/sqlite", Imports: []string{ourModule + "/codec"}},
			[]string{"store/sqlite imports codec: row store/sqlite allows engine"},
		},
		{
			"a forbidden dependency behind another",
			goPackage{ImportPath: ourModule + "/engine", Imports: []string{"x"}, Deps: []string{"k8s.io/klog", "x"}},
			[]string{"engine depends on k8s.io/klog through another package: row engine forbids k8s.io/..."},
		},
		{
			"a second importer",
			goPackage{ImportPath: ourModule + "/cmd", Imports: []string{"sql.example", ourModule + "/storetest"}},
			[]string{
				"cmd imports sql.example: only store/sqlite may do that",
				"cmd imports storetest: only nothing may do that",
			},
		},
		{
			"the longest pattern decides who may import",
			goPackage{ImportPath: ourModule + "/store/sqlite", Imports: []string{"sql.example/driver", "sql.example/api"}},
			[]string{"store/sqlite imports sql.example/api: only cmd may do that"},
		},
		{
			"an exception to a row",
			goPackage{ImportPath: ourModule + "/cmd", Imports: []string{"sql.example/api"}},
			nil,
		},
		{
			"a package without a row",
			goPackage{ImportPath: ourModule + "/new"},
			[]string{"new: no row of the table covers this package"},
		},
		{
			"the root package",
			goPackage{ImportPath: ourModule},
			[]string{".: no row of the table covers this package"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testkit.NoDiff(t, cmp.Diff(test.want, check(parsed, with(good, test.changed))), "(-want +got)")
		})
	}
	t.Run("a row without a package", func(t *testing.T) {
		t.Parallel()
		want := []string{"api/...: this row of the table covers no package"}
		testkit.NoDiff(t, cmp.Diff(want, check(parsed, good[1:])), "(-want +got)")
	})
}

func with(packages []goPackage, changed goPackage) []goPackage {
	var all []goPackage
	replaced := false
	for _, p := range packages {
		if p.ImportPath == changed.ImportPath {
			p, replaced = changed, true
		}
		all = append(all, p)
	}
	if !replaced {
		all = append(all, changed)
	}
	return all
}

func TestListSeesThisPackage(t *testing.T) {
	t.Parallel()
	packages := testkit.Must(list(t.Context(), "."))(t)
	if len(packages) != 1 || packages[0].ImportPath != ourModule+"/internal/tools/depcheck" {
		t.Errorf("list(.) = %v", packages)
	}
}

func TestDocumentHasTheTables(t *testing.T) {
	t.Parallel()
	data := testkit.Must(os.ReadFile("../../../" + tablesFile))(t)
	if _, err := parseTables(data); err != nil {
		t.Error(err)
	}
}

func TestRunWantsAModule(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "--module") {
		t.Errorf("run without flags: %v", err)
	}
}
