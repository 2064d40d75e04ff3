// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestColumns compares name, type and priority of every column, and its cells, to
// testdata/columns. These files state what the custom resource definitions
// publish, with the JSON path of each column; -update doesn't touch them.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		t.Run(kind.Resource, func(t *testing.T) {
			t.Parallel()
			published := strings.Split(strings.TrimSpace(readGolden(t, "columns/"+kind.Resource+".golden")), "\n")
			columns := kind.version().AdditionalPrinterColumns
			if len(published) != len(columns) {
				t.Fatalf("%d columns, want %d", len(columns), len(published))
			}
			printed := testkit.Must(newTable(kind))(t)
			for i, column := range columns {
				heading, path, ok := cutLast(published[i])
				if !ok {
					t.Fatalf("column %q has no path", published[i])
				}
				if got := fmt.Sprintf("%s %s %d", column.Name, column.Type, column.Priority); got != heading {
					t.Errorf("column %d is %q, want %q", i, got, heading)
				}
				for name, sample := range tableSamples(t, kind) {
					table := testkit.Must(printed.ConvertToTable(t.Context(), sample, nil))(t)
					if diff := cmp.Diff(cellByPath(t, sample, column.Type, path), table.Rows[0].Cells[i+1]); diff != "" {
						t.Errorf("cell %s of the %s report (-want +got):\n%s", column.Name, name, diff)
					}
				}
			}
		})
	}
}

// TestTables compares whole tables to testdata/tables.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		t.Run(kind.Resource, func(t *testing.T) {
			t.Parallel()
			samples := tableSamples(t, kind)
			list := kind.NewList()
			testkit.NoError(t, meta.SetList(list, []runtime.Object{samples["full"], samples["empty"]}))
			table := testkit.Must(testkit.Must(newTable(kind))(t).ConvertToTable(t.Context(), list, nil))(t)
			compareGolden(t, "tables/"+kind.Resource+".golden", printTable(table))
		})
	}
}

func TestTableOfList(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "policyreports")
	list := kind.NewList()
	listMeta := testkit.Must(meta.ListAccessor(list))(t)
	listMeta.SetResourceVersion("7")
	listMeta.SetContinue("more")
	listMeta.SetRemainingItemCount(new(int64(3)))
	convertor := testkit.Must(newTable(kind))(t)

	table := testkit.Must(convertor.ConvertToTable(t.Context(), list, &metav1.TableOptions{NoHeaders: true}))(t)
	want := metav1.ListMeta{ResourceVersion: "7", Continue: "more", RemainingItemCount: new(int64(3))}
	testkit.NoDiff(t, cmp.Diff(want, table.ListMeta), "list metadata (-want +got)")
	if len(table.ColumnDefinitions) != 0 {
		t.Errorf("NoHeaders gives %d headings", len(table.ColumnDefinitions))
	}
}

func TestTableOfOneReport(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "reports")
	one := newReport(t, kind, metav1.ObjectMeta{Name: "one", ResourceVersion: "9"}, fullContent())
	table := testkit.Must(testkit.Must(newTable(kind))(t).ConvertToTable(t.Context(), one, &metav1.TableOptions{}))(t)
	if table.ResourceVersion != "9" || len(table.Rows) != 1 || table.Rows[0].Object.Object != runtime.Object(one) {
		t.Errorf("table of one report: resourceVersion %q, rows %v", table.ResourceVersion, table.Rows)
	}
}

func TestTableOfOtherObject(t *testing.T) {
	t.Parallel()
	_, err := testkit.Must(newTable(kindOf(t, "reports")))(t).ConvertToTable(t.Context(), &metav1.PartialObjectMetadata{}, nil)
	if err == nil || !strings.Contains(err.Error(), "PartialObjectMetadata") {
		t.Errorf("error is %v, want one that says what is wrong", err)
	}
}

// tableSamples returns reports with all, some and no columns filled.
func tableSamples(t *testing.T, kind Kind) map[string]object {
	t.Helper()
	fiveHours := metav1.NewTime(time.Now().Add(-5*time.Hour - time.Minute))
	full := metav1.ObjectMeta{
		Name: "full", Namespace: "team-a", CreationTimestamp: fiveHours,
		Labels: map[string]string{
			"audit.kyverno.io/source":         "ValidatingPolicy",
			"audit.kyverno.io/resource.group": "apps",
			"audit.kyverno.io/resource.kind":  "Deployment",
			"audit.kyverno.io/resource.uid":   "uid-1",
			"audit.kyverno.io/resource.hash":  "abc",
		},
		Annotations: map[string]string{"audit.kyverno.io/resource.name": "web"},
	}
	partial := content{
		scope:   &report.ObjectReference{Kind: "Namespace"},
		summary: &report.Summary{Fail: new(int64(1)), Skip: new(int64(0))},
	}
	return map[string]object{
		"full":    newReport(t, kind, full, fullContent()),
		"partial": newReport(t, kind, metav1.ObjectMeta{Name: "partial", CreationTimestamp: fiveHours}, partial),
		"empty":   newReport(t, kind, metav1.ObjectMeta{Name: "empty", Namespace: "team-a"}, content{}),
	}
}

// cellByPath evaluates a published column as a server of custom resources does.
func cellByPath(t *testing.T, sample object, columnType, path string) any {
	t.Helper()
	object := testkit.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(sample))(t)
	parser := jsonpath.New(path).AllowMissingKeys(true)
	testkit.NoError(t, parser.Parse("{"+path+"}"))
	found, err := parser.FindResults(object)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0]
	if !value.IsValid() || value.Kind() == reflect.Interface && value.IsNil() {
		return nil
	}
	switch columnType {
	case "date":
		return "5h1m"
	case "integer":
		return value.Interface()
	default:
		var buffer bytes.Buffer
		testkit.NoError(t, parser.PrintResults(&buffer, []reflect.Value{value}))
		return buffer.String()
	}
}

func printTable(table *metav1.Table) string {
	var out strings.Builder
	for _, column := range table.ColumnDefinitions {
		fmt.Fprintf(&out, "%s (%s, format %q, priority %d): %s\n",
			column.Name, column.Type, column.Format, column.Priority, column.Description)
	}
	for _, row := range table.Rows {
		var cells []string
		for _, cell := range row.Cells {
			cells = append(cells, fmt.Sprintf("%T(%v)", cell, cell))
		}
		fmt.Fprintln(&out, strings.Join(cells, " | "))
	}
	return out.String()
}

func cutLast(line string) (string, string, bool) {
	at := strings.LastIndex(line, " ")
	if at < 0 {
		return line, "", false
	}
	return line[:at], line[at+1:], true
}
