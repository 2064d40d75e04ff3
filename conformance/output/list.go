// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/docket-project/docket/conformance/runner"
)

//go:embed checks.md.tmpl
var page string

// The formats of [List].
const (
	ListText     = "text"
	ListJSON     = "json"
	ListMarkdown = "markdown"
)

// ListFormats returns them.
func ListFormats() []string { return []string{ListText, ListJSON, ListMarkdown} }

// List writes what the checks are, in a format.
func List(w io.Writer, checks []runner.Check, format string) error {
	switch format {
	case ListJSON:
		checks = slices.Clone(checks)
		for i := range checks {
			checks[i].Verbs = append([]string{}, checks[i].Verbs...) // [] if there are none.
		}
		return writeJSON(w, checks)
	case ListMarkdown:
		return Markdown(w, checks)
	default:
		return listText(w, checks)
	}
}

// listText writes a table of identifiers and rules for each area.
func listText(w io.Writer, checks []runner.Check) error {
	width := 0
	for i := range checks {
		width = max(width, len(checks[i].ID))
	}
	var out strings.Builder
	for i, area := range areasOf(checks) {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(area.Name + "\n")
		for _, check := range area.Checks {
			fmt.Fprintf(&out, "  %-*s  %s\n", width, check.ID, check.Rule)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// area is a title, and the checks below it.
type area struct {
	Name   string
	Checks []*runner.Check
}

// areasOf returns the areas in the order in which they come first.
func areasOf(checks []runner.Check) []*area {
	var areas []*area
	known := map[string]*area{}
	for i := range checks {
		name := checks[i].Area
		if known[name] == nil {
			known[name] = &area{Name: name}
			areas = append(areas, known[name])
		}
		known[name].Checks = append(known[name].Checks, &checks[i])
	}
	return areas
}

// Markdown writes the page docs/reference/conformance-checks.md.
func Markdown(w io.Writer, checks []runner.Check) error {
	functions := template.FuncMap{"anchor": anchor, "plain": plain}
	parsed, err := template.New("checks.md").Funcs(functions).Parse(page)
	if err != nil {
		return fmt.Errorf("read the template of the page: %w", err)
	}
	return parsed.Execute(w, map[string]any{"Count": len(checks), "Areas": areasOf(checks)})
}

// anchor is the one that Markdown viewers give a heading.
func anchor(heading string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		default:
			return -1
		}
	}
	return strings.Map(keep, strings.ToLower(heading))
}

// plain escapes text so that it is not taken for Markdown, except between backquotes.
func plain(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", "&lt;", "*", `\*`, "[", `\[`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
