// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"

	"github.com/docket-project/docket/conformance/runner"
)

// transition is an event that has to come.
type transition struct{ kind, name string }

func watchesSelectedRules() []runner.Check {
	return []runner.Check{watchLabelSelector(), watchFieldSelector(), watchNamespace()}
}

func watchLabelSelector() runner.Check {
	return runner.Check{
		ID: "watch-label-selector", Area: areaWatches,
		Rule:        "In a watch with a labelSelector, an object that stops matching is DELETED, one that starts matching is ADDED, and others do not appear.",
		Detail:      "Checks the types of the events, not their objects.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
		Run: steadily(func(p *runner.Probe) {
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
		}),
	}
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

func watchFieldSelector() runner.Check {
	return runner.Check{
		ID: "watch-field-selector", Area: areaWatches,
		Rule:        "A watch with the fieldSelector metadata.name=… shows only the object with that name.",
		Detail:      "Creates and deletes an object that is not selected, then creates the one that is.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"},
		Run: steadily(func(p *runner.Probe) {
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
		}),
	}
}

func watchNamespace() runner.Check {
	return runner.Check{
		ID: "watch-namespace", Area: areaWatches,
		Rule:        "A watch of one namespace shows nothing of another.",
		Detail:      "Creates an object in another namespace, then one in the watched namespace, and expects only the second.",
		Reference:   apiConcepts + "#standard-api-terminology",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
		Run: steadily(func(p *runner.Probe) {
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
		}),
	}
}
