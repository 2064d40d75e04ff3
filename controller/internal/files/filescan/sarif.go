// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/sarif"
)

// descriptionAnnotation is where Kyverno's policies say what they are for.
const descriptionAnnotation = "policies.kyverno.io/description"

// securitySeverity holds scores in the ranges by which GitHub sorts findings: critical above 9, high from 7,
// medium from 4, low above 0.
var securitySeverity = map[report.Severity]string{
	report.SeverityCritical: "9.5", report.SeverityHigh: "8.0", report.SeverityMedium: "5.5", report.SeverityLow: "2.0",
}

// PrintSARIF writes failures, warnings and errors as SARIF 2.1.0.
func (p Printer) PrintSARIF(w io.Writer) error {
	run := sarif.NewRun("docket-controller", p.Version)
	rules := map[string]int{}
	for _, finding := range p.Findings.Kept() {
		if !finding.isProblem() {
			continue
		}
		id := finding.ruleName()
		index, known := rules[id]
		if !known {
			index = len(run.Tool.Driver.Rules)
			rules[id] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, p.sarifRule(finding))
		}
		run.Results = append(run.Results, p.sarifResult(finding, index))
	}
	return sarif.Write(w, run)
}

// sarifRule describes the rule of a finding.
func (p Printer) sarifRule(finding Finding) sarif.Rule {
	short := finding.Policy.String()
	if finding.Rule != "" {
		short = "Rule " + finding.Rule + " of " + short
	}
	long := short
	if object, ok := p.Policies[finding.Policy]; ok {
		long = cmp.Or(strings.TrimSpace(object.GetAnnotations()[descriptionAnnotation]), short)
	}
	rule := sarif.Rule{ID: finding.ruleName(), ShortDescription: sarif.Text{Text: short}, FullDescription: &sarif.Text{Text: long}, Help: &sarif.Text{Text: long}}
	rule.Properties.Severity = string(finding.Severity)
	if score := securitySeverity[finding.Severity]; score != "" {
		rule.Properties.SecuritySeverity = score
		rule.Properties.Tags = []string{"security"} // Without it GitHub ignores the score.
	}
	return rule
}

func (p Printer) sarifResult(finding Finding, rule int) sarif.Result {
	subject := finding.subjectName()
	result := sarif.Result{
		RuleID: finding.ruleName(), RuleIndex: rule, Level: finding.level(true), Message: sarif.Text{Text: subject + ": " + finding.text()},
		Locations: []sarif.Location{{
			PhysicalLocation: p.sarifPlace(finding.Place.File, finding.Place.Line),
			LogicalLocations: []sarif.Logical{{Name: finding.Subject.Name, FullyQualifiedName: subject, Kind: "resource"}},
		}},
		PartialFingerprints: map[string]string{sarif.Fingerprint: finding.fingerprint()},
	}
	object := p.Policies[finding.Policy]
	if place := p.sarifPlace(object.Place.File, object.Place.Line); place != nil {
		result.RelatedLocations = []sarif.Location{{ID: 1, PhysicalLocation: place, Message: &sarif.Text{Text: "The policy"}}}
	}
	return result
}

// sarifPlace is nil for objects that don't come from a file.
func (p Printer) sarifPlace(file string, line int) *sarif.Physical {
	if file == "" {
		return nil
	}
	return &sarif.Physical{ArtifactLocation: sarif.Artifact{URI: p.uri(file)}, Region: sarif.Region{StartLine: line}}
}

// fingerprint does not change with the file, the line or the message.
func (f Finding) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.ruleName(), f.Subject.APIVersion, f.subjectName()}, "\n")))
	return hex.EncodeToString(sum[:])
}
