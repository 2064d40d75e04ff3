// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// runClass is the class of test cases about the run itself.
const runClass = "Run"

type testSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	counts
	Suites []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name string `xml:"name,attr"`
	counts
	Timestamp  string     `xml:"timestamp,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
}

type counts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// JUnit writes a report as XML, as CI systems show it: a test case for each check and resource. What
// could not be found out is an error, as is all that went wrong with the run itself.
func JUnit(w io.Writer, report *runner.Report) error {
	return writeJUnit(w, report, buildinfo.Get().Version)
}

func writeJUnit(w io.Writer, report *runner.Report, version string) error {
	suite := testSuite{
		Name: visible(report.GroupVersion), Timestamp: report.Started.UTC().Format("2006-01-02T15:04:05"),
		Properties: []property{
			{"toolVersion", version},
			{"server", visible(report.Server)},
			{"resources", visible(strings.Join(report.Resources, ", "))},
		},
	}
	for i := range report.Results {
		suite.Cases = append(suite.Cases, caseOf(&report.Results[i]))
	}
	suite.Cases = append(suite.Cases, runCases(report)...)
	suite.counts = countsOf(suite.Cases, report.Duration)
	data, err := xml.MarshalIndent(testSuites{counts: suite.counts, Suites: []testSuite{suite}}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report as JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func caseOf(result *runner.Result) testCase {
	c := testCase{Class: visible(result.Check.Area), Name: visible(title(result)), Time: xmlSeconds(result.Duration)}
	switch result.Outcome {
	case runner.Passed:
	case runner.Failed:
		c.Failure = newProblem("expected "+result.Failure.Expected, "failed", details(result))
	case runner.Skipped:
		c.Skipped = newProblem(result.Reason, "", "")
	default:
		c.Error = newProblem(result.Reason, "undecided", details(result))
	}
	return c
}

// runCases are about what is wrong beyond single checks. There is none if all is well.
func runCases(report *runner.Report) []testCase {
	var cases []testCase
	add := func(name string, p *problem) {
		cases = append(cases, testCase{Class: runClass, Name: visible(name), Time: xmlSeconds(0), Error: p})
	}
	for _, trouble := range report.Troubles {
		add(troubleTitle(trouble), newProblem(trouble.Reason, "trouble", troubleDetails(trouble)))
	}
	if len(report.Left) > 0 {
		add("removal", newProblem("objects are left behind", "trouble", strings.Join(leftCommands(report), "\n")))
	}
	if report.Interrupted {
		add("completion", newProblem("interrupted: not all checks were run", "trouble", ""))
	}
	return cases
}

func newProblem(message, kind, text string) *problem {
	if text != "" {
		text = "\n" + text
	}
	return &problem{visible(message), kind, visible(text)}
}

func countsOf(cases []testCase, duration time.Duration) counts {
	c := counts{Tests: len(cases), Time: xmlSeconds(duration)}
	for i := range cases {
		switch one := &cases[i]; {
		case one.Failure != nil:
			c.Failures++
		case one.Error != nil:
			c.Errors++
		case one.Skipped != nil:
			c.Skipped++
		}
	}
	return c
}

func xmlSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
