// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

// transition is an event that has to come.
type transition struct{ kind, name string }

func watchesSelectedRules() []rule {
	return []rule{watchLabelSelector{}, watchFieldSelector{}, watchNamespace{}}
}

type watchLabelSelector struct{}

func (r watchLabelSelector) check() runner.Check {
	return runner.Check{
		ID: "watch-label-selector", Area: areaWatches,
		Rule:        "In a watch with a labelSelector, an object that stops matching is DELETED, one that starts matching is ADDED, and others do not appear.",
		Detail:      "Changes the label of an object that matches and of one that doesn't. Checks the types of the events, not their objects.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"}, Run: steadily(r.run),
	}
}

func (watchLabelSelector) run(p *runner.Probe) {
	version := listVersion(p)
	stream := p.MustWatch(p.Collection(), "labelSelector", p.Selector()+","+stepLabel+"=in", "resourceVersion", version)
	defer stream.Close()
	leaves, enters, last := labelled(p, "in"), labelled(p, "out"), labelled(p, "in")
	p.Create(leaves)
	p.Create(enters)
	for _, change := range []struct{ name, step string }{
		{leaves.GetName(), "out"}, {leaves.GetName(), "further-out"}, {enters.GetName(), "in"},
	} {
		p.Label(change.name, stepLabel, change.step)
	}
	p.Create(last)
	wantTransitions(stream,
		transition{eventAdded, leaves.GetName()}, transition{eventDeleted, leaves.GetName()}, transition{eventAdded, enters.GetName()}, transition{eventAdded, last.GetName()})
}

func (watchLabelSelector) broken() broken.Server {
	return broken.That("shows watches those events whose objects match, as they are for all", selectEvents)
}

// wantTransitions looks whether objects come and go for a watch in this order.
func wantTransitions(stream *runner.Stream, wanted ...transition) {
	var names []string
	expected := "just these events, for the object that stops to match and the one that starts to:"
	for _, one := range wanted {
		names = append(names, one.name)
		expected += " " + one.kind + " " + one.name
	}
	visible := map[string]bool{}
	for len(wanted) > 0 {
		event := nextAbout(stream, expected, names...)
		name := event.Object.GetName()
		switch {
		case event.Type != eventDeleted && visible[name]: // Somebody else may have changed it.
		case event.Type == wanted[0].kind && name == wanted[0].name:
			visible[name] = event.Type == eventAdded
			wanted = wanted[1:]
		default:
			stream.Fail(fmt.Sprintf("%s %s comes instead of %s %s", event.Type, name, wanted[0].kind, wanted[0].name), "%s", expected)
		}
	}
}

// selectEvents asks for all events and leaves out those whose objects do not match, without a look at
// what they were before.
func selectEvents(next http.Handler) http.Handler {
	matching := broken.OnEvents(plain, func(r *http.Request) func(map[string]any) []map[string]any {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			selector = labels.Nothing()
		}
		return func(event map[string]any) []map[string]any {
			object, _ := objectOf(event)
			if kind := event["type"]; object == nil || kind == "BOOKMARK" || kind == "ERROR" {
				return []map[string]any{event}
			}
			set := labels.Set{}
			for name, value := range broken.FieldsOf(broken.FieldsOf(object, "metadata"), "labels") {
				set[name], _ = value.(string)
			}
			if !selector.Matches(set) {
				return nil
			}
			return []map[string]any{event}
		}
	})
	return matching(broken.WithoutQuery(broken.And(plain, broken.Watching), "labelSelector")(next))
}

type watchFieldSelector struct{}

func (r watchFieldSelector) check() runner.Check {
	return runner.Check{
		ID: "watch-field-selector", Area: areaWatches,
		Rule:        "A watch with the fieldSelector metadata.name=… shows only the object with that name.",
		Detail:      "Creates and deletes an object that is not selected, then creates the one that is.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Run: steadily(r.run),
	}
}

func (watchFieldSelector) run(p *runner.Probe) {
	version := listVersion(p)
	wanted, other := p.New(), p.New()
	stream, response := p.Watch(p.Collection(),
		"labelSelector", p.Selector(), "fieldSelector", "metadata.name="+wanted.GetName(), "resourceVersion", version)
	if stream == nil {
		response.Fail("a watch: by the field metadata.name, objects of all resources can be selected")
	}
	defer stream.Close()
	p.Create(other)
	p.Remove(other.GetName())
	p.Create(wanted)
	expected := "an event about " + wanted.GetName() + ", and nothing about " + other.GetName() + ", which was made and deleted before"
	event := nextAbout(stream, expected, wanted.GetName(), other.GetName())
	if event.Object.GetName() != wanted.GetName() {
		stream.Fail(event.Type+" has come for "+other.GetName(), "%s", expected)
	}
}

func (watchFieldSelector) broken() broken.Server {
	return broken.That("ignores the fieldSelector of watches", broken.WithoutQuery(broken.And(broken.Collection, broken.Watching), "fieldSelector"))
}

type watchNamespace struct{}

func (r watchNamespace) check() runner.Check {
	return runner.Check{
		ID: "watch-namespace", Area: areaWatches,
		Rule:        "A watch of one namespace shows nothing of another.",
		Detail:      "Creates an object in another namespace, then one in the watched namespace, and expects only the second.",
		Reference:   apiConcepts + "#standard-api-terminology",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch"}, Run: steadily(r.run),
	}
}

func (watchNamespace) run(p *runner.Probe) {
	elsewhere := p.OtherNamespace()
	stream := watchFromNow(p)
	defer stream.Close()
	other := p.New()
	p.Resource.Maker.Place(other, elsewhere)
	p.Create(other)
	own := p.Make()
	expected := fmt.Sprintf("ADDED for %s, and nothing about %s, which is in the namespace %s", own.GetName(), other.GetName(), elsewhere)
	event := nextAbout(stream, expected, own.GetName(), other.GetName())
	if event.Object.GetName() != own.GetName() {
		stream.Fail(event.Type+" has come for "+other.GetName(), "%s", expected)
	}
}

func (watchNamespace) broken() broken.Server {
	return broken.That("shows watches of a namespace all namespaces", broken.OnRequest(broken.And(broken.Collection, broken.Watching), widen))
}

// widen makes a request about a namespace one about all.
func widen(r *http.Request) {
	if place := broken.PlaceOf(r); place != nil && place.Namespace != "" {
		r.URL.Path = strings.Replace(r.URL.Path, "/namespaces/"+place.Namespace, "", 1)
	}
}
