// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

// changed makes an object and changes it twice. It returns the states that GET showed.
func changed(ctx context.Context, p *conformance.Probe) ([]*unstructured.Unstructured, error) {
	made, err := p.Make(ctx)
	if err != nil {
		return nil, err
	}
	states := []*unstructured.Unstructured{made}
	for _, step := range []string{"1", "2"} {
		state, err := p.Label(ctx, made.GetName(), stepLabel, step)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

// livesAndEnds makes, changes and deletes an object, and then makes another one, whose event shows that
// all others have come.
func livesAndEnds(ctx context.Context, p *conformance.Probe) (states []*unstructured.Unstructured, end *unstructured.Unstructured, err error) {
	if states, err = changed(ctx, p); err != nil {
		return nil, nil, err
	}
	if err := p.Remove(ctx, states[0].GetName()); err != nil {
		return nil, nil, err
	}
	end, err = p.Make(ctx)
	return states, end, err
}

func watchEvents(ctx context.Context, p *conformance.Probe) error {
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	states, end, err := livesAndEnds(ctx, p)
	if err != nil {
		return err
	}
	const expected = "ADDED for the new object, MODIFIED for each of its two changes (label " + stepLabel + "=1, then =2), then DELETED"
	for at := -1; ; {
		event, err := nextAbout(ctx, stream, expected, states[0].GetName(), end.GetName())
		if err != nil {
			return err
		}
		step := stepOf(event.Object)
		switch {
		case event.Object.GetName() == end.GetName():
			return stream.Fail("an object that was made later comes before", expected)
		case event.Type == eventAdded && at == -1 && step == 0:
			at = 0
		case event.Type == eventModified && at >= 0 && step >= at && step <= min(at+1, len(states)-1):
			at = step // Somebody else may have changed it, too.
		case event.Type == eventDeleted && at == len(states)-1:
			return nil
		default:
			return stream.Fail(fmt.Sprintf("the last event, %s with %s=%q, does not follow", event.Type, stepLabel, event.Object.GetLabels()[stepLabel]), expected)
		}
		state := states[at]
		if event.Object.GetResourceVersion() == state.GetResourceVersion() && !sameContent(event.Object, state) {
			return stream.Fail("the object of the last event is another than GET has shown of this resourceVersion", "events with the objects as they are after the changes")
		}
	}
}

func watchVersions(ctx context.Context, p *conformance.Probe) error {
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	states, err := changed(ctx, p)
	if err != nil {
		return err
	}
	end, err := p.Make(ctx)
	if err != nil {
		return err
	}
	var versions []string
	for {
		event, err := nextAbout(ctx, stream, "events about the object, then one about another that was made later", states[0].GetName(), end.GetName())
		if err != nil {
			return err
		}
		if event.Object.GetName() == end.GetName() {
			break
		}
		versions = append(versions, event.Object.GetResourceVersion())
	}
	for _, state := range states {
		if version := state.GetResourceVersion(); !slices.Contains(versions, version) {
			return stream.Fail(fmt.Sprintf("the events had %q", versions), "an event whose object has the resourceVersion %q: GET has shown it after the change", version)
		}
	}
	for i := 1; i < len(versions); i++ {
		if earlier, known := compareVersions(versions[i-1], versions[i]); known && earlier {
			return stream.Fail(fmt.Sprintf("%s came after %s", versions[i], versions[i-1]), "events of an object whose resourceVersions rise")
		}
	}
	return nil
}

func watchDeletedState(ctx context.Context, p *conformance.Probe) error {
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	made, err := p.Create(ctx, labelled(p, "1"))
	if err != nil {
		return err
	}
	name := made.GetName()
	last, err := p.Label(ctx, name, stepLabel, "2")
	if err != nil {
		return err
	}
	if err := p.Remove(ctx, name); err != nil {
		return err
	}
	end, err := p.Make(ctx)
	if err != nil {
		return err
	}
	for {
		event, err := nextAbout(ctx, stream, "DELETED for the object, then ADDED for one that was made later", name, end.GetName())
		if err != nil {
			return err
		}
		if event.Object.GetName() == end.GetName() {
			return conformance.Leave("the watch has no DELETED event")
		}
		later, known := compareVersions(event.Object.GetResourceVersion(), last.GetResourceVersion())
		switch {
		case event.Type != eventDeleted && later:
			last = event.Object // Somebody else has changed it.
		case event.Type != eventDeleted:
		case !sameContent(event.Object, last):
			return stream.Fail(fmt.Sprintf("the last state had the labels %v", last.GetLabels()), "DELETED with the last state of the object: all that it had before it was deleted")
		case known && !later || event.Object.GetResourceVersion() == last.GetResourceVersion():
			return stream.Fail(fmt.Sprintf("the last state had %q", last.GetResourceVersion()), "DELETED with the resourceVersion of the deletion, later than that of the last state")
		default:
			return nil
		}
	}
}

func watchResume(ctx context.Context, p *conformance.Probe) error {
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	kept, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Label(ctx, kept.GetName(), stepLabel, "1"); err != nil {
		return err
	}
	lost, err := p.Make(ctx)
	if err != nil {
		return err
	}
	seen, err := eventsUntilAdded(ctx, stream, lost.GetName(), kept.GetName())
	if err != nil {
		return err
	}
	stream.Close()
	from := seen[len(seen)-1].Object.GetResourceVersion()
	if from == "" {
		return conformance.Leave("the objects of events have no resourceVersion")
	}
	return resume(ctx, p, from, seen, kept.GetName(), lost.GetName())
}

// eventsUntilAdded returns the events about two objects until one of them has been added.
func eventsUntilAdded(ctx context.Context, stream *conformance.Stream, last, other string) (events []*conformance.Event, err error) {
	for {
		event, err := nextAbout(ctx, stream, "ADDED for the second object", last, other)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
		if event.Type == eventAdded && event.Object.GetName() == last {
			return events, nil
		}
	}
}

// resume makes changes while nobody watches, and looks whether a watch from the last event that was
// seen has them and nothing else.
func resume(ctx context.Context, p *conformance.Probe, from string, seen []*conformance.Event, kept, lost string) error {
	if _, err := p.Label(ctx, kept, stepLabel, "2"); err != nil {
		return err
	}
	if err := p.Remove(ctx, lost); err != nil {
		return err
	}
	end, err := p.Make(ctx)
	if err != nil {
		return err
	}
	stream, err := p.MustWatch(ctx, p.Collection(), "labelSelector", p.Selector(), "resourceVersion", from)
	if err != nil {
		return err
	}
	defer stream.Close()
	expected := fmt.Sprintf("just what came after the event with the resourceVersion %s: MODIFIED for %s (label %s=2), DELETED for %s, ADDED for %s", from, kept, stepLabel, lost, end.GetName())
	missing := map[string]bool{kept: true, lost: true}
	for {
		event, err := nextAbout(ctx, stream, expected, kept, lost, end.GetName())
		if err != nil {
			return err
		}
		again := func(one *conformance.Event) bool {
			return one.Type == event.Type && reflect.DeepEqual(one.Object, event.Object)
		}
		name := event.Object.GetName()
		switch {
		case name == end.GetName() && len(missing) > 0:
			return stream.Fail(fmt.Sprintf("before the new object, %d of the two other changes are missing", len(missing)), "%s", expected)
		case name == end.GetName():
			return nil
		case name == kept && stepOf(event.Object) == 2, name == lost && event.Type == eventDeleted:
			delete(missing, name)
		case event.Type == eventAdded || slices.ContainsFunc(seen, again):
			return stream.Fail("the last event is about what was seen before", "%s", expected)
		}
	}
}
