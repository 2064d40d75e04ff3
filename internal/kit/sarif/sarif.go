// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sarif has the parts of SARIF 2.1.0 that pass findings to code scanning services. The standard
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0) defines the names of fields.
package sarif

import (
	"encoding/json"
	"io"
)

const (
	schema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	version = "2.1.0"
	// InformationURI is where people read about our tools.
	InformationURI = "https://github.com/docket-project/docket"
	// Fingerprint names the hash of policy, rule and resource by which a finding is recognised in another run.
	Fingerprint = "policyAndResource/v1"
)

// The parts of a document, as the standard defines them.
type (
	log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []Run  `json:"runs"`
	}
	// Run is what one run of a tool found.
	Run struct {
		Tool    Tool     `json:"tool"`
		Results []Result `json:"results"`
	}
	// Tool that ran.
	Tool struct {
		Driver Driver `json:"driver"`
	}
	// Driver describes a tool, and the rules that it has.
	Driver struct {
		Name           string `json:"name"`
		Version        string `json:"version,omitempty"`
		InformationURI string `json:"informationUri"`
		Rules          []Rule `json:"rules"`
	}
	// Rule is what results refer to.
	Rule struct {
		ID               string         `json:"id"`
		ShortDescription Text           `json:"shortDescription"`
		FullDescription  *Text          `json:"fullDescription,omitempty"`
		Help             *Text          `json:"help,omitempty"`
		Properties       RuleProperties `json:"properties,omitzero"`
	}
	// RuleProperties are those that GitHub reads, and the severity as policies have it.
	RuleProperties struct {
		Tags             []string `json:"tags,omitempty"`
		SecuritySeverity string   `json:"security-severity,omitempty"`
		Severity         string   `json:"severity,omitempty"`
	}
	// Text is a message.
	Text struct {
		Text string `json:"text"`
	}
	// Result is a finding.
	Result struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             Text              `json:"message"`
		Locations           []Location        `json:"locations"`
		RelatedLocations    []Location        `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	// Location is a place in a file, a resource, or both.
	Location struct {
		ID               int       `json:"id,omitempty"`
		PhysicalLocation *Physical `json:"physicalLocation,omitempty"`
		LogicalLocations []Logical `json:"logicalLocations,omitempty"`
		Message          *Text     `json:"message,omitempty"`
	}
	// Physical is a place in a file.
	Physical struct {
		ArtifactLocation Artifact `json:"artifactLocation"`
		Region           Region   `json:"region"`
	}
	// Artifact is a file.
	Artifact struct {
		URI string `json:"uri"`
	}
	// Region is a line, from 1.
	Region struct {
		StartLine int `json:"startLine"`
	}
	// Logical is a resource.
	Logical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// NewRun returns a run of a tool without rules and results; version may be empty.
func NewRun(tool, version string) Run {
	return Run{Tool: Tool{Driver{Name: tool, Version: version, InformationURI: InformationURI, Rules: []Rule{}}}, Results: []Result{}}
}

// Write writes a document with one run.
func Write(w io.Writer, run Run) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(log{Schema: schema, Version: version, Runs: []Run{run}})
}
