// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	// asNoTable asks for a Table of a version that does not exist, or else for plain JSON.
	asNoTable = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json"
)

// table is a Table as servers send it.
type table struct {
	metav1.TypeMeta   `json:",inline"`
	ColumnDefinitions []metav1.TableColumnDefinition `json:"columnDefinitions"`
	Rows              []row                          `json:"rows"`
}

type row struct {
	Cells  []any          `json:"cells"`
	Object map[string]any `json:"object"`
}

func (r *row) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: r.Object}
}

// readTable returns the Table that a document is, or what it is instead.
func readTable(document []byte) (t *table, found string) {
	t = &table{}
	if err := json.Unmarshal(document, t); err != nil {
		return nil, fmt.Sprintf("it can't be read as a Table: %v", err)
	}
	if t.Kind != "Table" || t.APIVersion != metav1.SchemeGroupVersion.String() {
		return nil, fmt.Sprintf("it has apiVersion %q and kind %q", t.APIVersion, t.Kind)
	}
	return t, ""
}

// getTable sends a GET for a Table. The check is left out if the server refuses tables.
func getTable(p *runner.Probe, path string, query ...string) (*table, *runner.Response) {
	response := p.Send(runner.Get(path, query...).With("Accept", asTable))
	if response.Code == http.StatusNotAcceptable {
		runner.Leave("the server has no tables for the resource: it answers 406")
	}
	const expected = "a Table of meta.k8s.io/v1, or 406 Not Acceptable from a server without tables"
	response.WantSuccess(expected)
	t, found := readTable(response.Body)
	if t == nil {
		response.FailBecause(found, expected)
	}
	return t, response
}

// wrongRow says what is wrong with a row of a Table with so many columns.
func wrongRow(r *row, columns int) string {
	if len(r.Cells) != columns {
		return fmt.Sprintf("a row has %d cells, and there are %d columns", len(r.Cells), columns)
	}
	if object := r.object(); object.GetKind() != "PartialObjectMetadata" || object.GetName() == "" {
		return fmt.Sprintf("the object of a row has the kind %q and the name %q", object.GetKind(), object.GetName())
	}
	return ""
}

const rowsExpected = "rows with a cell for each column, and with the PartialObjectMetadata of their objects"

