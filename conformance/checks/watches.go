// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaWatches = "Watching"

	apiConcepts = "https://kubernetes.io/docs/reference/using-api/api-concepts/"
)

var watches = []runner.Check{
	{
		ID: "watch-events", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
		Rule:      "A watch from the resourceVersion of a list delivers all later changes in order, each with the object as it was then.",
		Detail:    "Creates an object, changes a label twice, deletes it, and expects ADDED, MODIFIED, MODIFIED, and DELETED. The object in DELETED has its own check.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			states, end := livesAndEnds(p)
			const expected = "ADDED for the new object, MODIFIED for each of its two changes (label " + stepLabel + "=1, then =2), then DELETED"
			for at := -1; ; {
				event := nextAbout(stream, expected, states[0].GetName(), end.GetName())
				step := stepOf(event.Object)
				switch {
				case event.Object.GetName() == end.GetName():
					stream.Fail("an object that was made later comes before", expected)
				case event.Type == eventAdded && at == -1 && step == 0:
					at = 0
				case event.Type == eventModified && at >= 0 && step >= at && step <= min(at+1, len(states)-1):
					at = step // Somebody else may have changed it, too.
				case event.Type == eventDeleted && at == len(states)-1:
					return
				default:
					stream.Fail(fmt.Sprintf("the last event, %s with %s=%q, does not follow", event.Type, stepLabel, event.Object.GetLabels()[stepLabel]), expected)
				}
				state := states[at]
				if event.Object.GetResourceVersion() == state.GetResourceVersion() && !sameContent(event.Object, state) {
					stream.Fail("the object of the last event differs from what GET showed for this resourceVersion", "events with the objects as they are after the changes")
				}
			}
		}),
	},
	{
		ID: "watch-versions", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
		Rule:      "The objects of ADDED and MODIFIED events have the resourceVersion that GET returns after the change.",
		Detail:    "Looks for the resourceVersions of three states of an object among its events. If they are numbers, they must not decrease.",
		Reference: apiConcepts + "#resource-versions",
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			states := changed(p)
			end := p.Make()
			var versions []string
			for {
				event := nextAbout(stream, "events about the object, then one about another that was made later", states[0].GetName(), end.GetName())
				if event.Object.GetName() == end.GetName() {
					break
				}
				versions = append(versions, event.Object.GetResourceVersion())
			}
			for _, state := range states {
				if version := state.GetResourceVersion(); !slices.Contains(versions, version) {
					stream.Fail(fmt.Sprintf("the events had %q", versions), "an event whose object has the resourceVersion %q: GET has shown it after the change", version)
				}
			}
			for i := 1; i < len(versions); i++ {
				if earlier, known := compareVersions(versions[i-1], versions[i]); known && earlier {
					stream.Fail(fmt.Sprintf("%s came after %s", versions[i], versions[i-1]), "events of an object whose resourceVersions increase")
				}
			}
		}),
	},
	{
		ID: "watch-deleted-state", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
		Rule:      "A DELETED event has the last state of the object, with a later resourceVersion.",
		Detail:    "The event must have all labels, annotations, and content of the object.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			made := p.Create(labelled(p, "1"))
			name := made.GetName()
			last := p.Label(name, stepLabel, "2")
			p.Remove(name)
			end := p.Make()
			for {
				event := nextAbout(stream, "DELETED for the object, then ADDED for one that was made later", name, end.GetName())
				if event.Object.GetName() == end.GetName() {
					runner.Leave("the watch has no DELETED event")
				}
				later, known := compareVersions(event.Object.GetResourceVersion(), last.GetResourceVersion())
				switch {
				case event.Type != eventDeleted && later:
					last = event.Object // Somebody else has changed it.
				case event.Type != eventDeleted:
				case !sameContent(event.Object, last):
					stream.Fail(fmt.Sprintf("the last state had the labels %v", last.GetLabels()), "DELETED with the last state of the object: all that it had before it was deleted")
				case known && !later || event.Object.GetResourceVersion() == last.GetResourceVersion():
					stream.Fail(fmt.Sprintf("the last state had %q", last.GetResourceVersion()), "DELETED with the resourceVersion of the deletion, later than that of the last state")
				default:
					return
				}
			}
		}),
	},
	{
		ID: "watch-resume", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
		Rule:      "A watch from the resourceVersion of an event delivers every later change, and nothing twice.",
		Detail:    "With no watch open, changes one object, deletes a second and creates a third; then resumes from an earlier event.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			kept := p.Make()
			p.Label(kept.GetName(), stepLabel, "1")
			lost := p.Make()
			seen := eventsUntilAdded(stream, lost.GetName(), kept.GetName())
			stream.Close()
			from := seen[len(seen)-1].Object.GetResourceVersion()
			if from == "" {
				runner.Leave("the objects of events have no resourceVersion")
			}
			resume(p, from, seen, kept.GetName(), lost.GetName())
		}),
	},
	{
		ID: "watch-label-selector", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
		Rule:      "In a watch with a labelSelector, an object that stops matching is DELETED, one that starts matching is ADDED, and others do not appear.",
		Detail:    "Checks the types of the events, not their objects.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering",
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
	},
	{
		ID: "watch-field-selector", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"},
		Rule:      "A watch with the fieldSelector metadata.name=… shows only the object with that name.",
		Detail:    "Creates and deletes an object that is not selected, then creates the one that is.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/",
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
	},
	{
		ID: "watch-namespace", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
		Rule:      "A watch of one namespace shows nothing of another.",
		Detail:    "Creates an object in another namespace, then one in the watched namespace, and expects only the second.",
		Reference: apiConcepts + "#standard-api-terminology",
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
	},
}

