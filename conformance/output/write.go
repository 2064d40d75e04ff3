// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/docket-project/docket/conformance/runner"
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
