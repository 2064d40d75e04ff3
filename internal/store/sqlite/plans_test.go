// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/questions"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// statements are all that run while the engine works.
func statements(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{
		"selectCounters": selectCounters, "updateCounters": updateCounters, "markCompacted": markCompacted,
		"addTotal": addTotal, "selectTotal": selectTotal, "sumResults": sumResults,
		"selectResource": selectResource, "insertObject": insertObject, "selectObject": selectObject,
		"updateObject": updateObject, "deleteObject": deleteObject, "insertEvent": insertEvent,
		"insertTerm": insertTerm, "deleteTerm": deleteTerm,
		"upsertReport": upsertReport, "deleteReport": deleteReport,
		"upsertResult": upsertResult, "selectResults": selectResults, "deleteResults": deleteResults,
		"selectLowest": selectLowest, "insertLarge": insertLarge, "adoptLarge": adoptLarge, "retireLarge": retireLarge,
		"resizeLarge": resizeLarge, "deleteLarge": deleteLarge, "selectLarge": selectLarge, "selectUnused": selectUnused,
		"insertResult": insertResult, "selectRowsOf": selectRowsOf,
		"insertVerdict": insertVerdict, "insertSubject": insertSubject,
		"selectOne": selectOne, "selectExpired": selectExpired,
		"selectEvents": selectEvents, "selectNextEvent": selectNextEvent, "selectEventSums": selectEventSums,
		"selectRange": selectRange, "countRange": countRange,
		"selectFirstEvents": selectFirstEvents, "selectRecentEvents": selectRecentEvents,
		"countGoneChanged": fmt.Sprintf(countGone, changedKeys), "countGoneRecent": fmt.Sprintf(countGone, recentKeys),
		"selectOldest": selectOldest, "deleteEvents": deleteEvents,
		"selectDerivation": selectDerivation, "beginDerivation": beginDerivation, "finishDerivation": finishDerivation,
		"selectUnderived": selectUnderived, "raiseDerived": raiseDerived,
		"selectDemands": selectDemands, "selectReadable": selectReadable, "selectKnown": selectKnown, "raiseReader": raiseReader,
		"addTally": addTally, "selectVerdict": selectVerdict, "insertOutcome": insertOutcome, "selectPlace": selectPlace,
		"countVerdicts": countVerdicts, "deleteEmpty": deleteEmpty, "deleteOutcomes": deleteOutcomes,
		"isTallied": isTallied, "markTallied": markTallied,
		"selectIndexed": selectIndexed, "markIndexed": markIndexed, "selectSlice": selectSlice, "enterLate": enterLate,
		"selectVerdicts": selectVerdicts, "deleteVerdict": deleteVerdict,
		"selectSubjects": selectSubjects, "deleteSubject": deleteSubject,
	}
	maps.Copy(all, questionStatements())
	for name, values := range map[string][]int64{"Name": nil, "Value": {1}, "Values": {1, 2}} {
		args := make(arguments, 6)
		terms := testkit.Must(args.terms(engine.Condition{Name: 1, Values: values}))(t)
		tests := testkit.Must(args.tests([]engine.Condition{{Name: 2, Values: values}}))(t)
		all["countTerms"+name] = fmt.Sprintf(countTerms, terms)
		all["testObjects"+name] = fmt.Sprintf(testObjects, tests)
		if values == nil {
			all["keysOf"+name] = fmt.Sprintf(rowsOfKeys, fmt.Sprintf(keysOf, "DISTINCT", terms, tests))
		} else {
			keys := fmt.Sprintf(keysOf, "", fmt.Sprintf(oneTerm, 7), tests)
			all["keysOf"+name] = fmt.Sprintf(rowsOfKeys, strings.Join(slices.Repeat([]string{keys}, len(values)), " UNION "))
		}
	}
	return all
}