var formatsTables = []runner.Check{
	{
		ID: "table-list", Area: areaFormats, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list as a Table has a row for each object, with a cell for each column and the metadata of the object.",
		Detail:    "There must be a column Name of type string and format name with the names of the objects, unless clients create none of them. Servers without tables must return 406.",
		Reference: aboutTables,
		Run: func(p *runner.Probe) {
			wanted := some(p, 2)
			if p.Resource.ShownOnly() {
				wanted = wanted[:1] // Others may be on further pages.
			}
			missing := sets.New(wanted...)
			list, response := getTable(p, p.Collection(), ours(p)...)
			names := -1
			for i, column := range list.ColumnDefinitions {
				if strings.EqualFold(column.Name, "Name") && column.Type == "string" && column.Format == "name" {
					names = i
				}
			}
			if names < 0 && !p.Resource.ShownOnly() {
				response.Fail(`a column Name of the type "string" and the format "name"`)
			}
			for i := range list.Rows {
				one := &list.Rows[i]
				if found := wrongRow(one, len(list.ColumnDefinitions)); found != "" {
					response.FailBecause(found, rowsExpected)
				}
				name := one.object().GetName()
				if names >= 0 && one.Cells[names] != name {
					response.FailBecause(fmt.Sprintf("the row of %s has %v", name, one.Cells[names]), "the names of the objects in the column Name")
				}
				delete(missing, name)
			}
			for name := range missing {
				response.FailBecause("there is no row for "+name, "a row for each object")
			}
		},
	},
	{
		ID: "table-object", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object as a Table has one row.",
		Detail:    "The row must have a cell for each column and the metadata of the object. Servers without tables must return 406.",
		Reference: aboutTables,
		Run: func(p *runner.Probe) {
			made := p.Make()
			single, response := getTable(p, p.Path(made.GetName()))
			if len(single.Rows) != 1 {
				response.FailBecause(fmt.Sprintf("it has %d rows", len(single.Rows)), "a Table with one row for the object")
			}
			if found := wrongRow(&single.Rows[0], len(single.ColumnDefinitions)); found != "" {
				response.FailBecause(found, rowsExpected)
			}
			if name := single.Rows[0].object().GetName(); name != made.GetName() {
				response.FailBecause("the row is that of "+name, "the row of %s", made.GetName())
			}
		},
	},
	{
		ID: "table-include-object", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "The rows of a Table have no object with includeObject=None, and the complete one with includeObject=Object.",
		Detail:    "Lists as a Table both ways. Servers without tables must return 406.",
		Reference: aboutBoth,
		Run: func(p *runner.Probe) {
			made := p.Make()
			none, response := getTable(p, p.Collection(), "labelSelector", p.Selector(), "includeObject", string(metav1.IncludeNone))
			for i := range none.Rows {
				if none.Rows[i].Object != nil {
					response.Fail("rows without objects")
				}
			}
			whole, response := getTable(p, p.Collection(), "labelSelector", p.Selector(), "includeObject", string(metav1.IncludeObject))
			for i := range whole.Rows {
				object := whole.Rows[i].object()
				if object.GetName() != made.GetName() {
					continue
				}
				gvk := object.GroupVersionKind()
				unchanged := object.GetResourceVersion() == made.GetResourceVersion()
				if gvk != p.Resource.GVK() || unchanged && !sameContent(object, made) {
					response.FailBecause("the object of the row differs", "a row with the whole %s, as GET returns it", p.Resource.Kind)
				}
				return
			}
			response.FailBecause("no row has its object", "a row with the whole object %s", made.GetName())
		},
	},
	{
		ID: "table-watch", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"},
		Rule:      "Each event of a watch as Tables has a Table with one row; the first one has the columns.",
		Detail:    "Later Tables may omit the columns. Servers without tables must return 406.",
		Reference: aboutBoth,
		Run: steadily(func(p *runner.Probe) {
			stream := watchAs(p, asTable)
			defer stream.Close()
			made := p.Make()
			p.Remove(made.GetName())
			end := p.Make()
			columns := 0
			for {
				event := nextThat(stream, func(event *runner.Event) bool {
					return event.Type != eventBookmark && event.Type != eventError
				}, "events with Tables, up to that of "+end.GetName())
				one, found := rowOfEvent(event, &columns)
				if found != "" {
					stream.Fail(found, "events with a Table each, which has one row with a cell for each column; the first one has the columns")
				}
				if one.object().GetName() == end.GetName() {
					return
				}
			}
		}),
	},
	{
		ID: "table-fallback", Area: areaFormats, PerResource: true, Verbs: []string{"list"},
		Rule:      "A client that accepts a Table or else plain JSON gets the one that the server supports.",
		Detail:    "Lists with an Accept header like kubectl's, and with one whose version of Table does not exist.",
		Reference: aboutTables,
		Run: func(p *runner.Probe) {
			for _, accept := range []string{asTable + ",application/json", asNoTable} {
				response := p.Send(runner.Get(p.Collection(), "labelSelector", p.Selector()).With("Accept", accept))
				const expected = "a list in plain JSON, or a Table"
				response.WantSuccess(expected)
				var value struct {
					Items []any `json:"items"`
				}
				t, _ := readTable(response.Body)
				if err := json.Unmarshal(response.Body, &value); t == nil && (err != nil || value.Items == nil) {
					response.Fail(expected)
				}
			}
		},
	},
}

// rowOfEvent returns the row of the Table of an event, or what is wrong with it. columns keeps the number of columns of
// the last Table that had any.
func rowOfEvent(event *runner.Event, columns *int) (r *row, found string) {
	document, err := json.Marshal(event.Object.Object)
	if err != nil {
		return nil, err.Error()
	}
	t, found := readTable(document)
	if t == nil {
		return nil, "the object of an event is another: " + found
	}
	if n := len(t.ColumnDefinitions); n > 0 {
		*columns = n
	}
	if *columns == 0 {
		return nil, "the first Table has no columns"
	}
	if len(t.Rows) != 1 {
		return nil, fmt.Sprintf("a Table has %d rows", len(t.Rows))
	}
	return &t.Rows[0], wrongRow(&t.Rows[0], *columns)
}

// watchAs starts a watch of what the probe makes from now on, in a format. The check is left out if
// the server refuses it.
func watchAs(p *runner.Probe, format string) *runner.Stream {
	version := listVersion(p)
	request := runner.Get(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", version)
	stream, response := p.WatchWith(request.With("Accept", format))
	switch {
	case stream != nil:
	case response.Code == http.StatusNotAcceptable:
		runner.Leave("the server has no watches of the resource in this format: it answers 406")
	default:
		response.Fail("a watch with %s, or 406 Not Acceptable from a server without this format", format)
	}
	return stream
}
