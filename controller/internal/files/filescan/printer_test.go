// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/policytest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// printed scans the policies and pods of all outcomes, from files whose names need escaping, and returns what write
// writes. The pod with the name good is in a file outside the folder.
func printed(t *testing.T, write func(filescan.Printer, io.Writer) error) (text, outside string) {
	t.Helper()
	folder, elsewhere := t.TempDir(), t.TempDir()
	good, rest, _ := strings.Cut(podsOfAllOutcomes, "---\n")
	outside = filepath.Join(elsewhere, "good.yaml")
	for path, text := range map[string]string{
		filepath.Join(folder, "policies.yaml"): policiesOfAllOutcomes, filepath.Join(folder, "a: b, 100%.yaml"): rest, outside: good,
	} {
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	policies := load(t, filepath.Join(folder, "policies.yaml"))
	sorted := filescan.Sort(policies, "")
	compiled := filescan.Compile(policytest.Compiler{}, sorted.Policies, sorted.Exceptions)
	source := filescan.NewFiles(load(t, filepath.Join(folder, "a: b, 100%.yaml"), outside), filescan.FilesOptions{})
	printer := filescan.Printer{Findings: filescan.NewFindings(true), Policies: map[policy.Identity]manifest.Object{}, Folder: folder, Version: "v1.2.3"}
	for i, p := range compiled {
		printer.Policies[p.Identity()] = sorted.Policies[i]
	}
	testkit.NoError(t, filescan.Run(t.Context(), source, compiled, filescan.Options{Findings: printer.Findings}))
	var out bytes.Buffer
	testkit.NoError(t, write(printer, &out))
	return out.String(), outside
}

func load(t *testing.T, paths ...string) []manifest.Object {
	t.Helper()
	set := testkit.Must((&manifest.Loader{}).Load(paths...))(t)
	return set.Objects
}

// TestGitHub: the lines are those that GitHub's toolkit would write.
func TestGitHub(t *testing.T) {
	t.Parallel()
	got, outside := printed(t, filescan.Printer.PrintGitHub)
	want := `::warning file=a%3A b%2C 100%25.yaml,line=1,title=ClusterPolicy/advice/r::Pod/default/bad: the label tier is missing
::error file=a%3A b%2C 100%25.yaml,line=1,title=ClusterPolicy/owner/r1::Pod/default/bad: the label owner is missing
::error file=a%3A b%2C 100%25.yaml,line=1,title=ClusterPolicy/owner/r2::Pod/default/bad: the label owner is missing
::error file=` + outside + `,line=2,title=Policy/shop/broken/r::Pod/shop/good: x is 100%25 wrong,%0A::as you see
`
	testkit.NoDiff(t, cmp.Diff(want, got), "(-want +got)")
}

// TestGitHubKnowsWhatFails: a failure that does not count is a warning.
func TestGitHubKnowsWhatFails(t *testing.T) {
	t.Parallel()
	got, _ := printed(t, func(p filescan.Printer, w io.Writer) error {
		p.FailOn = report.SeverityCritical
		return p.PrintGitHub(w)
	})
	if strings.Count(got, "::error ") != 1 || !strings.Contains(got, "title=Policy/shop/broken/r::") || strings.Count(got, "::warning ") != 3 {
		t.Errorf("all but the error are to be warnings:\n%s", got)
	}
}

// TestLevels are those of severities; what could not be evaluated is an error whatever its severity.
func TestLevels(t *testing.T) {
	t.Parallel()
	var policies strings.Builder
	for _, severity := range []string{"critical", "high", "medium", "low", "info", ""} {
		fmt.Fprintf(&policies, "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: 'p%s'}, spec: {kinds: [Pod], label: owner, severity: '%[1]s'}}\n---\n", severity)
	}
	policies.WriteString("{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: wrong}, spec: {kinds: [Pod], problem: x, severity: low}}\n")
	printer := filescan.Printer{Findings: scanFiles(t, policies.String(), "{apiVersion: v1, kind: Pod, metadata: {name: a}}", filescan.FilesOptions{})}
	var commands, findings bytes.Buffer
	testkit.NoError(t, printer.PrintGitHub(&commands))
	testkit.NoError(t, printer.PrintSARIF(&findings))
	want := map[string]string{"p": "error", "pcritical": "error", "phigh": "error", "pmedium": "warning", "plow": "note", "pinfo": "note", "wrong": "error"}
	for _, result := range testkit.Must(sarif.FromBytes(findings.Bytes()))(t).Runs[0].Results {
		name := strings.TrimSuffix(strings.TrimPrefix(*result.RuleID, "ClusterPolicy/"), "/r")
		if result.Level != want[name] {
			t.Errorf("SARIF: the level of %s is %s, want %s", name, result.Level, want[name])
		}
		command := "::" + strings.Replace(want[name], "note", "notice", 1) + " title=ClusterPolicy/" + name + "/r::"
		if !strings.Contains(commands.String(), command) {
			t.Errorf("%q is not in\n%s", command, commands.String())
		}
	}
}

// TestSARIF: another implementation reads it, knows all its fields and finds it valid by the schema of SARIF 2.1.0.
func TestSARIF(t *testing.T) {
	t.Parallel()
	text, outside := printed(t, filescan.Printer.PrintSARIF)
	log := testkit.Must(sarif.FromString(text))(t)
	driver := log.Runs[0].Tool.Driver
	// The library writes these fields, which are optional, with empty values, which are invalid.
	log.Runs[0].Language, driver.Language, log.Runs[0].NewlineSequences = "en-US", "en-US", []string{"\n"}
	if err := log.Validate(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	checkFields(t, text)
	if *driver.Name != "docket-controller" || *driver.Version != "v1.2.3" {
		t.Errorf("the driver is %s %s", *driver.Name, *driver.Version)
	}
	var got []string
	fingerprints := map[string]bool{}
	for _, result := range log.Runs[0].Results {
		if id := *driver.Rules[result.RuleIndex].ID; id != *result.RuleID {
			t.Errorf("rule %d is %s, want %s", result.RuleIndex, id, *result.RuleID)
		}
		for _, hash := range result.PartialFingerprints {
			fingerprints[hash] = true
		}
		got = append(got, fmt.Sprintf("%s %s %s %s; %s", *result.RuleID, result.Level, place(result.Locations), place(result.RelatedLocations), *result.Message.Text))
	}
	want := []string{
		"ClusterPolicy/advice/r warning ./a:%20b,%20100%25.yaml:1 policies.yaml:4; Pod/default/bad: the label tier is missing",
		"ClusterPolicy/owner/r1 error ./a:%20b,%20100%25.yaml:1 policies.yaml:2; Pod/default/bad: the label owner is missing",
		"ClusterPolicy/owner/r2 error ./a:%20b,%20100%25.yaml:1 policies.yaml:2; Pod/default/bad: the label owner is missing",
		"Policy/shop/broken/r error file://" + outside + ":2 policies.yaml:6; Pod/shop/good: x is 100% wrong,\n::as you see",
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "results (-want +got)")
	if len(fingerprints) != len(want) {
		t.Errorf("%d fingerprints for %d results", len(fingerprints), len(want))
	}
	for _, part := range []string{`"security-severity": "8.0"`, `"severity": "high"`, `"text": "Who owns it?"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in\n%s", part, text)
		}
	}
}

func place(locations []*sarif.Location) string {
	if len(locations) != 1 || locations[0].PhysicalLocation == nil {
		return "nowhere"
	}
	physical := locations[0].PhysicalLocation
	return fmt.Sprintf("%s:%d", *physical.ArtifactLocation.URI, *physical.Region.StartLine)
}

// checkFields fails on fields that SARIF does not have. Properties may have any.
func checkFields(t *testing.T, text string) {
	t.Helper()
	var log map[string]any
	testkit.NoError(t, json.Unmarshal([]byte(text), &log))
	driver := log["runs"].([]any)[0].(map[string]any)["tool"].(map[string]any)["driver"].(map[string]any)
	for _, rule := range driver["rules"].([]any) {
		delete(rule.(map[string]any), "properties")
	}
	rest := testkit.Must(json.Marshal(log))(t)
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&sarif.Report{}); err != nil {
		t.Error(err)
	}
}

// TestJUnit: another implementation reads suites for all policies, and cases for all results.
func TestJUnit(t *testing.T) {
	t.Parallel()
	text, outside := printed(t, filescan.Printer.PrintJUnit)
	suites, err := junit.Ingest([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []string
	for _, suite := range suites {
		got = append(got, fmt.Sprintf("%s line %s: %d", suite.Name, suite.Properties["line"], suite.Totals.Tests))
		for _, test := range suite.Tests {
			line := fmt.Sprintf("  %s %s %s %s:%s", test.Classname, test.Name, test.Status, test.Properties["file"], test.Properties["line"])
			if test.Error != nil {
				line += " " + test.Error.Error()
			}
			got = append(got, line+test.SystemOut)
		}
	}
	const pods = "a: b, 100%.yaml"
	want := []string{
		"ClusterPolicy/advice line 4: 3",
		"  ClusterPolicy/advice/r Pod/default/bad passed " + pods + ":1warning: the label tier is missing",
		"  ClusterPolicy/advice/r Pod/default/excepted passed " + pods + ":3",
		"  ClusterPolicy/advice/r Pod/shop/good passed " + outside + ":2",
		"Policy/shop/broken line 6: 1",
		"  Policy/shop/broken/r Pod/shop/good error " + outside + ":2 x is 100% wrong,\n::as you see",
		"ClusterPolicy/nothing line 8: 0",
		"ClusterPolicy/owner line 2: 6",
		"  ClusterPolicy/owner/r1 Pod/default/bad failed " + pods + ":1 the label owner is missing",
		"  ClusterPolicy/owner/r1 Pod/default/excepted skipped " + pods + ":3",
		"  ClusterPolicy/owner/r2 Pod/default/bad failed " + pods + ":1 the label owner is missing",
		"  ClusterPolicy/owner/r2 Pod/default/excepted skipped " + pods + ":3",
		"  ClusterPolicy/owner/r1 Pod/shop/good passed " + outside + ":2",
		"  ClusterPolicy/owner/r2 Pod/shop/good passed " + outside + ":2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
	for _, part := range []string{`<testsuites name="docket-controller scan" tests="10" failures="2" errors="1" skipped="2">`, `file="policies.yaml"`, `type="high"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in\n%s", part, text)
		}
	}
}

// TestPrintedWithoutFiles: objects of a cluster have no places, and an output without results is valid, too.
func TestPrintedWithoutFiles(t *testing.T) {
	t.Parallel()
	for name, findings := range map[string]*filescan.Findings{
		"standard input": scanFiles(t, policiesOfAllOutcomes, podsOfAllOutcomes, filescan.FilesOptions{}), "nothing": filescan.NewFindings(true),
	} {
		printer := filescan.Printer{Findings: findings, Folder: t.TempDir()}
		var text, cases, commands bytes.Buffer
		testkit.NoError(t, printer.PrintSARIF(&text))
		log := testkit.Must(sarif.FromBytes(text.Bytes(), sarif.WithStrictValidation()))(t)
		if log.Runs[0].Results == nil || log.Runs[0].Tool.Driver.Rules == nil || strings.Contains(text.String(), "physicalLocation") {
			t.Errorf("%s: SARIF:\n%s", name, text.String())
		}
		checkFields(t, text.String())
		testkit.NoError(t, printer.PrintJUnit(&cases))
		if _, err := junit.Ingest(cases.Bytes()); err != nil || strings.Contains(cases.String(), "line") {
			t.Errorf("%s: JUnit: %v\n%s", name, err, cases.String())
		}
		if err := printer.PrintGitHub(&commands); err != nil || strings.Contains(commands.String(), "file=") {
			t.Errorf("%s: GitHub: %v\n%s", name, err, commands.String())
		}
	}
}
