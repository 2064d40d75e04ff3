// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/docket-project/docket/api/report"
)

// The escaping of workflow commands, as in GitHub's toolkit (packages/core/src/command.ts).
var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// PrintGitHub writes failures, warnings and errors as workflow commands, which GitHub shows beside the changed lines.
func (p Printer) PrintGitHub(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	for _, finding := range p.Findings.Kept() {
		if !finding.isProblem() {
			continue
		}
		level := finding.level(atLeast(finding.Severity, cmp.Or(p.FailOn, report.SeverityInfo)))
		if level == levelNote {
			level = "notice"
		}
		var properties []string
		if file := p.relative(finding.Place.File); file != "" {
			properties = append(properties, "file="+githubProperty.Replace(file), fmt.Sprintf("line=%d", finding.Place.Line))
		}
		properties = append(properties, "title="+githubProperty.Replace(finding.ruleName()))
		// Flush returns the first error of the writer.
		_, _ = fmt.Fprintf(buffered, "::%s %s::%s\n", level, strings.Join(properties, ","),
			githubMessage.Replace(finding.subjectName()+": "+finding.text()))
	}
	return buffered.Flush()
}
