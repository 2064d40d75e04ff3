// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// ourModule is the path of the root module, and the beginning of the others' paths.
const ourModule = "github.com/docket-project/docket"

// goPackage is a package as go list describes it; test files do not count.
type goPackage struct {
	ImportPath string
	Imports    []string // direct
	Deps       []string // all
}

// ours returns the path below the root of the repository.
func ours(importPath string) (string, bool) {
	if importPath == ourModule {
		return ".", true
	}
	return strings.CutPrefix(importPath, ourModule+"/")
}

// check returns one sentence for every difference, in the order of the packages.
func check(t tables, packages []goPackage) []string {
	var problems []string
	covered := map[string]bool{}
	for _, p := range packages {
		path, isOurs := ours(p.ImportPath)
		if !isOurs {
			continue
		}
		row, found := rowFor(t.packages, path)
		if !found {
			problems = append(problems, path+": no row of the table covers this package")
			continue
		}
		covered[row.pattern] = true
		problems = append(problems, checkPackage(t, row, path, p)...)
	}
	for _, row := range t.packages {
		if !covered[row.pattern] {
			problems = append(problems, row.pattern+": this row of the table covers no package")
		}
	}
	return problems
}

// rowFor returns the row with the longest pattern that matches.
func rowFor(rows []packageRow, path string) (packageRow, bool) {
	var best packageRow
	for _, row := range rows {
		if matches(row.pattern, path) && (best.pattern == "" || weight(row.pattern) > weight(best.pattern)) {
			best = row
		}
	}
	return best, best.pattern != ""
}

// weight orders patterns that match the same path: the longest one counts, and the path itself before its subfolders.
func weight(pattern string) int {
	folder, below := strings.CutSuffix(pattern, "/...")
	if below {
		return 2 * len(folder)
	}
	return 2*len(pattern) + 1
}

// importersOf returns the row with the longest pattern that matches an import.
func importersOf(rows []importerRow, name string) (importerRow, bool) {
	var best importerRow
	for _, row := range rows {
		if matches(row.pattern, name) && (best.pattern == "" || weight(row.pattern) > weight(best.pattern)) {
			best = row
		}
	}
	return best, best.pattern != ""
}

func checkPackage(t tables, row packageRow, path string, p goPackage) []string {
	var problems []string
	for _, imported := range p.Imports {
		name, isOurs := ours(imported)
		if !isOurs {
			name = imported
		}
		if isOurs && !matchesAny(row.allowed, name) {
			problems = append(problems, fmt.Sprintf("%s imports %s: row %s allows %s",
				path, name, row.pattern, orNothing(row.allowed)))
		}
		if sole, found := importersOf(t.importers, name); found && !matches(sole.pattern, path) && !matchesAny(sole.only, path) {
			problems = append(problems, fmt.Sprintf("%s imports %s: only %s may do that",
				path, name, orNothing(sole.only)))
		}
	}
	for _, dependency := range p.Deps {
		for _, never := range row.never {
			if matches(never, dependency) {
				problems = append(problems, fmt.Sprintf("%s depends on %s%s: row %s forbids %s",
					path, dependency, through(p, dependency), row.pattern, never))
			}
		}
	}
	return problems
}

// through reports whether a dependency is direct.
func through(p goPackage, dependency string) string {
	if slices.Contains(p.Imports, dependency) {
		return ""
	}
	return " through another package"
}

func orNothing(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing"
	}
	return strings.Join(patterns, ", ")
}
