// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"slices"
	"strings"

	"github.com/docket-project/docket/conformance/runner"
)

// notWanted is the reason of checks that --skip or --only has left out: the caller knows which.
const notWanted = "not wanted"

// group is the results that have the same reason.
type group struct {
	reason string
	count  int
	ids    []string
	// resources are those of each id.
	resources map[string][]string
}

// grouped reports whether there is nothing to show of a result but its reason, which others share.
func grouped(result *runner.Result) bool {
	return result.Outcome != runner.Failed && result.Exchange == nil
}

// groupsOf gathers the results of an outcome by their reasons, in the order of the results, and what
// was not wanted at last.
func groupsOf(report *runner.Report, outcome runner.Outcome) []group {
	var groups []group
	for i := range report.Results {
		result := &report.Results[i]
		if result.Outcome != outcome || !grouped(result) {
			continue
		}
		at := slices.IndexFunc(groups, func(g group) bool { return g.reason == result.Reason })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{reason: result.Reason, resources: map[string][]string{}})
		}
		g, id := &groups[at], result.Check.ID
		g.count++
		if !slices.Contains(g.ids, id) {
			g.ids = append(g.ids, id)
		}
		if result.Resource != "" {
			g.resources[id] = append(g.resources[id], result.Resource)
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return rank(a) - rank(b) })
	return groups
}

func rank(g group) int {
	if g.reason == notWanted {
		return 1
	}
	return 0
}

// lines list the checks of a group; if there are several resources, each with those it is about.
func (g group) lines(withResources bool) []string {
	if !withResources {
		return wrapped("    ", g.ids)
	}
	var heads []string
	ids := map[string][]string{}
	for _, id := range g.ids {
		head := strings.Join(g.resources[id], ", ")
		if ids[head] == nil {
			heads = append(heads, head)
		}
		ids[head] = append(ids[head], id)
	}
	var lines []string
	for _, head := range heads {
		items := slices.Clone(ids[head])
		if head != "" {
			items[0] = head + ": " + items[0]
		}
		lines = append(lines, wrapped("    ", items)...)
	}
	return lines
}

// wrapped joins names to indented lines that are not too long.
func wrapped(indent string, names []string) []string {
	const width = 100
	lines, line := []string{}, indent
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != indent && len(line)+1+len(name) > width {
			lines, line = append(lines, line), indent
		}
		if line != indent {
			line += " "
		}
		line += name
	}
	return append(lines, line)
}
