// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// fact is a result about a subject, taken from the objects without Project.
type fact struct {
	item
	index  int
	entry  report.Result
	source string
	about  *report.ObjectReference
}

// facts is what the objects of a data set say, to be compared with the views.
type facts struct {
	data    dataset
	reports []item
	results []fact
}

func gather(data dataset) *facts {
	f := &facts{data: data}
	for it := range data.all() {
		f.reports = append(f.reports, it)
		for index, entry := range it.report.GetResults() {
			one := fact{item: it, index: index, entry: entry, source: entry.GetSource(), about: it.report.GetScope()}
			if one.source == "" {
				one.source = it.report.GetSource()
			}
			for i := range entry.Resources {
				one.about = &entry.Resources[i]
				f.results = append(f.results, one)
			}
			if len(entry.Resources) == 0 {
				f.results = append(f.results, one)
			}
		}
	}
	return f
}

func (f fact) result() string   { return string(f.entry.Result) }
func (f fact) severity() string { return string(f.entry.Severity) }
func (f fact) failed() bool     { return f.entry.Result == report.OutcomeFail }

// message is what counts show: a name for all names. The data has no other names in messages.
func (f fact) message() string {
	if f.about == nil || f.about.Name == "" {
		return f.entry.Message
	}
	return strings.ReplaceAll(f.entry.Message, f.about.Name, "{name}")
}

func (f fact) subject() []string { return reference(f.about) }

func (f fact) timestamp() string {
	if f.entry.Timestamp == nil {
		return "NULL"
	}
	return instant(f.entry.Timestamp.Seconds)
}

func instant(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }

// reference returns the five columns of a subject.
func reference(r *report.ObjectReference) []string {
	if r == nil {
		return []string{"NULL", "NULL", "NULL", "NULL", "NULL"}
	}
	return []string{r.APIVersion, r.Kind, r.Namespace, r.Name, string(r.UID)}
}

func kindOf(it item) string {
	return map[string]string{
		"/wgpolicyk8s.io/policyreports/": "PolicyReport", "/wgpolicyk8s.io/clusterpolicyreports/": "ClusterPolicyReport",
		"/openreports.io/reports/": "Report", "/openreports.io/clusterreports/": "ClusterReport",
	}[string(it.resource)]
}

func (f *facts) resultRows() (rows [][]string) {
	for _, r := range f.results {
		scored, properties := "0", "NULL"
		if r.entry.Scored != nil && *r.entry.Scored {
			scored = "1"
		}
		if len(r.entry.Properties) > 0 {
			text, err := json.Marshal(r.entry.Properties)
			if err != nil {
				panic(err) // A map of strings.
			}
			properties = string(text)
		}
		row := []string{
			r.cluster, r.report.GetNamespace(), kindOf(r.item), r.report.GetName(), string(r.report.GetUID()), fmt.Sprint(r.index),
			r.source, r.entry.Policy, r.entry.Rule, r.entry.Category, r.severity(), r.result(), scored,
		}
		row = append(row, r.subject()...)
		rows = append(rows, append(row, r.entry.Message, r.timestamp(), properties))
	}
	return rows
}

func (f *facts) summaryRows() (rows [][]string) {
	for _, it := range f.reports {
		row := []string{
			it.cluster, it.report.GetNamespace(), kindOf(it), it.report.GetName(), string(it.report.GetUID()), it.report.GetSource(),
		}
		row = append(row, reference(it.report.GetScope())...)
		c := it.report.GetSummary().Counts()
		for _, n := range []int64{c.Pass, c.Fail, c.Warn, c.Error, c.Skip, c.Pass + c.Fail + c.Warn + c.Error + c.Skip} {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, append(row, instant(it.report.GetCreationTimestamp().Unix())))
	}
	return rows
}

func (f *facts) countRows() [][]string {
	counts := tally(f.results, func(r fact) (key []string, ok bool) {
		scored := "0"
		if r.entry.Scored != nil && *r.entry.Scored {
			scored = "1"
		}
		return []string{
			r.cluster, r.source, r.entry.Policy, r.entry.Rule, r.entry.Category, r.severity(), r.result(), scored, r.message(),
		}, true
	})
	return counts
}

func (f *facts) namespaceCountRows() [][]string {
	return tally(f.results, func(r fact) (key []string, ok bool) {
		scored := "0"
		if r.entry.Scored != nil && *r.entry.Scored {
			scored = "1"
		}
		return []string{
			r.cluster, r.report.GetNamespace(), kindOf(r.item), r.source, r.entry.Policy, r.entry.Rule, r.entry.Category,
			r.severity(), r.result(), scored,
		}, true
	})
}

func (f *facts) clusterRows() [][]string {
	reports, results := map[string]int{}, map[string]int{}
	for _, it := range f.reports {
		reports[it.cluster]++
	}
	for _, r := range f.results {
		results[r.cluster]++
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		rows = append(rows, []string{name, fmt.Sprint(reports[name]), fmt.Sprint(results[name])})
	}
	return rows
}

// tally counts results by key and appends the count to it.
func tally(results []fact, key func(fact) ([]string, bool)) (rows [][]string) {
	counts := map[string]int{}
	keys := map[string][]string{}
	for _, r := range results {
		if k, ok := key(r); ok {
			text := fmt.Sprintf("%q", k)
			keys[text] = k
			counts[text]++
		}
	}
	for text, k := range keys {
		rows = append(rows, append(k, fmt.Sprint(counts[text])))
	}
	return rows
}

// summed adds up the last column of rows that agree in the others.
func summed(rows [][]string) (sums [][]string) {
	totals := map[string]int{}
	keys := map[string][]string{}
	for _, row := range rows {
		k := row[:len(row)-1]
		var n int
		if _, err := fmt.Sscan(row[len(row)-1], &n); err != nil {
			panic(err)
		}
		text := fmt.Sprintf("%q", k)
		keys[text] = k
		totals[text] += n
	}
	for text, k := range keys {
		sums = append(sums, append(slices.Clone(k), fmt.Sprint(totals[text])))
	}
	return sums
}

// compactJSON writes an object as encoding/json does: jsonb has an order and spaces
// of its own.
func compactJSON(t testing.TB, text string) string {
	t.Helper()
	if text == "NULL" {
		return text
	}
	var properties map[string]string
	if err := json.Unmarshal([]byte(text), &properties); err != nil {
		t.Fatalf("properties %q: %v", text, err)
	}
	again := testkit.Must(json.Marshal(properties))(t)
	return string(again)
}
