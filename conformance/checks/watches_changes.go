// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

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

func watchesChangesRules() []runner.Check {
	return []runner.Check{watchEvents(), watchVersions(), watchDeletedState()}
}

func watchEvents() runner.Check {
	return runner.Check{
		ID: "watch-events", Area: areaWatches,
		Rule:        "A watch from the resourceVersion of a list delivers all later changes in order, each with the object as it was then.",
		Detail:      "Creates an object, changes a label twice, deletes it, and expects ADDED, MODIFIED, MODIFIED, and DELETED. The object in DELETED has its own check.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
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
	}
}

func watchVersions() runner.Check {
	return runner.Check{
		ID: "watch-versions", Area: areaWatches,
		Rule:        "The objects of ADDED and MODIFIED events have the resourceVersion that GET returns after the change.",
		Detail:      "Looks for the resourceVersions of three states of an object among its events. If they are numbers, they must not decrease.",
		Reference:   apiConcepts + "#resource-versions",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
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
	}
}

func watchDeletedState() runner.Check {
	return runner.Check{
		ID: "watch-deleted-state", Area: areaWatches,
		Rule:        "A DELETED event has the last state of the object, with a later resourceVersion.",
		Detail:      "The event must have all labels, annotations, and content of the object.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
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
	}
}
