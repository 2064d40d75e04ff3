// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Printer writes findings in the formats of tools that show them beside the files.
type Printer struct {
	Findings *Findings
	// Policies are the objects of those policies that come from files.
	Policies map[policy.Identity]manifest.Object
	// Folder is the absolute path that paths in the output are relative to.
	Folder string
	// Version is the program's own.
	Version string
	// FailOn is the lowest severity at which a failure is one for GitHub, and not a warning; empty for info.
	FailOn report.Severity
}

// relative returns a path relative to the folder, with forward slashes; a path outside the folder becomes
// absolute. It returns "" for "".
func (p Printer) relative(path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Folder, path)
	}
	if inside, err := filepath.Rel(p.Folder, path); err == nil && filepath.IsLocal(inside) {
		path = inside
	}
	return filepath.ToSlash(path)
}

// uri returns a path as a URI: relative to the folder, or a file URI.
func (p Printer) uri(path string) string {
	path = p.relative(path)
	if path == "" || !filepath.IsAbs(filepath.FromSlash(path)) {
		return (&url.URL{Path: path}).String()
	}
	// The path of a volume, such as C:/x, has no slash in front.
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
}

// ruleName is the policy and, if it has one, the rule.
func (f Finding) ruleName() string {
	if f.Rule == "" {
		return f.Policy.String()
	}
	return f.Policy.String() + "/" + f.Rule
}

// subjectName is kind/name or kind/namespace/name.
func (f Finding) subjectName() string {
	return policy.Identity{Kind: f.Subject.Kind, Namespace: f.Subject.Namespace, Name: f.Subject.Name}.String()
}

// isProblem is false for what passes or was not evaluated.
func (f Finding) isProblem() bool {
	return f.Outcome != report.OutcomePass && f.Outcome != report.OutcomeSkip
}

// The levels of findings, as SARIF names them.
const (
	levelError   = "error"
	levelWarning = "warning"
	levelNote    = "note"
)

// levels are those of severities; without a severity, it is an error.
var levels = map[report.Severity]string{
	report.SeverityMedium: levelWarning, report.SeverityLow: levelNote, report.SeverityInfo: levelNote,
}

// level follows the severity: it is at most a warning if the finding does not count, and an error if nothing was
// evaluated.
func (f Finding) level(counts bool) string {
	level := cmp.Or(levels[f.Severity], levelError)
	switch {
	case f.Outcome == report.OutcomeError:
		return levelError
	case level == levelError && (f.Outcome == report.OutcomeWarn || !counts):
		return levelWarning
	default:
		return level
	}
}

// text is the message without control characters; its line breaks stay.
func (f Finding) text() string {
	lines := strings.Split(strings.TrimSpace(f.Message), "\n")
	for i, line := range lines {
		lines[i] = OneLine(line)
	}
	return cmp.Or(strings.Join(lines, "\n"), string(f.Outcome))
}
