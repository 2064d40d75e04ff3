// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"

	"github.com/docket-project/docket/api/report"
)

const (
	sarifSchema    = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	informationURI = "https://github.com/docket-project/docket"
	// fingerprint is the name of the hash of policy, rule and resource, by which a finding is recognised in
	// another run.
	fingerprint = "policyAndResource/v1"
	// descriptionAnnotation is where Kyverno's policies say what they are for.
	descriptionAnnotation = "policies.kyverno.io/description"
)

// securitySeverity holds scores in the ranges by which GitHub sorts findings: critical above 9, high from 7,
// medium from 4, low above 0.
var securitySeverity = map[report.Severity]string{
	report.SeverityCritical: "9.5", report.SeverityHigh: "8.0", report.SeverityMedium: "5.5", report.SeverityLow: "2.0",
}

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string              `json:"id"`
		ShortDescription sarifText           `json:"shortDescription"`
		FullDescription  sarifText           `json:"fullDescription"`
		Help             sarifText           `json:"help"`
		Properties       sarifRuleProperties `json:"properties,omitzero"`
	}
	sarifRuleProperties struct {
		Tags             []string `json:"tags,omitempty"`
		SecuritySeverity string   `json:"security-severity,omitempty"`
		Severity         string   `json:"severity,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		RelatedLocations    []sarifLocation   `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID               int            `json:"id,omitempty"`
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
		Message          *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// PrintSARIF writes failures, warnings and errors as SARIF 2.1.0.
func (p Printer) PrintSARIF(w io.Writer) error {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "docket-controller", Version: p.Version, InformationURI: informationURI, Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}
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
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifRule describes the rule of a finding.
func (p Printer) sarifRule(finding Finding) sarifRule {
	short := finding.Policy.String()
	if finding.Rule != "" {
		short = "Rule " + finding.Rule + " of " + short
	}
	long := short
	if object, ok := p.Policies[finding.Policy]; ok {
		long = cmp.Or(strings.TrimSpace(object.GetAnnotations()[descriptionAnnotation]), short)
	}
	rule := sarifRule{ID: finding.ruleName(), ShortDescription: sarifText{short}, FullDescription: sarifText{long}, Help: sarifText{long}}
	rule.Properties.Severity = string(finding.Severity)
	if score := securitySeverity[finding.Severity]; score != "" {
		rule.Properties.SecuritySeverity = score
		rule.Properties.Tags = []string{"security"} // Without it GitHub ignores the score.
	}
	return rule
}

func (p Printer) sarifResult(finding Finding, rule int) sarifResult {
	level := "error"
	if finding.Outcome == report.OutcomeWarn {
		level = "warning"
	}
	subject := finding.subjectName()
	result := sarifResult{
		RuleID: finding.ruleName(), RuleIndex: rule, Level: level, Message: sarifText{subject + ": " + finding.text()},
		Locations: []sarifLocation{{
			PhysicalLocation: p.sarifPlace(finding.Place.File, finding.Place.Line),
			LogicalLocations: []sarifLogical{{Name: finding.Subject.Name, FullyQualifiedName: subject, Kind: "resource"}},
		}},
		PartialFingerprints: map[string]string{fingerprint: finding.fingerprint()},
	}
	object := p.Policies[finding.Policy]
	if place := p.sarifPlace(object.Place.File, object.Place.Line); place != nil {
		result.RelatedLocations = []sarifLocation{{ID: 1, PhysicalLocation: place, Message: &sarifText{"The policy"}}}
	}
	return result
}

// sarifPlace is nil for objects that don't come from a file.
func (p Printer) sarifPlace(file string, line int) *sarifPhysical {
	if file == "" {
		return nil
	}
	return &sarifPhysical{sarifArtifact{p.uri(file)}, sarifRegion{line}}
}

// fingerprint does not change with the file, the line or the message.
func (f Finding) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.ruleName(), f.Subject.APIVersion, f.subjectName()}, "\n")))
	return hex.EncodeToString(sum[:])
}