// questionStatements are those of questions about results, with conditions on all parts of these.
func questionStatements() map[string]string {
	all := map[string]string{}
	add := func(name string, build func(*question)) {
		sql := newQuestion()
		build(sql)
		all[name] = sql.String()
	}
	fails, pods := engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod")
	message := &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"x"}}
	counted := engine.Both(fails, engine.Equal(engine.FieldReportKind, "Report"))
	everything := engine.Both(counted, pods, message)
	add("questionPlaces", func(t *question) { t.addPlaces(1, counted, questions.Place{}) })
	add("questionCounters", func(t *question) { t.addCounters(1, counted, true, true) })
	add("questionCountersApart", func(t *question) {
		t.addCounters(1, engine.Both(counted, engine.Equal(engine.FieldNamespace, "n")), true, true)
	})
	add("questionPage", func(t *question) { t.addRows(1, "[]", questions.Condition{Filter: everything}, 1, allOfThem) })
	add("questionPageByEntries", func(t *question) { t.addRows(1, "[]", questions.Condition{Filter: everything}, 1, byEntries) })
	add("questionReports", func(t *question) { t.addRows(1, "[]", questions.Condition{Filter: everything}, 1, named) })
	add("questionResults", func(t *question) { t.addResults(1, "[]", everything, engine.PartSubject) })
	add("questionAllResults", func(t *question) { t.addResults(1, "", everything, engine.PartSubject) })
	add("questionVerdicts", func(t *question) { t.addVerdictCounts(1, fails) })
	add("questionAllVerdicts", func(t *question) { t.addVerdictCounts(1, nil) })
	add("orderedResults", func(t *question) {
		t.addFirst(1, "[]", &engine.OrderQuery{OrderBy: engine.FieldSeverity, Limit: 1}, everything)
	})
	add("orderedAllResults", func(t *question) {
		t.addFirst(1, "", &engine.OrderQuery{OrderBy: engine.FieldSubjectName, Limit: 1}, everything)
	})
	for table, sql := range byNumber {
		all[table+"sByNumber"] = sql
	}
	namespace := "n"
	for name, f := range map[string]*engine.Filter{
		"Verdict": fails, "Report": engine.Equal(engine.FieldReportUID, "n"), "Seconds": {Operator: engine.LessThan, Field: engine.FieldSeconds},
	} {
		for i, way := range waysTo[f.Parts()] {
			add(fmt.Sprint("questionFew", name, i), func(t *question) { t.addSelective(way, 1, f, 1) })
		}
	}
	for name, f := range map[string]*engine.Filter{
		"Kind": pods, "Name": engine.Equal(engine.FieldSubjectName, "n"), "UID": engine.Equal(engine.FieldSubjectUID, "n"),
	} {
		add("questionSubjects"+name, func(t *question) { t.addSubjects(1, f, 1) })
	}
	for i, way := range waysToSubjects {
		add(fmt.Sprint("questionAbout", i), func(t *question) { t.addAbout(way, 1, "[]", &namespace, 1) })
	}
	return all
}

// fullScan matches a step that reads a whole table or all that a cluster has in
// it. Subqueries and the values of a condition may be scanned.
var fullScan = regexp.MustCompile(
	`SCAN (o|t|e|r|object|event|term_key|report|result|verdict|subject|first|last|resource|revision|total|cluster|tally|outcome)\b|\(cluster=\?\)`)

// fewRows are statements that read all that a cluster has in a small table, or
// only the first or the last of it.
var fewRows = []string{"sumResults", "selectOldest", "selectLowest", "deleteEmpty", "deleteOutcomes", "selectKnown"}

// wholeTables are questions that read all verdicts, subjects, reports or results of a cluster, to find which few meet a
// condition, to count, or to put in order.
var wholeTables = []string{
	"questionPage", "questionPageByEntries", "questionAllResults", "questionVerdicts", "questionAllVerdicts", "questionPlaces", "questionCounters",
	"orderedAllResults",
	"questionFewVerdict0", "questionSubjectsKind", "questionFewReport0", "questionFewSeconds0",
}

// TestPlans: each statement goes by the index that is named above it. The golden
// file shows how; -update rewrites it.
func TestPlans(t *testing.T) {
	t.Parallel()
	e := testkit.Must(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}))(t)
	defer func() { _ = e.Close() }()
	all := statements(t)
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&got, "%s\n", name)
		err := e.borrow(t.Context(), func(c *conn) error {
			args := make([]any, 32) // More than any has.
			return c.query(context.Background(), func(row []driver.Value) error {
				step := text(row[3])
				fmt.Fprintf(&got, "\t%s\n", step)
				if fullScan.MatchString(step) && !slices.Contains(slices.Concat(fewRows, wholeTables), name) {
					t.Errorf("%s: %s", name, step)
				}
				return nil
			}, "EXPLAIN QUERY PLAN "+all[name], args...)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	enginetest.Golden(t, filepath.Join("testdata", "plans.golden"), got.String(), *update)
}
