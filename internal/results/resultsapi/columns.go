// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// What objects that are printed alike have in common.
type (
	resultObject interface {
		metav1.Object
		runtime.Object
		GetResult() *v1alpha1.Result
	}
	countsObject interface {
		metav1.Object
		runtime.Object
		GetCounts() *v1alpha1.Counts
	}
)

func table[O any](kind string, columns []kinds.Column[O]) rest.TableConvertor {
	return kinds.NewTableConvertor(kinds.Kind[O]{GroupVersionKind: v1alpha1.SchemeGroupVersion.WithKind(kind), Columns: columns})
}

func resultTable(kind string) rest.TableConvertor {
	text := func(name, description string, priority int32, cell func(*v1alpha1.Result) string) kinds.Column[resultObject] {
		return kinds.Column[resultObject]{
			Name: name, Type: kinds.TypeString, Description: description, Priority: priority,
			Cell: func(o resultObject) any { return cell(o.GetResult()) },
		}
	}
	name := kinds.NameColumn[resultObject]("Name of the result.")
	name.Priority = kinds.WideOnly
	return table(kind, []kinds.Column[resultObject]{
		text("Result", "What the policy says.", kinds.Always, func(r *v1alpha1.Result) string { return r.Result }),
		text("Severity", "How bad a failure is.", kinds.Always, func(r *v1alpha1.Result) string { return r.Severity }),
		text("Policy", "Name of the policy.", kinds.Always, func(r *v1alpha1.Result) string { return r.Policy }),
		text("Rule", "Rule of the policy.", kinds.Always, func(r *v1alpha1.Result) string { return r.Rule }),
		text("Subject", "Resource that the result is about.", kinds.Always, func(r *v1alpha1.Result) string { return r.Subject.String() }),
		text("Age", "Time since the result was found.", kinds.Always, func(r *v1alpha1.Result) string { return age(r.Timestamp) }),
		text("Message", "What the policy says to people.", kinds.WideOnly, func(r *v1alpha1.Result) string { return r.Message }),
		text("Source", "Engine that found the result.", kinds.WideOnly, func(r *v1alpha1.Result) string { return r.Source }),
		text("Report", "Report that has the result.", kinds.WideOnly, func(r *v1alpha1.Result) string { return r.Report.Kind + "/" + r.Report.Name }),
		name,
	})
}

// age is how long ago a time was, as kubectl prints it.
func age(at *metav1.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(at.Time))
}

// summaryTable prints summaries; own are the columns between the name and the counts, and more those behind them.
func summaryTable[O countsObject](kind string, own, more []kinds.Column[O]) rest.TableConvertor {
	count := func(name string, priority int32, cell func(*v1alpha1.Counts) int64) kinds.Column[O] {
		return kinds.Column[O]{
			Name: name, Type: kinds.TypeInteger, Description: "Number of results: " + name + ".", Priority: priority,
			Cell: func(o O) any { return cell(o.GetCounts()) },
		}
	}
	severity := func(name, severity string) kinds.Column[O] {
		return count(name, kinds.WideOnly, func(c *v1alpha1.Counts) int64 { return c.FailBySeverity[severity] })
	}
	columns := append(own,
		count("Pass", kinds.Always, func(c *v1alpha1.Counts) int64 { return c.Pass }),
		count("Fail", kinds.Always, func(c *v1alpha1.Counts) int64 { return c.Fail }),
		count("Warn", kinds.Always, func(c *v1alpha1.Counts) int64 { return c.Warn }),
		count("Error", kinds.Always, func(c *v1alpha1.Counts) int64 { return c.Error }),
		count("Skip", kinds.Always, func(c *v1alpha1.Counts) int64 { return c.Skip }),
	)
	columns = append(columns, more...)
	return table(kind, append(columns, severity("Critical", "critical"), severity("High", "high"), severity("Medium", "medium"), severity("Low", "low")))
}

// integerColumn is one of the numbers that a kind of summaries has beside the counts.
func integerColumn[O any](name, description string, cell func(O) int64) kinds.Column[O] {
	return kinds.Column[O]{Name: name, Type: kinds.TypeInteger, Description: description, Cell: func(o O) any { return cell(o) }}
}

func textColumn[O any](name, description string, cell func(O) string) kinds.Column[O] {
	return kinds.Column[O]{Name: name, Type: kinds.TypeString, Description: description, Cell: func(o O) any { return cell(o) }}
}
