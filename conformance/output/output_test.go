// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var update = flag.Bool("update", false, "write golden files anew")

// version is the version of the tool in the golden files.
const version = "v0.0.0"

func madeUpChecks() []runner.Check {
	return []runner.Check{
		{
			ID: "get-missing", Area: "Reading", Rule: "An object that does not exist is answered with 404.",
			Detail: "Gets a name that nobody has.", Reference: "https://kubernetes.io/docs/reference/using-api/",
			PerResource: true, Verbs: []string{"get"},
		},
		{
			ID: "apply-owners", Area: "Applying", Rule: "Fields have managers.",
			Detail: "Applies twice; what <name> is does not matter, nor `metadata.*`.", Reference: "https://kubernetes.io/docs/reference/using-api/server-side-apply/",
			PerResource: true, Verbs: []string{"create", "patch"}, Slow: true,
		},
		{
			ID: "delete-all", Area: "Reading", Rule: "A collection can be deleted.",
			Detail: "Deletes what it has made.", Reference: "https://kubernetes.io/docs/reference/using-api/#x",
			PerResource: true, Verbs: []string{"deletecollection"}, Isolated: true,
		},
		{
			ID: "livez", Area: "Health", Rule: "The server tells whether it lives.",
			Detail: "Asks for /livez.", Reference: "https://kubernetes.io/docs/reference/using-api/health-checks/",
		},
	}
}

// widget is an object as JSON, with a line of more than 40 for each field if it has many.
func widget(fields int) string {
	spec := map[string]any{}
	for i := range fields {
		spec[fmt.Sprintf("field%02d", i)] = "<a & b>"
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "empty": []any{}, "none": map[string]any{},
		"metadata": map[string]any{
			"name": `with "quotes" and \`,
			"managedFields": []any{map[string]any{"manager": "someone", "operation": "Update", "fieldsV1": map[string]any{
				"f:spec": map[string]any{"f:a": map[string]any{}, "f:b": map[string]any{}, "f:c": map[string]any{}},
			}}},
		},
		"spec": spec,
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// madeUp is a report with everything that there can be.
func madeUp() *runner.Report {
	checks := madeUpChecks()
	missing, owners, all, livez := &checks[0], &checks[1], &checks[2], &checks[3]
	get := func(body string) *runner.Exchange {
		return &runner.Exchange{
			Sent: runner.Sent{Method: "GET", URL: "/apis/example.com/v1/widgets/x?limit=1", Headers: map[string]string{"authorization": "(hidden)", "Accept": "text/plain"}},
			Received: &runner.Received{
				Code: 200, Body: body,
				Headers: map[string]string{"Content-Type": "application/json", "Set-Cookie": "(hidden)"},
			},
		}
	}
	post := &runner.Exchange{Sent: runner.Sent{
		Method: "POST", URL: "/apis/example.com/v1/widgets", Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"kind":"Widget"}`,
	}}
	results := []runner.Result{
		{Check: missing, Resource: "widgets", Outcome: runner.Failed, Failure: &runner.Failure{Expected: "404 Not Found with a Status", Exchange: get(widget(30))}},
		{Check: missing, Resource: "gadgets", Outcome: runner.Passed},
		{Check: missing, Resource: "gizmos", Outcome: runner.Undecided, Reason: "create an object", Exchange: post},
		{Check: owners, Resource: "widgets", Outcome: runner.Failed, Failure: &runner.Failure{
			Expected: "two managers", Found: "there is one", Exchange: get(widget(30)),
		}},
		{Check: owners, Resource: "gadgets", Outcome: runner.Skipped, Reason: "the resource has no verb patch"},
		{Check: owners, Resource: "gizmos", Outcome: runner.Skipped, Reason: "the resource has no verb patch"},
		{Check: all, Resource: "widgets", Outcome: runner.Skipped, Reason: "not wanted"},
		{Check: all, Resource: "gadgets", Outcome: runner.Skipped, Reason: `not allowed: User "me" cannot create resource "namespaces"`},
		{Check: all, Resource: "gizmos", Outcome: runner.Undecided, Reason: "interrupted"},
		{Check: livez, Outcome: runner.Failed, Failure: &runner.Failure{
			Expected: "ok", Found: "it has\x00\x1b[2J what is no text: \xff", Exchange: get("\x1b]0;title\x07 ]]> \ufffe\nsecond line"),
		}},
	}
	for i := range results {
		results[i].Duration = time.Duration(i+1) * 12345678 * time.Nanosecond
	}
	return &runner.Report{
		Server: "https://me:xxxxx@example.com:6443", GroupVersion: "example.com/v1", Resources: []string{"widgets", "gadgets", "gizmos"},
		Started: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Duration: 12345 * time.Millisecond, Results: results,
		Troubles: []runner.Trouble{
			{Resource: "gizmos", Reason: "an object is refused", Exchange: get(`ADDED {"a":1}`)},
			{Reason: "the server has stopped answering"},
		},
		Interrupted: true, Left: []string{"widgets.example.com -n team-a dc-abcde-1", "namespace docket-conformance-abcdef"},
	}
}

