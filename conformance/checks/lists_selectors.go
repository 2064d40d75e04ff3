// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

// noSuchField is one that no kind has.
const noSuchField = "spec.conformanceNoSuchField"

// malformedSelectors are no label selectors.
var malformedSelectors = []string{colorLabel + " in (red", colorLabel + "=red=blue", "!!"} //nolint:gochecknoglobals // A constant.

func listsSelectorsRules() []rule {
	return []rule{listLabelSelector{}, listFieldSelector{}, listFieldSelectorUnknown{}, listSelectorMalformed{}}
}

type listLabelSelector struct{}

func (r listLabelSelector) check() runner.Check {
	return runner.Check{
		ID: "list-label-selector", Area: areaLists,
		Rule:        "A labelSelector supports =, ==, !=, in, notin, key, and !key; != and notin also select objects without the label.",
		Detail:      "Creates three objects with different labels, and lists with each operator.",
		Reference:   labelSelectorPage,
		PerResource: true, Verbs: []string{"create", "get", "list"}, Run: r.run,
	}
}

func (listLabelSelector) run(p *runner.Probe) {
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
}

func (listLabelSelector) broken() broken.Server {
	return broken.That("does not select objects without the label with !=", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("labelSelector")), func(r *http.Request) {
		selector := r.URL.Query().Get("labelSelector")
		for _, term := range strings.Split(selector, ",") {
			if key, _, found := strings.Cut(term, "!="); found {
				selector += "," + key
			}
		}
		broken.SetQuery(r, "labelSelector", selector)
	}))
}

type listFieldSelector struct{}

func (r listFieldSelector) check() runner.Check {
	return runner.Check{
		ID: "list-field-selector", Area: areaLists,
		Rule:        "A fieldSelector selects by metadata.name and metadata.namespace.",
		Detail:      "Lists with = and != for both; resources without namespaces by name only.",
		Reference:   fieldSelectorPage,
		PerResource: true, Verbs: []string{"create", "get", "list"}, Run: r.run,
	}
}

func (listFieldSelector) run(p *runner.Probe) {
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
}

func (listFieldSelector) broken() broken.Server {
	return broken.That("ignores != in a fieldSelector", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("fieldSelector")), func(r *http.Request) {
		terms := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
		terms = slices.DeleteFunc(terms, func(term string) bool { return strings.Contains(term, "!=") })
		broken.SetQuery(r, "fieldSelector", strings.Join(terms, ","))
	}))
}

type listFieldSelectorUnknown struct{}

func (r listFieldSelectorUnknown) check() runner.Check {
	return runner.Check{
		ID: "list-field-selector-unknown", Area: areaLists,
		Rule:        "A fieldSelector for a field that can't be selected by gets 400 or 422; it is never ignored.",
		Detail:      "Selects by a field that does not exist.",
		Reference:   fieldSelectorPage,
		PerResource: true, Verbs: []string{"list"}, Run: r.run,
	}
}

func (listFieldSelectorUnknown) run(p *runner.Probe) {
	wantNoList(p, ours(p, "fieldSelector", noSuchField+"=1")...)
}

func (listFieldSelectorUnknown) broken() broken.Server {
	return broken.That("ignores a fieldSelector about a field that it does not know", broken.AgainIf(broken.And(broken.Listing, func(r *http.Request) bool { return isFieldSelector(r.URL.Query().Get("fieldSelector")) }), broken.IsBadRequest, "fieldSelector"))
}

// isFieldSelector reports whether a text can be parsed.
func isFieldSelector(text string) bool {
	selector, err := fields.ParseSelector(text)
	return err == nil && !selector.Empty()
}

type listSelectorMalformed struct{}

func (r listSelectorMalformed) check() runner.Check {
	return runner.Check{
		ID: "list-selector-malformed", Area: areaLists,
		Rule:        "A malformed selector gets 400 or 422.",
		Detail:      "Sends several malformed labelSelectors and a malformed fieldSelector.",
		Reference:   labelSelectorPage,
		PerResource: true, Verbs: []string{"list"}, Run: r.run,
	}
}

func (listSelectorMalformed) run(p *runner.Probe) {
	for _, selector := range malformedSelectors {
		wantNoList(p, "labelSelector", selector)
	}
	wantNoList(p, ours(p, "fieldSelector", "metadata.name")...)
}

func (listSelectorMalformed) broken() broken.Server {
	return broken.That("ignores a labelSelector that it does not understand", broken.WithoutQuery(broken.And(broken.Listing, func(r *http.Request) bool {
		_, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		return err != nil
	}), "labelSelector"))
}

// wantNoList returns a failure unless a list is refused as a mistake of the client.
func wantNoList(p *runner.Probe, query ...string) {
	send(p, runner.Get(p.Collection(), query...), status("", http.StatusBadRequest, http.StatusUnprocessableEntity))
}
