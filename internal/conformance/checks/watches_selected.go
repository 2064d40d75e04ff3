// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"

	"github.com/docket-project/docket/internal/conformance"
)

// transition is an event that has to come.
type transition struct{ kind, name string }

func watchLabelSelector(ctx context.Context, p *conformance.Probe) error {
	version, err := listVersion(ctx, p)
	if err != nil {
		return err
	}
	stream, err := p.MustWatch(ctx, p.Collection(), "labelSelector", p.Selector()+","+stepLabel+"=in", "resourceVersion", version)
	if err != nil {
		return err
	}
	defer stream.Close()
	leaves, enters, last := labelled(p, "in"), labelled(p, "out"), labelled(p, "in")
	if _, err := p.Create(ctx, leaves); err != nil {
		return err
	}
	if _, err := p.Create(ctx, enters); err != nil {
		return err
	}
	for _, change := range []struct{ name, step string }{
		{leaves.GetName(), "out"}, {leaves.GetName(), "further-out"}, {enters.GetName(), "in"},
	} {
		if _, err := p.Label(ctx, change.name, stepLabel, change.step); err != nil {
			return err
		}
	}
	if _, err := p.Create(ctx, last); err != nil {
		return err
	}
	return wantTransitions(ctx, stream,
		transition{eventAdded, leaves.GetName()}, transition{eventDeleted, leaves.GetName()}, transition{eventAdded, enters.GetName()}, transition{eventAdded, last.GetName()})
}

// wantTransitions looks whether objects come and go for a watch in this order.
func wantTransitions(ctx context.Context, stream *conformance.Stream, wanted ...transition) error {
	var names []string
	expected := "just these events, for the object that stops to match and the one that starts to:"
	for _, one := range wanted {
		names = append(names, one.name)
		expected += " " + one.kind + " " + one.name
	}
	visible := map[string]bool{}
	for len(wanted) > 0 {
		event, err := nextAbout(ctx, stream, expected, names...)
		if err != nil {
			return err
		}
		name := event.Object.GetName()
		switch {
		case event.Type != eventDeleted && visible[name]: // Somebody else may have changed it.
		case event.Type == wanted[0].kind && name == wanted[0].name:
			visible[name] = event.Type == eventAdded
			wanted = wanted[1:]
		default:
			return stream.Fail(fmt.Sprintf("%s %s comes instead of %s %s", event.Type, name, wanted[0].kind, wanted[0].name), "%s", expected)
		}
	}
	return nil
}

func watchFieldSelector(ctx context.Context, p *conformance.Probe) error {
	version, err := listVersion(ctx, p)
	if err != nil {
		return err
	}
	wanted, other := p.New(), p.New()
	stream, response, err := p.Watch(ctx, p.Collection(),
		"labelSelector", p.Selector(), "fieldSelector", "metadata.name="+wanted.GetName(), "resourceVersion", version)
	if err != nil {
		return err
	}
	if stream == nil {
		return response.Fail("a watch: by the field metadata.name, objects of all resources can be selected")
	}
	defer stream.Close()
	if _, err := p.Create(ctx, other); err != nil {
		return err
	}
	if err := p.Remove(ctx, other.GetName()); err != nil {
		return err
	}
	if _, err := p.Create(ctx, wanted); err != nil {
		return err
	}
	expected := "an event about " + wanted.GetName() + ", and nothing about " + other.GetName() + ", which was made and deleted before"
	event, err := nextAbout(ctx, stream, expected, wanted.GetName(), other.GetName())
	if err != nil {
		return err
	}
	if event.Object.GetName() != wanted.GetName() {
		return stream.Fail(event.Type+" has come for "+other.GetName(), "%s", expected)
	}
	return nil
}

func watchNamespace(ctx context.Context, p *conformance.Probe) error {
	elsewhere, err := p.OtherNamespace(ctx)
	if err != nil {
		return err
	}
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	other := p.New()
	p.Resource.Maker.Place(other, elsewhere)
	if _, err := p.Create(ctx, other); err != nil {
		return err
	}
	own, err := p.Make(ctx)
	if err != nil {
		return err
	}
	expected := fmt.Sprintf("ADDED for %s, and nothing about %s, which is in the namespace %s", own.GetName(), other.GetName(), elsewhere)
	event, err := nextAbout(ctx, stream, expected, own.GetName(), other.GetName())
	if err != nil {
		return err
	}
	if event.Object.GetName() != own.GetName() {
		return stream.Fail(event.Type+" has come for "+other.GetName(), "%s", expected)
	}
	return nil
}