// changed makes an object and changes it twice. It returns the states that GET showed.
func changed(p *runner.Probe) []*unstructured.Unstructured {
	made := p.Make()
	states := []*unstructured.Unstructured{made}
	for _, step := range []string{"1", "2"} {
		state := p.Label(made.GetName(), stepLabel, step)
		states = append(states, state)
	}
	return states
}

// livesAndEnds makes, changes and deletes an object, and then makes another one, whose event shows that
// all others have come.
func livesAndEnds(p *runner.Probe) (states []*unstructured.Unstructured, end *unstructured.Unstructured) {
	states = changed(p)
	p.Remove(states[0].GetName())
	end = p.Make()
	return states, end
}

// eventsUntilAdded returns the events about two objects until one of them has been added.
func eventsUntilAdded(stream *runner.Stream, last, other string) (events []*runner.Event) {
	for {
		event := nextAbout(stream, "ADDED for the second object", last, other)
		events = append(events, event)
		if event.Type == eventAdded && event.Object.GetName() == last {
			return events
		}
	}
}

// resume makes changes while nobody watches, and looks whether a watch from the last event that was
// seen has them and nothing else.
func resume(p *runner.Probe, from string, seen []*runner.Event, kept, lost string) {
	p.Label(kept, stepLabel, "2")
	p.Remove(lost)
	end := p.Make()
	stream := p.MustWatch(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", from)
	defer stream.Close()
	expected := fmt.Sprintf("just what came after the event with the resourceVersion %s: MODIFIED for %s (label %s=2), DELETED for %s, ADDED for %s", from, kept, stepLabel, lost, end.GetName())
	missing := map[string]bool{kept: true, lost: true}
	for {
		event := nextAbout(stream, expected, kept, lost, end.GetName())
		again := func(one *runner.Event) bool {
			return one.Type == event.Type && reflect.DeepEqual(one.Object, event.Object)
		}
		name := event.Object.GetName()
		switch {
		case name == end.GetName() && len(missing) > 0:
			stream.Fail(fmt.Sprintf("before the new object, %d of the two other changes are missing", len(missing)), "%s", expected)
		case name == end.GetName():
			return
		case name == kept && stepOf(event.Object) == 2, name == lost && event.Type == eventDeleted:
			delete(missing, name)
		case event.Type == eventAdded || slices.ContainsFunc(seen, again):
			stream.Fail("the last event is about what was seen before", "%s", expected)
		}
	}
}

// transition is an event that has to come.
type transition struct{ kind, name string }

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
