// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// TableOptions say how a table looks.
type TableOptions struct {
	// Width is the width of the terminal, at which messages are wrapped; 0 wraps nothing.
	Width int
	// Color is set for a terminal that shows colors.
	Color bool
}

// colors are those of outcomes, as parameters of the terminal's sequence SGR.
var colors = map[report.Outcome]string{
	report.OutcomeFail: "31", report.OutcomeError: "31", report.OutcomeWarn: "33", report.OutcomePass: "32", report.OutcomeSkip: "36",
}

// outcomeWidth is the width of the longest outcome with its indentation. A space and the message follow.
const outcomeWidth = len("  error")

// PrintTable writes what was kept, by resource, and the numbers of the policies: of all, if all results are kept, or
// else of those that have findings.
func (f *Findings) PrintTable(w io.Writer, options TableOptions) error {
	kept := f.Kept()
	slices.SortStableFunc(kept, func(a, b Finding) int {
		return cmp.Or(compareSubjects(a.Subject, b.Subject), cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line))
	})
	// Flush returns the first error of the writer.
	buffered := bufio.NewWriter(w)
	var subject policy.Reference
	var place manifest.Place
	for i, finding := range kept {
		if i == 0 || finding.Subject != subject || finding.Place != place {
			subject, place = finding.Subject, finding.Place
			_, _ = buffered.WriteString(finding.heading() + "\n")
		}
		_, _ = buffered.WriteString(finding.lines(options) + "\n")
	}
	if len(kept) > 0 {
		_, _ = buffered.WriteString("\n")
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return f.printCounts(w)
}

// heading names the resource and its place.
func (f Finding) heading() string {
	if f.Place.File == "" {
		return f.subjectName()
	}
	return fmt.Sprintf("%s  %s:%d", f.subjectName(), OneLine(f.Place.File), f.Place.Line)
}

// lines is the outcome, the rule and the message, wrapped between words.
func (f Finding) lines(options TableOptions) string {
	return options.wrap(options.colored(f.Outcome, fmt.Sprintf("%-5s", f.Outcome)), outcomeWidth, f.ruleName()+": "+OneLine(f.Message))
}

// colored is a text in the color of an outcome.
func (o TableOptions) colored(outcome report.Outcome, text string) string {
	if code := colors[outcome]; o.Color && code != "" {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

// wrap is the first column, indented, and behind it a text, wrapped between words. Indent is how wide the two
// spaces and the column are.
func (o TableOptions) wrap(first string, indent int, behind string) string {
	var text strings.Builder
	text.WriteString("  " + first)
	column := indent
	for i, word := range strings.Fields(behind) {
		length := utf8.RuneCountInString(word)
		if i > 0 && o.Width > 0 && column+1+length > o.Width {
			text.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		}
		text.WriteString(" " + word)
		column += 1 + length
	}
	return text.String()
}

// printCounts writes the numbers of policies.
func (f *Findings) printCounts(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	row := func(name string, severity report.Severity, c report.Counts) {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", name, severity, c.Pass, c.Fail, c.Warn, c.Error, c.Skip)
	}
	fmt.Fprintln(table, "POLICY\tSEVERITY\tPASS\tFAIL\tWARN\tERROR\tSKIP")
	var hidden int64
	for _, one := range f.Counts() {
		if !f.all && one.Counts.Fail+one.Counts.Warn+one.Counts.Error == 0 {
			hidden++
			continue
		}
		row(one.Policy.String(), one.Severity, one.Counts)
	}
	row("TOTAL", "", f.Total())
	if err := table.Flush(); err != nil || hidden == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "%s without findings; --all shows all.\n", counted(hidden, "policy", "policies"))
	return err
}