// good is a report in which all is well.
func good() *runner.Report {
	checks := madeUpChecks()
	return &runner.Report{
		Server: "https://example.com", GroupVersion: "v1", Resources: []string{"configmaps"}, Duration: time.Second,
		Results: []runner.Result{
			{Check: &checks[0], Resource: "configmaps", Outcome: runner.Passed},
			{Check: &checks[2], Resource: "configmaps", Outcome: runner.Skipped, Reason: "it needs a namespace of its own"},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report.txt":      func(b *bytes.Buffer) error { return writeText(b, madeUp(), false, version) },
		"report.json":     func(b *bytes.Buffer) error { return writeJSON(b, documentOf(madeUp(), version)) },
		"report.xml":      func(b *bytes.Buffer) error { return writeJUnit(b, madeUp(), version) },
		"good.txt":        func(b *bytes.Buffer) error { return writeText(b, good(), false, version) },
		"good-colors.txt": func(b *bytes.Buffer) error { return writeText(b, good(), true, version) },
		"good.json":       func(b *bytes.Buffer) error { return writeJSON(b, documentOf(good(), version)) },
		"list.txt":        func(b *bytes.Buffer) error { return List(b, madeUpChecks(), ListText) },
		"list.json":       func(b *bytes.Buffer) error { return List(b, madeUpChecks(), ListJSON) },
		"list.md":         func(b *bytes.Buffer) error { return listOnly(b) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			testkit.NoError(t, write(&got))
			golden(t, filepath.Join("testdata", name), got.String())
		})
	}
}

// listOnly is the part of the page that comes from the checks.
func listOnly(b *bytes.Buffer) error {
	var whole bytes.Buffer
	if err := List(&whole, madeUpChecks(), ListMarkdown); err != nil {
		return err
	}
	_, list, _ := strings.Cut(whole.String(), "\n## By area\n")
	b.WriteString(list)
	return nil
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		testkit.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with `make golden`", err)
	}
	testkit.NoDiff(t, cmp.Diff(string(want), got), "%s differs; write it with `make golden` and look at the difference (-file +now)", path)
}

func outputs(t *testing.T, report *runner.Report) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":  func(b *bytes.Buffer) error { return Text(b, report, false) },
		"json":  func(b *bytes.Buffer) error { return JSON(b, report) },
		"junit": func(b *bytes.Buffer) error { return JUnit(b, report) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		texts[name] = b.String()
	}
	return texts
}

// TestJUnitCanBeRead: what a server answers does not break the XML, and the numbers agree with the test cases.
func TestJUnitCanBeRead(t *testing.T) {
	t.Parallel()
	text := outputs(t, madeUp())["junit"]
	var read testSuites
	if err := xml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	// Results, two troubles, objects left behind, the interruption.
	want := counts{Tests: 14, Failures: 3, Errors: 6, Skipped: 4, Time: "12.345"}
	if len(read.Suites) != 1 || read.counts != want || read.Suites[0].counts != want || len(read.Suites[0].Cases) != want.Tests {
		t.Errorf("%+v and %+v, want one suite with %+v", read.counts, read.Suites, want)
	}
	if strings.ContainsAny(text, "\x00\x07\x1b\ufffe") {
		t.Error("the text has characters that XML does not have")
	}
	if found := read.Suites[0].Cases[9].Failure; found == nil || !strings.Contains(found.Text, `\u001b]0;title\u0007 ]]> \ufffe`) {
		t.Errorf("the answer is not in the failure: %+v", found)
	}
}

// TestTerminalIsSafe: a server can't move the cursor.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	if text := outputs(t, madeUp())["text"]; strings.ContainsAny(text, "\x00\x07\x1b") {
		t.Errorf("control characters:\n%q", text)
	}
}

// guide returns the page about the command.
func guide(t *testing.T) string {
	t.Helper()
	page := testkit.Must(os.ReadFile("../../docs/apiserver/conformance.md"))(t)
	return string(page)
}

// TestGuideHasTheDefaults: the page states the defaults of the flags.
func TestGuideHasTheDefaults(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		fmt.Sprintf("Up to %d checks run at a time", runner.DefaultParallel),
		fmt.Sprintf("each for at most %v (", runner.DefaultTimeout),
	} {
		if !strings.Contains(guide(t), want) {
			t.Errorf("conformance.md does not say %q", want)
		}
	}
}

// TestFieldsAreDocumented: the page explains every field of the JSON documents.
func TestFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	page := guide(t)
	fields := regexp.MustCompile(`"([a-zA-Z]+)":`)
	var list bytes.Buffer
	testkit.NoError(t, List(&list, madeUpChecks(), ListJSON))
	report := madeUp()
	for i := range report.Results { // Only what is ours.
		if failure := report.Results[i].Failure; failure != nil {
			failure.Exchange.Sent.Headers, failure.Exchange.Received.Headers, failure.Exchange.Received.Body = nil, nil, ""
		}
	}
	report.Troubles[0].Exchange, report.Results[2].Exchange.Sent.Headers, report.Results[2].Exchange.Sent.Body = nil, nil, ""
	for _, match := range fields.FindAllStringSubmatch(outputs(t, report)["json"]+list.String(), -1) {
		if name := match[1]; !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "`"+name+"[]`") && !strings.Contains(page, "."+name+"`") {
			t.Errorf("conformance.md does not explain the field %s", name)
		}
	}
}
