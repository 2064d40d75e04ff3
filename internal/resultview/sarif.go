// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

const (
	sarifSchema    = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	informationURI = "https://github.com/docket-project/docket"
)

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
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
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
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		LogicalLocations []sarifLogical `json:"logicalLocations"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// sarifWriter gathers what has to be looked at, and writes one document of it.
type sarifWriter struct {
	out   io.Writer
	run   sarifRun
	rules map[string]int
}

func newSARIF(out io.Writer) (Writer, error) {
	return &sarifWriter{out: out, rules: map[string]int{}, run: sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "docket", InformationURI: informationURI, Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}}, nil
}

// Write implements Writer. What passed or was skipped is no finding.
func (w *sarifWriter) Write(r *v1alpha1.PolicyResult) error {
	if !slices.Contains(Problems(), r.Result.Result) {
		return nil
	}
	id := strings.Join(slices.DeleteFunc([]string{r.Source, r.Policy, r.Rule}, func(s string) bool { return s == "" }), "/")
	index, known := w.rules[id]
	if !known {
		index = len(w.run.Tool.Driver.Rules)
		w.rules[id] = index
		w.run.Tool.Driver.Rules = append(w.run.Tool.Driver.Rules, sarifRule{id, sarifText{id}})
	}
	message := r.Message
	if message == "" {
		message = id + ": " + r.Result.Result
	}
	name := r.Subject.String()
	if name == "" {
		name = r.Report.Kind + "/" + r.Report.Name
	}
	sum := sha256.Sum256([]byte(id + "\x00" + name))
	w.run.Results = append(w.run.Results, sarifResult{
		RuleID: id, RuleIndex: index, Level: level(r), Message: sarifText{message},
		Locations:           []sarifLocation{{[]sarifLogical{{Name: name, FullyQualifiedName: name, Kind: "resource"}}}},
		PartialFingerprints: map[string]string{"policyAndResource/v1": hex.EncodeToString(sum[:])},
	})
	return nil
}

// level of a result: severities below medium are notes, as code scanning services show them.
func level(r *v1alpha1.PolicyResult) string {
	switch {
	case r.Result.Result == "warn" || r.Severity == "medium":
		return "warning"
	case r.Severity == "low" || r.Severity == "info":
		return "note"
	}
	return "error"
}

// Close implements Writer.
func (w *sarifWriter) Close() error {
	encoder := json.NewEncoder(w.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{w.run}})
}
