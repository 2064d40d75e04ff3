// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// Formats are those of [Write]; the first one is for people.
func Formats() []string { return []string{"text", "json", "junit"} }

// Write writes a report in one of the [Formats].
func Write(w io.Writer, report *runner.Report, format string, color bool) error {
	switch format {
	case "json":
		return JSON(w, report)
	case "junit":
		return JUnit(w, report)
	default:
		return Text(w, report, color)
	}
}

// Colored reports whether the output goes to somebody who sees colors and wants to (https://no-color.org).
func Colored(w io.Writer, lookupEnv func(string) (string, bool)) bool {
	unwanted, _ := lookupEnv("NO_COLOR")
	file, ok := w.(*os.File)
	return ok && unwanted == "" && term.IsTerminal(int(file.Fd()))
}

// The colors of terminals.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// Text writes a report for people: what failed, what could not be found out, what was left out and
// why, and in the last line the numbers.
func Text(w io.Writer, report *runner.Report, color bool) error {
	return writeText(w, report, color, buildinfo.Get().Version)
}

func writeText(w io.Writer, report *runner.Report, color bool, version string) error {
	p := printer{report: report, color: color}
	p.header(version)
	p.each(runner.Failed, "FAILED", red)
	p.each(runner.Undecided, "UNDECIDED", yellow)
	p.groups(groupsOf(p.report, runner.Undecided), "Undecided, and why:")
	p.troubles()
	p.groups(groupsOf(p.report, runner.Skipped), "Skipped, and why:")
	p.left()
	p.summary()
	_, err := io.WriteString(w, p.text.String())
	return err
}

type printer struct {
	report *runner.Report
	color  bool
	text   strings.Builder
}

func (p *printer) linef(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", args...)
}

func (p *printer) paint(color, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (p *printer) header(version string) {
	p.linef("%s", p.paint(bold, visible("docket conformance "+version+": "+p.report.GroupVersion+" at "+p.report.Server)))
	p.linef("Resources: %s", visible(strings.Join(p.report.Resources, ", ")))
}

// each writes the results of an outcome that have something to show.
func (p *printer) each(outcome runner.Outcome, label, color string) {
	for i := range p.report.Results {
		result := &p.report.Results[i]
		if result.Outcome == outcome && !grouped(result) {
			p.linef("\n%s %s\n%s", p.paint(color, label), p.paint(bold, visible(title(result))), strings.TrimRight(details(result), "\n"))
		}
	}
}

func (p *printer) troubles() {
	for _, trouble := range p.report.Troubles {
		p.linef("\n%s %s\n%s", p.paint(yellow, "TROUBLE"), p.paint(bold, visible(troubleTitle(trouble))), strings.TrimRight(troubleDetails(trouble), "\n"))
	}
}

func (p *printer) groups(groups []group, heading string) {
	if len(groups) == 0 {
		return
	}
	p.linef("\n%s", p.paint(bold, heading))
	for _, g := range groups {
		p.linef("  %s (%d)", visible(g.reason), g.count)
		if g.reason != notWanted {
			p.linef("%s", visible(strings.Join(g.lines(len(p.report.Resources) > 1), "\n")))
		}
	}
}

func (p *printer) left() {
	if len(p.report.Left) == 0 {
		return
	}
	p.linef("\n%s", p.paint(yellow, "Left behind. Remove it with"))
	for _, command := range leftCommands(p.report) {
		p.linef("  %s", visible(command))
	}
}

func (p *printer) summary() {
	if p.report.Interrupted {
		p.linef("\n%s", p.paint(yellow, "Interrupted: not all checks were run."))
	}
	part := func(outcome runner.Outcome, color string) string {
		count := p.report.Count(outcome)
		text := fmt.Sprintf("%d %s", count, outcome)
		if count == 0 {
			return text
		}
		return p.paint(color, text)
	}
	p.linef("\n%s, %s, %s, %d skipped in %.1f s",
		part(runner.Passed, green), part(runner.Failed, red), part(runner.Undecided, yellow),
		p.report.Count(runner.Skipped), p.report.Duration.Seconds())
}

// leftCommands are the commands that remove the objects left behind.
func leftCommands(report *runner.Report) []string {
	var commands []string
	for _, left := range report.Left {
		commands = append(commands, "kubectl delete "+left)
	}
	return commands
}
