// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docket-project/docket/api/report"
)

// answers computes what the questions of docs/operate/sql.md should be answered with, from
// the objects.
func answers() []func(*facts) [][]string {
	return []func(*facts) [][]string{
		failuresByNamespace, highScores, failingPolicies, failingEverywhere, oneSubject,
		oldReports, clustersCompared, newestFailures, passRates, cleanNamespaces,
		sources, heatMap, topMessages, neverFailing, criticalFromTwo,
		wrongSummaries, onlyInOne, notEvaluated, failuresByDay, worstImages,
	}
}

// table sorts rows by the given columns, from 1, negative ones in descending order
// of their numbers, and keeps at most limit; 0 for all.
func table(rows [][]string, limit int, order ...int) [][]string {
	slices.SortStableFunc(rows, func(a, b []string) int {
		for _, column := range order {
			var c int
			if column < 0 {
				c = cmp.Compare(value(b[-column-1]), value(a[-column-1]))
			} else if c = strings.Compare(a[column-1], b[column-1]); isNumber(a[column-1]) && isNumber(b[column-1]) {
				c = cmp.Compare(value(a[column-1]), value(b[column-1]))
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	return rows
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func value(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err) // A mistake in this file.
	}
	return n
}

// group collects results by key.
type group struct {
	key     []string
	members []fact
}

func groups(results []fact, key func(fact) []string) []*group {
	var all []*group
	known := map[string]*group{}
	for _, r := range results {
		k := key(r)
		text := fmt.Sprintf("%q", k)
		if known[text] == nil {
			known[text] = &group{key: k}
			all = append(all, known[text])
		}
		known[text].members = append(known[text].members, r)
	}
	return all
}

func (g *group) count(is func(fact) bool) int { return len(filter(g.members, is)) }

func (g *group) distinct(of func(fact) string) int {
	seen := map[string]bool{}
	for _, r := range g.members {
		seen[of(r)] = true
	}
	return len(seen)
}

// row is the key with further columns.
func (g *group) row(columns ...any) []string {
	row := slices.Clone(g.key)
	for _, column := range columns {
		row = append(row, fmt.Sprint(column))
	}
	return row
}

func filter(results []fact, is func(fact) bool) (kept []fact) {
	for _, r := range results {
		if is(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func (f *facts) failures() []fact { return filter(f.results, fact.failed) }

func byPolicy(r fact) []string { return []string{r.source, r.entry.Policy} }

func clusterOf(r fact) string { return r.cluster }

func percent(part, whole int) string {
	return fmt.Sprintf("%.10g", math.Round(1000*float64(part)/float64(whole))/10)
}

func failuresByNamespace(f *facts) [][]string {
	return table(tally(f.results, func(r fact) ([]string, bool) {
		return []string{r.report.GetNamespace(), r.severity()}, r.failed()
	}), 0, -3, 1, 2)
}

func highScores(f *facts) (rows [][]string) {
	for _, r := range f.results {
		score, err := strconv.ParseFloat(r.entry.Properties["score"], 64)
		if err == nil && score >= 8 {
			s := r.subject()
			rows = append(rows, []string{r.cluster, s[2], s[1], s[3], r.entry.Policy, fmt.Sprintf("%.10g", score)})
		}
	}
	return table(rows, 50, -6, 1, 2, 4, 5)
}

func failingPolicies(f *facts) (rows [][]string) {
	for _, g := range groups(f.failures(), byPolicy) {
		rows = append(rows, g.row(len(g.members), g.distinct(func(r fact) string { return r.report.GetNamespace() })))
	}
	return table(rows, 20, -3, 1, 2)
}

func failingEverywhere(f *facts) (rows [][]string) {
	for _, g := range groups(f.failures(), func(r fact) []string { return r.subject()[1:4] }) {
		if g.distinct(clusterOf) == 2 && g.key[2] != "NULL" {
			rows = append(rows, g.row(g.distinct(func(r fact) string { return r.entry.Policy })))
		}
	}
	return table(rows, 20, -4, 2, 3, 1)
}

func oneSubject(f *facts) (rows [][]string) {
	for _, r := range f.results {
		if slices.Equal(r.subject()[1:4], []string{"Pod", "shop", "exporter-00016"}) {
			rows = append(rows, []string{
				r.cluster, r.source, r.entry.Policy, r.entry.Rule, r.result(), r.severity(), r.entry.Message, r.timestamp(),
			})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(b[7], a[7]) })
	return table(rows, 0, 1, 2, 3, 4)
}

func oldReports(f *facts) (rows [][]string) {
	for _, it := range f.reports {
		if f.data.now.Sub(it.report.GetCreationTimestamp().Time) > 24*time.Hour {
			rows = append(rows, []string{
				it.cluster, it.report.GetNamespace(), kindOf(it), it.report.GetName(),
				instant(it.report.GetCreationTimestamp().Unix()),
			})
		}
	}
	return table(rows, 50, 5, 1, 2, 4, 3)
}

func clustersCompared(f *facts) (rows [][]string) {
	for _, cluster := range []string{"east", "west"} {
		var reports, pass, fail int
		for _, it := range f.reports {
			if it.cluster == cluster {
				counts := it.report.GetSummary().Counts()
				reports, pass, fail = reports+1, pass+int(counts.Pass), fail+int(counts.Fail)
			}
		}
		rows = append(rows, []string{
			cluster, fmt.Sprint(reports), fmt.Sprint(pass), fmt.Sprint(fail), percent(fail, pass+fail),
		})
	}
	return rows
}

func newestFailures(f *facts) (rows [][]string) {
	failures := f.failures()
	slices.SortFunc(failures, func(a, b fact) int {
		at, bt := a.entry.Timestamp, b.entry.Timestamp
		switch {
		case at == nil || bt == nil:
			return cmp.Compare(len(b.timestamp()), len(a.timestamp()))
		default:
			return cmp.Or(
				cmp.Compare(bt.Seconds, at.Seconds), cmp.Compare(a.cluster, b.cluster),
				cmp.Compare(a.report.GetNamespace(), b.report.GetNamespace()), cmp.Compare(a.report.GetName(), b.report.GetName()),
				cmp.Compare(a.index, b.index), cmp.Compare(a.subject()[3], b.subject()[3]),
			)
		}
	})
	for _, r := range failures[:20] {
		rows = append(rows, []string{
			r.timestamp(), r.cluster, r.report.GetNamespace(), r.entry.Policy, r.entry.Rule,
			r.subject()[1], r.subject()[3], r.entry.Message,
		})
	}
	return rows
}

func passRates(f *facts) (rows [][]string) {
	passed := func(r fact) bool { return r.entry.Result == report.OutcomePass }
	checked := filter(f.results, func(r fact) bool { return r.source == "kyverno" && (r.failed() || passed(r)) })
	for _, g := range groups(checked, byPolicy) {
		rows = append(rows, g.row(len(g.members), percent(g.count(passed), len(g.members))))
	}
	return table(rows, 0, 4, 1, 2)
}

func cleanNamespaces(f *facts) (rows [][]string) {
	for _, g := range groups(f.results, func(r fact) []string { return []string{r.cluster, r.report.GetNamespace()} }) {
		if g.key[1] != "" && g.count(fact.failed) == 0 {
			rows = append(rows, g.key)
		}
	}
	return table(rows, 0, 1, 2)
}

func sources(f *facts) (rows [][]string) {
	for _, g := range groups(f.results, func(r fact) []string { return []string{r.source} }) {
		rows = append(rows, g.row(len(g.members), g.count(fact.failed)))
	}
	return table(rows, 0, -2, 1)
}

func heatMap(f *facts) (rows [][]string) {
	for _, g := range groups(f.failures(), func(r fact) []string { return []string{r.report.GetNamespace()} }) {
		of := func(severity string) int { return g.count(func(r fact) bool { return r.severity() == severity }) }
		rows = append(rows, g.row(of("critical"), of("high"), of("medium"), of("low")))
	}
	return table(rows, 20, -2, -3, -4, -5, 1)
}

func topMessages(f *facts) [][]string {
	return table(tally(f.results, func(r fact) ([]string, bool) {
		return []string{r.source, r.message()},
			(r.failed() || r.entry.Result == report.OutcomeError) && r.entry.Message != ""
	}), 10, -3, 1, 2)
}

func neverFailing(f *facts) (rows [][]string) {
	for _, g := range groups(f.results, byPolicy) {
		if g.count(func(r fact) bool { return r.failed() || r.entry.Result == report.OutcomeError }) == 0 {
			rows = append(rows, g.row(len(g.members)))
		}
	}
	return table(rows, 20, -3, 1, 2)
}

func criticalFromTwo(f *facts) (rows [][]string) {
	critical := filter(f.failures(), func(r fact) bool { return r.severity() == "critical" && r.about != nil })
	for _, g := range groups(critical, func(r fact) []string { return append([]string{r.cluster}, r.subject()[1:4]...) }) {
		if n := g.distinct(func(r fact) string { return r.source }); n >= 2 {
			rows = append(rows, g.row(n, len(g.members)))
		}
	}
	return table(rows, 20, -5, -6, 1, 3, 4, 2)
}

func wrongSummaries(f *facts) [][]string { return wrongSummariesOf(f, report.OutcomeFail) }

// wrongSummariesOf are the reports that state another number of an outcome than they hold.
func wrongSummariesOf(f *facts, outcome report.Outcome) (rows [][]string) {
	number := func(counts report.Counts) int64 {
		return map[report.Outcome]int64{
			report.OutcomePass: counts.Pass, report.OutcomeFail: counts.Fail, report.OutcomeWarn: counts.Warn,
			report.OutcomeError: counts.Error, report.OutcomeSkip: counts.Skip,
		}[outcome]
	}
	for _, it := range f.reports {
		stated, held := number(it.report.GetSummary().Counts()), number(report.Count(it.report.GetResults()))
		if stated != held {
			rows = append(rows, []string{
				it.cluster, it.report.GetNamespace(), kindOf(it), it.report.GetName(), fmt.Sprint(stated), fmt.Sprint(held),
			})
		}
	}
	return table(rows, 50, 1, 2, 3, 4)
}

func onlyInOne(f *facts) (rows [][]string) {
	kyverno := filter(f.failures(), func(r fact) bool { return r.source == "kyverno" })
	for _, g := range groups(kyverno, func(r fact) []string { return []string{r.entry.Policy} }) {
		if g.distinct(clusterOf) == 1 {
			rows = append(rows, g.row(g.members[0].cluster, len(g.members)))
		}
	}
	return table(rows, 0, 1)
}

func notEvaluated(f *facts) [][]string {
	return table(tally(f.results, func(r fact) ([]string, bool) {
		return []string{r.source, r.entry.Policy, r.entry.Rule, r.message()}, r.entry.Result == report.OutcomeError
	}), 0, -5, 1, 2, 3, 4)
}

func failuresByDay(f *facts) [][]string {
	return table(tally(f.results, func(r fact) ([]string, bool) {
		if r.entry.Timestamp == nil {
			return nil, false
		}
		return []string{r.timestamp()[:10], r.source}, r.failed()
	}), 0, 1, 2)
}

func worstImages(f *facts) (rows [][]string) {
	critical := filter(f.failures(), func(r fact) bool { return r.source == "trivy" && r.severity() == "critical" })
	for _, g := range groups(critical, func(r fact) []string { return []string{r.entry.Properties["artifact.repository"]} }) {
		rows = append(rows, g.row(len(g.members), g.distinct(func(r fact) string { return r.entry.Policy })))
	}
	return table(rows, 10, -2, 1)
}
