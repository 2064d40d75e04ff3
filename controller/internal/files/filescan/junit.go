// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
	junitCounts
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	File string `xml:"file,attr,omitempty"`
	junitCounts
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	Properties []junitProperty `xml:"property"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Failure   *junitProblem `xml:"failure"`
	Error     *junitProblem `xml:"error"`
	Skipped   *junitSkipped `xml:"skipped"`
	// Out holds warnings: JUnit has none.
	Out string `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	// Type is the severity of the policy, if it has one.
	Type string `xml:"type,attr,omitempty"`
	Text string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr,omitempty"`
}

// PrintJUnit writes all kept findings as JUnit XML: a suite for each policy, and a test case for each rule and
// resource. Policies without results have an empty suite.
func (p Printer) PrintJUnit(w io.Writer) error {
	suites := junitSuites{Name: "docket-controller scan", junitCounts: countsOf(p.Findings.Total())}
	index := map[policy.Identity]int{}
	for i, one := range p.Findings.Counts() {
		index[one.Policy] = i
		suites.Suites = append(suites.Suites, p.junitSuite(one))
	}
	for _, finding := range p.Findings.Kept() {
		suite := &suites.Suites[index[finding.Policy]]
		suite.Cases = append(suite.Cases, p.junitCase(finding))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (p Printer) junitSuite(one PolicyCounts) junitSuite {
	suite := junitSuite{Name: one.Policy.String(), junitCounts: countsOf(one.Counts)}
	if object, ok := p.Policies[one.Policy]; ok && object.Place.File != "" {
		suite.File = p.relative(object.Place.File)
		suite.Properties = &junitProperties{[]junitProperty{{"line", fmt.Sprint(object.Place.Line)}}}
	}
	return suite
}

func (p Printer) junitCase(finding Finding) junitCase {
	one := junitCase{
		Name: finding.subjectName(), Classname: finding.ruleName(),
		File: p.relative(finding.Place.File), Line: finding.Place.Line,
	}
	if one.File == "" {
		one.Line = 0
	}
	problem := &junitProblem{Message: OneLine(finding.Message), Type: string(finding.Severity), Text: finding.text()}
	switch finding.Outcome {
	case report.OutcomeFail:
		one.Failure = problem
	case report.OutcomeError:
		one.Error = problem
	case report.OutcomeSkip:
		one.Skipped = &junitSkipped{Message: OneLine(finding.Message)}
	case report.OutcomeWarn:
		one.Out = "warning: " + finding.text()
	case report.OutcomePass:
	}
	return one
}

func countsOf(c report.Counts) junitCounts {
	return junitCounts{
		Tests:    int(c.Pass + c.Fail + c.Warn + c.Error + c.Skip),
		Failures: int(c.Fail), Errors: int(c.Error), Skipped: int(c.Skip),
	}
}
