// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store/engine"
)

func exampleRow() engine.ResultRow {
	return engine.ResultRow{
		Report: &engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: "shop", Kind: "PolicyReport", Name: "r"}},
		Result: engine.Result{
			Verdict: &engine.Verdict{Source: "kyverno", Policy: "p", Rule: "rule", Result: "fail", Message: "m"},
			Subject: &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "u"},
		},
	}
}

// TestNamesAreStored: clients may keep them, so they must not change from version to version.
func TestNamesAreStored(t *testing.T) {
	row := exampleRow()
	const want = "44qblkjpj19fg-l72aup3gn5q04"
	if got := nameOf(&row); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := nameOf(ordinal(row, 1)); got != want+"-2" {
		t.Errorf("the second one is %s, want %s-2", got, want)
	}
}

func TestNames(t *testing.T) {
	original := exampleRow()
	name := nameOf(&original)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		t.Errorf("%s: %v", name, problems)
	}
	for change, test := range map[string]struct {
		change func(*engine.ResultRow)
		same   bool
	}{
		"another result":    {func(r *engine.ResultRow) { r.Verdict.Result = "pass" }, true},
		"another message":   {func(r *engine.ResultRow) { r.Verdict.Message = "n" }, true},
		"another severity":  {func(r *engine.ResultRow) { r.Verdict.Severity = "low" }, true},
		"another place":     {func(r *engine.ResultRow) { r.Index = 7 }, true},
		"another time":      {func(r *engine.ResultRow) { r.Seconds = 7 }, true},
		"report made again": {func(r *engine.ResultRow) { r.Report.UID = "other" }, true},
		"another policy":    {func(r *engine.ResultRow) { r.Verdict.Policy = "q" }, false},
		"another rule":      {func(r *engine.ResultRow) { r.Verdict.Rule = "q" }, false},
		"another source":    {func(r *engine.ResultRow) { r.Verdict.Source = "q" }, false},
		"another report":    {func(r *engine.ResultRow) { r.Report.Name = "q" }, false},
		"another kind":      {func(r *engine.ResultRow) { r.Report.Kind = "Report" }, false},
		"another subject":   {func(r *engine.ResultRow) { r.Subject.Name = "web-2" }, false},
		"no subject":        {func(r *engine.ResultRow) { r.Subject = nil }, false},
		"moved text":        {func(r *engine.ResultRow) { r.Verdict.Policy, r.Verdict.Rule = "pr", "ule" }, false},
	} {
		row := exampleRow()
		test.change(&row)
		if got := nameOf(&row); (got == name) != test.same {
			t.Errorf("%s: the name is %s, and was %s", change, got, name)
		}
	}
}

func TestParseName(t *testing.T) {
	row := exampleRow()
	for _, n := range []int32{0, 1} {
		if got, ok := parseName(nameOf(ordinal(row, n))); !ok || !got.about || got.subject != row.Subject.ID() {
			t.Errorf("got %v, %v", got, ok)
		}
	}
	row.Subject = nil
	if got, ok := parseName(nameOf(&row)); !ok || got.about {
		t.Errorf("without a subject: got %v, %v", got, ok)
	}
	for _, name := range []string{"", "none", "none-", "a-b", "none-zzzzzzzzzzzzz", strings.Repeat("0", 13), "-" + strings.Repeat("0", 13)} {
		if got, ok := parseName(name); ok {
			t.Errorf("%q is a name: %v", name, got)
		}
	}
}

func TestLabelValues(t *testing.T) {
	long := strings.Repeat("a", 64)
	seen := map[string]string{}
	for _, text := range []string{"", "fail", "CVE-2026-1", "Pod Security", "pod_security", "a/b", "a_b", "ä", "/", long, long + "b", "-a", strings.Repeat("ü", 64)} {
		value := v1alpha1.LabelValue(text)
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Errorf("%q: %q is no value of a label: %v", text, value, problems)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%q and %q have the same label %q", text, other, value)
		}
		seen[value] = text
		if value != text && !mayBeHashed(value) {
			t.Errorf("%q is not taken for the label of another text", value)
		}
	}
	if v1alpha1.LabelValue("fail") != "fail" || mayBeHashed("fail") {
		t.Error("a text that is a label as it is has another one")
	}
}
