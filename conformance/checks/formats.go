// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaFormats = "Tables and metadata"

	aboutTables   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables"
	aboutMetadata = "https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"
	// aboutBoth has what the other pages leave out: includeObject, and how it is in watches.
	aboutBoth = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2334-graduate-server-side-get-and-partial-objects-to-GA"
)

const (
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	// asNoTable asks for a Table of a version that does not exist, or else for plain JSON.
	asNoTable = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json"

	asMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	asMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
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

var formats = []runner.Check{
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
	{
		ID: "metadata-object", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object as PartialObjectMetadata has all of its metadata and nothing else.",
		Detail:    "Gets an object both ways. Of its annotations, only the one it was created with is compared. Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: func(p *runner.Probe) {
			made := p.Create(annotated(p))
			for try := 1; ; try++ {
				value, response := getMetadata(p, asMetadata, "PartialObjectMetadata", p.Path(made.GetName()))
				if found := besidesMetadata(value); found != "" {
					response.FailBecause(found, "metadata only")
				}
				if sameMetadata(value, made.Object) {
					return
				}
				partial := &unstructured.Unstructured{Object: value}
				if partial.GetResourceVersion() == made.GetResourceVersion() || try == attempts {
					response.FailBecause("the metadata differs", "the metadata of the object: %v", made.Object["metadata"])
				}
				made = p.Read(made.GetName())
			}
		},
	},
	{
		ID: "metadata-list", Area: areaFormats, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list as PartialObjectMetadataList has the metadata of the objects and nothing else.",
		Detail:    "Lists two objects; those that are there where clients don't create any. Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: func(p *runner.Probe) {
			missing := map[string]*unstructured.Unstructured{}
			if p.Resource.ShownOnly() {
				names := some(p, 1)
				missing[names[0]] = p.Read(names[0])
			} else {
				for range 2 {
					made := p.Create(annotated(p))
					missing[made.GetName()] = made
				}
			}
			value, response := getMetadata(p, asMetadataList, "PartialObjectMetadataList", p.Collection(), ours(p)...)
			items, _ := value["items"].([]any)
			for _, item := range items {
				fields, _ := item.(map[string]any)
				if found := besidesMetadata(fields); found != "" {
					response.FailBecause(found, "items with metadata only")
				}
				partial := &unstructured.Unstructured{Object: fields}
				made := missing[partial.GetName()]
				// Without a resourceVersion nobody can say that it is still the same object: metrics have the time of the request.
				unchanged := made != nil && made.GetResourceVersion() != "" && partial.GetResourceVersion() == made.GetResourceVersion()
				if unchanged && !sameMetadata(fields, made.Object) {
					response.FailBecause("the metadata of "+made.GetName()+" is another", "the metadata of the object: %v", made.Object["metadata"])
				}
				delete(missing, partial.GetName())
			}
			for name := range missing {
				response.FailBecause("there is no item for "+name, "an item for each object")
			}
		},
	},
	{
		ID: "metadata-watch", Area: areaFormats, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
		Rule:      "The events of a watch as PartialObjectMetadata have the metadata of the objects and nothing else.",
		Detail:    "Servers that don't support this must return 406.",
		Reference: aboutMetadata,
		Run: steadily(func(p *runner.Probe) {
			stream := watchAs(p, asMetadata)
			defer stream.Close()
			states, end := livesAndEnds(p)
			for {
				event := nextAbout(stream, "events about two objects, up to that of "+end.GetName(), states[0].GetName(), end.GetName())
				object := event.Object
				found := besidesMetadata(object.Object)
				if object.GetKind() != "PartialObjectMetadata" || object.GetAPIVersion() != metav1.SchemeGroupVersion.String() {
					found = fmt.Sprintf("an event has apiVersion %q and kind %q", object.GetAPIVersion(), object.GetKind())
				}
				if found != "" {
					stream.Fail(found, "events with PartialObjectMetadata of meta.k8s.io/v1, which has metadata only")
				}
				if object.GetName() == end.GetName() {
					return
				}
			}
		}),
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

// annotated returns a new object whose metadata is not only labels.
func annotated(p *runner.Probe) *unstructured.Unstructured {
	object := p.New()
	addNotes(object, stepLabel, "first")
	return object
}

// getMetadata sends a GET for metadata. The check is left out if the server refuses that.
func getMetadata(p *runner.Probe, accept, kind, path string, query ...string) (map[string]any, *runner.Response) {
	response := p.Send(runner.Get(path, query...).With("Accept", accept))
	if response.Code == http.StatusNotAcceptable {
		runner.Leave("the server does not answer with metadata only: it answers 406")
	}
	response.WantSuccess("a %s, or 406 Not Acceptable from a server that has none", kind)
	value := response.JSON()
	if value["kind"] != kind || value["apiVersion"] != metav1.SchemeGroupVersion.String() {
		response.Fail("the kind %s of meta.k8s.io/v1", kind)
	}
	return value, response
}

// besidesMetadata says what an object has that is not metadata.
func besidesMetadata(value map[string]any) string {
	for name := range value {
		if name != "kind" && name != "apiVersion" && name != "metadata" {
			return fmt.Sprintf("there is %s, too", name)
		}
	}
	return ""
}

// sameMetadata compares the metadata of two objects. Of their annotations, it looks at that of annotated
// only: there are servers that add others when they convert an object, which metadata is not.
func sameMetadata(a, b map[string]any) bool {
	fieldsA, okA := a["metadata"].(map[string]any)
	fieldsB, okB := b["metadata"].(map[string]any)
	if !okA || !okB {
		return false
	}
	fieldsA, fieldsB = maps.Clone(fieldsA), maps.Clone(fieldsB)
	for _, fields := range []map[string]any{fieldsA, fieldsB} {
		value, _, _ := unstructured.NestedFieldNoCopy(fields, "annotations", stepLabel)
		fields["annotations"] = value
	}
	return reflect.DeepEqual(fieldsA, fieldsB)
}
