// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"

	"github.com/docket-project/docket/conformance/runner"
)

// noSuchField is one that no kind has.
const noSuchField = "spec.conformanceNoSuchField"

// malformedSelectors are no label selectors.
var malformedSelectors = []string{colorLabel + " in (red", colorLabel + "=red=blue", "!!"} //nolint:gochecknoglobals // A constant.

func listsSelectorsRules() []runner.Check {
	return []runner.Check{listLabelSelector(), listFieldSelector(), listFieldSelectorUnknown(), listSelectorMalformed()}
}

func listLabelSelector() runner.Check {
	return runner.Check{
		ID: "list-label-selector", Area: areaLists,
		Rule:        "A labelSelector supports =, ==, !=, in, notin, key, and !key; != and notin also select objects without the label.",
		Detail:      "Creates three objects with different labels, and lists with each operator.",
		Reference:   labelSelectorPage,
		PerResource: true, Verbs: []string{"create", "get", "list"},
		Run: func(p *runner.Probe) {
			red := makeLabelled(p, map[string]string{colorLabel: "red", sizeLabel: "large"})
			blue := makeLabelled(p, map[string]string{colorLabel: "blue"})
			plain := makeLabelled(p, nil)
			for _, test := range []struct {
				selector string
				names    []string
			}{
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
	}
}

func listFieldSelector() runner.Check {
	return runner.Check{
		ID: "list-field-selector", Area: areaLists,
		Rule:        "A fieldSelector selects by metadata.name and metadata.namespace.",
		Detail:      "Lists with = and != for both; resources without namespaces by name only.",
		Reference:   fieldSelectorPage,
		PerResource: true, Verbs: []string{"create", "get", "list"},
		Run: func(p *runner.Probe) {
			names := makeSome(p, 2)
			type selected struct {
				selector string
				names    []string
			}
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
	}
}

func listFieldSelectorUnknown() runner.Check {
	return runner.Check{
		ID: "list-field-selector-unknown", Area: areaLists,
		Rule:        "A fieldSelector for a field that can't be selected by gets 400 or 422; it is never ignored.",
		Detail:      "Selects by a field that does not exist.",
		Reference:   fieldSelectorPage,
		PerResource: true, Verbs: []string{"list"},
		Run: func(p *runner.Probe) {
			wantNoList(p, ours(p, "fieldSelector", noSuchField+"=1")...)
		},
	}
}

func listSelectorMalformed() runner.Check {
	return runner.Check{
		ID: "list-selector-malformed", Area: areaLists,
		Rule:        "A malformed selector gets 400 or 422.",
		Detail:      "Sends several malformed labelSelectors and a malformed fieldSelector.",
		Reference:   labelSelectorPage,
		PerResource: true, Verbs: []string{"list"},
		Run: func(p *runner.Probe) {
			for _, selector := range malformedSelectors {
				wantNoList(p, "labelSelector", selector)
			}
			wantNoList(p, ours(p, "fieldSelector", "metadata.name")...)
		},
	}
}

// wantNoList returns a failure unless a list is refused as a mistake of the client.
func wantNoList(p *runner.Probe, query ...string) {
	p.Send(runner.Get(p.Collection(), query...)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
}
