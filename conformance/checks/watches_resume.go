// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

func watchesResumeRules() []runner.Check {
	return []runner.Check{watchResume()}
}

func watchResume() runner.Check {
	return runner.Check{
		ID: "watch-resume", Area: areaWatches,
		Rule:        "A watch from the resourceVersion of an event delivers every later change, and nothing twice.",
		Detail:      "With no watch open, changes one object, deletes a second and creates a third; then resumes from an earlier event.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
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
	}
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
