// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// noSuchField is one that no kind has.
const noSuchField = "spec.conformanceNoSuchField"

// malformedSelectors are no label selectors.
var malformedSelectors = []string{colorLabel + " in (red", colorLabel + "=red=blue", "!!"}

// selected are the objects that a selector selects.
type selected struct {
	selector string
	names    []string
}

var listsSelectors = []runner.Check{
	{
		ID: "list-label-selector", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A labelSelector supports =, ==, !=, in, notin, key, and !key; != and notin also select objects without the label.",
		Detail:    "Creates three objects with different labels, and lists with each operator.",
		Reference: labelSelectorPage,
		Run: func(p *runner.Probe) {
			red := makeLabelled(p, map[string]string{colorLabel: "red", sizeLabel: "large"})
			blue := makeLabelled(p, map[string]string{colorLabel: "blue"})
			plain := makeLabelled(p, nil)
			for _, test := range []selected{
				{colorLabel + "=red", []string{red}},
				{colorLabel + "==blue", []string{blue}},
				{colorLabel + "=green", nil},
				{colorLabel + "!=red", []string{blue, plain}},
				{colorLabel + " in (red, green)", []string{red}},
				{colorLabel + " in (red,blue)", []string{red, blue}},
				{colorLabel + " notin (red)", []string{blue, plain}},
				{colorLabel, []string{red, blue}},
				{"!" + colorLabel, []string{plain}},
				{colorLabel + "," + sizeLabel + "=large", []string{red}},
			} {
				query := []string{"labelSelector", p.Selector() + "," + test.selector}
				wantNames(p, p.Collection(), query, test.names...)
			}
		},
	},
	{
		ID: "list-field-selector", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A fieldSelector selects by metadata.name and metadata.namespace.",
		Detail:    "Lists with = and != for both; resources without namespaces by name only.",
		Reference: fieldSelectorPage,
		Run: func(p *runner.Probe) {
			names := makeSome(p, 2)
			tests := []selected{
				{"metadata.name=" + names[0], names[:1]},
				{"metadata.name!=" + names[0], names[1:]},
				{"metadata.name=" + p.Name(), nil},
			}
			if p.Namespace != "" {
				tests = append(tests,
					selected{"metadata.namespace=" + p.Namespace, names},
					selected{"metadata.namespace!=" + p.Namespace, nil},
					selected{"metadata.namespace=" + p.Namespace + ",metadata.name=" + names[1], names[1:]},
				)
			}
			for _, test := range tests {
				wantNames(p, p.Collection(), ours(p, "fieldSelector", test.selector), test.names...)
			}
		},
	},
	{
		ID: "list-field-selector-unknown", Area: areaLists, PerResource: true, Verbs: []string{"list"},
		Rule:      "A fieldSelector for a field that can't be selected by gets 400 or 422; it is never ignored.",
		Detail:    "Selects by a field that does not exist.",
		Reference: fieldSelectorPage,
		Run:       func(p *runner.Probe) { wantNoList(p, ours(p, "fieldSelector", noSuchField+"=1")...) },
	},
	{
		ID: "list-selector-malformed", Area: areaLists, PerResource: true, Verbs: []string{"list"},
		Rule:      "A malformed selector gets 400 or 422.",
		Detail:    "Sends several malformed labelSelectors and a malformed fieldSelector.",
		Reference: labelSelectorPage,
		Run: func(p *runner.Probe) {
			for _, selector := range malformedSelectors {
				wantNoList(p, "labelSelector", selector)
			}
			wantNoList(p, ours(p, "fieldSelector", "metadata.name")...)
		},
	},
	{
		ID: "list-version-any", Area: areaLists, PerResource: true, Verbs: []string{"list"},
		Rule:      "A list with resourceVersion=0 returns a list, of any age.",
		Detail:    "Lists with and without resourceVersionMatch=NotOlderThan.",
		Reference: apiConcepts + listVersionsAnchor,
		Run: func(p *runner.Probe) {
			for _, query := range [][]string{{"resourceVersion", "0"}, {"resourceVersion", "0", "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)}} {
				listOf(p.Send(runner.Get(p.Collection(), ours(p, query...)...)).WantSuccess("a list"))
			}
		},
	},
	{
		ID: "list-version-exact", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list", "update"},
		Rule:      "A list with resourceVersionMatch=Exact shows the state at that resourceVersion, or gets 410.",
		Detail:    "Lists, changes one object and creates another, then lists again with the resourceVersion of the first list.",
		Reference: apiConcepts + listVersionsAnchor,
		Run: func(p *runner.Probe) {
			made := p.Make()
			before := readOurs(p)
			old := before.item(made.GetName())
			if version := before.version(); old == nil || version == "" || version == "0" {
				runner.Leave("there is no list with a resourceVersion and the object that was made before")
			}
			p.Label(made.GetName(), colorLabel, "red")
			later := p.Make()
			query := ours(p, "resourceVersion", before.version(), "resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
			response := p.Send(runner.Get(p.Collection(), query...))
			if response.Code == http.StatusGone {
				return
			}
			response.WantSuccess("a list, or 410 Gone")
			list := listOf(response)
			if list.version() != before.version() {
				list.FailBecause(fmt.Sprintf("it is %q", list.version()), "a list whose metadata.resourceVersion is %s, as asked for", before.version())
			}
			if list.item(later.GetName()) != nil {
				list.Fail("a list without %s, which was created later", later.GetName())
			}
			item := list.item(made.GetName())
			if item == nil {
				list.Fail("a list with %s, which existed at that resourceVersion", made.GetName())
			}
			if item.GetLabels()[colorLabel] != "" {
				list.Fail("%s without the label %s, which it got later", made.GetName(), colorLabel)
			}
		},
	},
	{
		ID: "list-version-not-older", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list", "update"},
		Rule:      "A list with resourceVersionMatch=NotOlderThan shows what was written at that resourceVersion.",
		Detail:    "Changes an object, and lists with its new resourceVersion.",
		Reference: apiConcepts + listVersionsAnchor,
		Run: func(p *runner.Probe) {
			made := p.Make()
			changed := p.Label(made.GetName(), colorLabel, "red")
			if changed.GetResourceVersion() == "" {
				runner.Leave("objects have no resourceVersion")
			}
			query := ours(p, "resourceVersion", changed.GetResourceVersion(), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
			response := askWhenThere(p, query...)
			response.WantSuccess("a list: the resourceVersion is from an object that was just read")
			list := listOf(response)
			item := list.item(made.GetName())
			if item == nil || item.GetLabels()[colorLabel] != "red" {
				list.Fail("a list with %s, and its label %s, which was written at that resourceVersion", made.GetName(), colorLabel)
			}
		},
	},
	{
		ID: "list-version-future", Area: areaLists, PerResource: true, Verbs: []string{"list"}, Slow: true,
		Rule:      "A list with a resourceVersion that does not exist yet gets an error, never an older list.",
		Detail:    "Adds a large number to the resourceVersion of a list. The server may wait before it answers.",
		Reference: apiConcepts + "#unavailable-resource-versions",
		Run: func(p *runner.Probe) {
			present := presentVersion(p)
			query := ours(p, "resourceVersion", strconv.FormatUint(present+farFuture, 10), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
			response := p.Send(runner.Get(p.Collection(), query...))
			if status, _ := response.Status(); response.Code >= http.StatusBadRequest && status != nil && status.Status == metav1.StatusFailure {
				return
			}
			response.Fail("an error, as 504 Gateway Timeout with a Status, because the resourceVersion is far ahead of %d", present)
		},
	},
	{
		ID: "list-version-malformed", Area: areaLists, PerResource: true, Verbs: []string{"list"},
		Rule:      "A list with a malformed resourceVersion gets 400 or 422.",
		Detail:    "Sends resourceVersion=abc, if the resourceVersions of the server are numbers.",
		Reference: apiConcepts + "#resource-versions",
		Run: func(p *runner.Probe) {
			presentVersion(p)
			wantNoList(p, ours(p, "resourceVersion", "abc")...)
		},
	},
	{
		ID: "list-match-without-version", Area: areaLists, PerResource: true, Verbs: []string{"list"},
		Rule:      "A list with resourceVersionMatch but no resourceVersion gets 400 or 422.",
		Detail:    "Sends both matches that exist, and a match that does not exist with a resourceVersion.",
		Reference: apiConcepts + listVersionsAnchor,
		Run: func(p *runner.Probe) {
			for _, query := range [][]string{
				{"resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)},
				{"resourceVersionMatch", string(metav1.ResourceVersionMatchExact)},
				{"resourceVersionMatch", "Roughly", "resourceVersion", "0"},
			} {
				wantNoList(p, ours(p, query...)...)
			}
		},
	},
}

// wantNoList fails the check unless a list is refused as a mistake of the client.
func wantNoList(p *runner.Probe, query ...string) {
	p.Send(runner.Get(p.Collection(), query...)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
}

// farFuture is how many writes a server does not do before a check ends.
const farFuture = 1 << 32

// askWhenThere asks for a list again while a server that is behind says so.
func askWhenThere(p *runner.Probe, query ...string) *runner.Response {
	for try := 1; ; try++ {
		response := p.Send(runner.Get(p.Collection(), query...))
		if response.Code != http.StatusGatewayTimeout || try == attempts {
			return response
		}
	}
}

// presentVersion returns the resourceVersion of a list. Checks are left out if it is no number that can still grow.
func presentVersion(p *runner.Probe) uint64 {
	list := readOurs(p)
	number, err := strconv.ParseUint(list.version(), 10, 64)
	if err != nil || number > math.MaxInt64-farFuture {
		runner.Leave("the resourceVersions of the server are not increasing numbers (%q)", list.version())
	}
	return number
}
