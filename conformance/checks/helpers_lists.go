// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// colorLabel and sizeLabel are on objects that are selected, or not.
	colorLabel = "conformance.docket.dev/color"
	sizeLabel  = "conformance.docket.dev/size"
)

// listed is a list, as far as checks need it. What is wrong with its shape is the business of few
// checks, so nothing is demanded of it.
type listed struct {
	*runner.Response

	metadata map[string]any
	items    []*unstructured.Unstructured
}

// readList asks for a list, which a check needs to go on.
func readList(p *runner.Probe, path string, query ...string) *listed {
	response := p.Prepare("list objects", runner.Get(path, query...))
	return listOf(response)
}

// readOurs asks for a list of what the probe has made.
func readOurs(p *runner.Probe, query ...string) *listed {
	return readList(p, p.Collection(), ours(p, query...)...)
}

// ours adds the selector of what the probe has made to a query; nothing where objects are only shown.
func ours(p *runner.Probe, query ...string) []string {
	if p.Resource.ShownOnly() {
		return query
	}
	return append([]string{"labelSelector", p.Selector()}, query...)
}

func listOf(response *runner.Response) *listed {
	value := response.JSON()
	list := &listed{Response: response}
	list.metadata, _ = value["metadata"].(map[string]any)
	given, has := value["items"]
	items, isArray := given.([]any)
	if !isArray && given != nil || !has {
		response.Fail("a list of objects")
	}
	for _, one := range items {
		item, ok := one.(map[string]any)
		if !ok {
			response.Fail("a list of objects")
		}
		list.items = append(list.items, &unstructured.Unstructured{Object: item})
	}
	return list
}

// version is the list's own.
func (l *listed) version() string {
	version, _ := l.metadata["resourceVersion"].(string)
	return version
}

// token is that of the page after this one; empty if there is none.
func (l *listed) token() string {
	token, _ := l.metadata["continue"].(string)
	return token
}

// item returns the object with a name; nil if the list does not have it.
func (l *listed) item(name string) *unstructured.Unstructured {
	for _, item := range l.items {
		if item.GetName() == name {
			return item
		}
	}
	return nil
}

// names are sorted.
func (l *listed) names() []string {
	names := []string{}
	for _, item := range l.items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names
}

// numberIn returns a number of JSON, whichever way it was read.
func numberIn(value any) (number float64, ok bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// makeSome makes objects and returns their names, sorted.
func makeSome(p *runner.Probe, count int) []string {
	var names []string
	for range count {
		object := p.Make()
		names = append(names, object.GetName())
	}
	slices.Sort(names)
	return names
}

// mostShown bounds the objects that are compared where nobody can make few of them.
const mostShown = 10_000

// some returns the names of objects of the resource: of new ones or, where objects are only shown, of those that
// are there. Then the probe is in their namespace from now on. That others change them meanwhile is possible.
func some(p *runner.Probe, count int) []string {
	if !p.Resource.ShownOnly() {
		return makeSome(p, count)
	}
	if p.Resource.Namespaced {
		anywhere := readList(p, p.Resource.CollectionPath(""), "limit", "1")
		if len(anywhere.items) > 0 {
			p.Namespace = anywhere.items[0].GetNamespace()
		}
	}
	return shown(p)
}

// shown returns the names of all objects that are only shown, in their order.
func shown(p *runner.Probe) []string {
	var names []string
	for token := ""; ; {
		var query []string
		if token != "" {
			query = []string{"continue", token}
		}
		list := readList(p, p.Collection(), query...)
		for _, item := range list.items {
			names = append(names, item.GetName())
		}
		switch token = list.token(); {
		case len(names) > mostShown:
			runner.Leave("there are more than %d objects, and no few can be made", mostShown)
		case token == "" && len(names) == 0:
			runner.Leave("there is no object, and clients don't create any")
		case token == "":
			return names
		}
	}
}

// makeLabelled makes an object that has these labels, too, and returns its name.
func makeLabelled(p *runner.Probe, labels map[string]string) string {
	object := p.New()
	for name, value := range labels {
		runner.SetLabel(object, name, value)
	}
	p.Create(object)
	return object.GetName()
}
