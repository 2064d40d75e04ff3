// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data := testkit.Must(json.Marshal(value))(t)
	return string(data)
}

func FuzzQuoted(f *testing.F) {
	for _, text := range []string{"", "plain", "\"\\\n\r\t\b\f\x00\x1f\x7f", "<a>&b", "\u2028\u2029\u2030é😀", "\xff\xe2"} {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		whole := fit(text, 6*len(text)+20)
		if got, want := quoted(whole), len(asJSON(t, whole)); got != want {
			t.Errorf("%q quotes to %d bytes, not %d", whole, want, got)
		}
		limit = 8 + (limit&0xffff)%256
		cut := fit(text, limit)
		if len(asJSON(t, cut)) > limit || !utf8.ValidString(cut) || fit(cut, limit) != cut {
			t.Errorf("%q cut to %d is %q", text, limit, cut)
		}
		properties := fitProperties(map[string]string{text: text, "key": text}, 64+limit)
		if len(properties) > 64+limit || fitProperties(decode(properties), 64+limit) != properties {
			t.Errorf("properties of %q cut to %d are %q", text, 64+limit, properties)
		}
	})
}

// TestSizesAreBounds: the size that is counted is no less than that of the JSON, and not
// much more.
func TestSizesAreBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long<>\n", 100)
	for _, message := range []string{"", "short", long} {
		for _, properties := range []map[string]string{nil, {"a": "b"}, {"process": "x"}, {"key\n": long, "other": ""}} {
			p := newPolicyState(policy.Identity{Kind: policy.ClusterPolicy, Name: "require-labels"})
			p.present(policy.Presentation{Source: "kyverno", Category: "Best <Practices>", Severity: report.SeverityCritical, Process: "background scan"})
			l := NewLayout(Options{})
			s := l.addSubject(policy.Reference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "a", UID: "17"})
			r := &record{subject: s.self, changed: math.MaxUint32, text: fitText(p, policy.Result{Rule: "rule", Outcome: report.OutcomeError, Message: message, Properties: properties}, DefaultMaxBytes)}
			counted := l.arena.size(r) + p.size
			if actual := len(asJSON(t, resolved{r, s}.render(sharing{}))) + 1; counted < actual || counted > actual+120 {
				t.Errorf("message of %d bytes, properties %v: counted %d, are %d", len(message), properties, counted, actual)
			}
		}
	}
}

func TestLargeResultsAreCut(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("<\"é", 100_000)
	many := map[string]string{}
	for range 5000 {
		many[strings.Repeat("k", len(many)%300)+asJSON(t, len(many))] = huge[:300]
	}
	for name, result := range map[string]policy.Result{
		"message":    {Rule: "r", Outcome: report.OutcomeFail, Message: huge},
		"properties": {Rule: "r", Outcome: report.OutcomeFail, Message: huge, Properties: map[string]string{"a": huge, "b": "kept"}},
		"many":       {Rule: strings.Repeat("\n", 3000), Outcome: report.OutcomeFail, Message: huge, Properties: many},
	} {
		for _, split := range []bool{true, false} {
			l := NewLayout(Options{Split: split, MaxBytes: 32 << 10})
			id := policy.Identity{Kind: policy.NamespacedValidatingPolicy, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("p", 253)}
			l.Present(id, policy.Presentation{Source: huge, Category: huge, Process: huge, Severity: "huge"})
			l.Set(id, policy.Reference{APIVersion: huge, Kind: huge, Namespace: strings.Repeat("n", 63), Name: huge, UID: "u"}, []policy.Result{result, {Rule: "small", Outcome: report.OutcomePass}})
			for object := range l.Reports() {
				if size := len(asJSON(t, object)); size > 32<<10 {
					t.Errorf("%s: a report has %d bytes", name, size)
				}
				for _, r := range object.GetResults() {
					if r.Rule != "small" && !strings.HasSuffix(r.Message, ellipsis) {
						t.Errorf("%s: the message ends in %q", name, r.Message[max(0, len(r.Message)-10):])
					}
				}
			}
		}
	}
}
