// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Headings of the tables in the document; the columns have these names and order.
const (
	packagesHeading  = "| package | imports of ours | never depends on |"
	importersHeading = "| import | only in |"
)

// anything in a cell stands for all packages.
const anything = "anything"

// tables is what the document says.
type tables struct {
	packages  []packageRow
	importers []importerRow
}

// packageRow covers the packages that match pattern and no longer pattern.
type packageRow struct {
	pattern string
	allowed []string // of ours
	never   []string // of others, direct or not
}

// importerRow says that only packages that match one of only may import pattern.
type importerRow struct {
	pattern string
	only    []string
}

func parseTables(document []byte) (tables, error) {
	var t tables
	rows, err := tableRows(document, packagesHeading)
	if err != nil {
		return tables{}, err
	}
	for _, cells := range rows {
		for _, pattern := range patterns(cells[0]) {
			t.packages = append(t.packages, packageRow{pattern, patterns(cells[1]), patterns(cells[2])})
		}
	}
	rows, err = tableRows(document, importersHeading)
	if err != nil {
		return tables{}, err
	}
	for _, cells := range rows {
		for _, pattern := range patterns(cells[0]) {
			t.importers = append(t.importers, importerRow{pattern, patterns(cells[1])})
		}
	}
	return t, nil
}

// tableRows returns the cells of the table that begins with the heading.
func tableRows(document []byte, heading string) ([][]string, error) {
	columns := strings.Count(heading, "|") - 1
	var rows [][]string
	inside := false
	for number, line := range strings.Split(string(document), "\n") {
		switch {
		case line == heading:
			inside = true
			continue
		case !inside:
			continue
		case !strings.HasPrefix(line, "|"):
			return rows, nil
		case strings.HasPrefix(line, "|--"):
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != columns || len(patterns(cells[0])) == 0 {
			return nil, fmt.Errorf("line %d: want %d cells, the first with a `package`: %s", number+1, columns, line)
		}
		rows = append(rows, cells)
	}
	if !inside {
		return nil, fmt.Errorf("no table with the heading %q", heading)
	}
	return rows, nil
}

var quoted = regexp.MustCompile("`([^`]+)`")

// patterns returns what stands in backquotes, and the word anything.
func patterns(cell string) []string {
	var found []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	if strings.TrimSpace(cell) == anything {
		found = append(found, anything)
	}
	return found
}

// matches reports whether path is the pattern's package. A pattern that ends with
// /... covers the package before it and all below, as in the go command; a star stands
// for a part of one path element, so that k8s.io/*client covers k8s.io/myclient.
func matches(pattern, path string) bool {
	if pattern == anything {
		return true
	}
	base, below := strings.CutSuffix(pattern, "/...")
	expression := strings.ReplaceAll(regexp.QuoteMeta(base), `\*`, `[^/]*`)
	if below {
		expression += "(/.*)?"
	}
	return regexp.MustCompile("^" + expression + "$").MatchString(path)
}

func matchesAny(patterns []string, path string) bool {
	for _, pattern := range patterns {
		if matches(pattern, path) {
			return true
		}
	}
	return false
}
