// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func watchesResumeRules() []rule {
	return []rule{watchResume{}}
}

type watchResume struct{}

func (r watchResume) check() runner.Check {
	return runner.Check{
		ID: "watch-resume", Area: areaWatches,
		Rule:        "A watch from the resourceVersion of an event delivers every later change, and nothing twice.",
		Detail:      "With no watch open, changes one object, deletes a second and creates a third; then resumes from an earlier event.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"}, Run: steadily(r.run),
	}
}

func (watchResume) run(ctx context.Context, p *runner.Probe) error {
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
		return runner.Leave("the objects of events have no resourceVersion")
	}
	return resume(ctx, p, from, seen, kept.GetName(), lost.GetName())
}

func (watchResume) broken() broken.Server {
	return broken.That("begins watches with the event whose resourceVersion was given, not with the next one", onWatchQuery(func(query url.Values) {
		if version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err == nil && version > 1 {
			query.Set("resourceVersion", strconv.FormatUint(version-1, 10))
		}
	}))
}

// eventsUntilAdded returns the events about two objects until one of them has been added.
func eventsUntilAdded(ctx context.Context, stream *runner.Stream, last, other string) (events []*runner.Event, err error) {
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
func resume(ctx context.Context, p *runner.Probe, from string, seen []*runner.Event, kept, lost string) error {
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
		again := func(one *runner.Event) bool {
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

// onWatchQuery has edit change the parameters of watches.
func onWatchQuery(edit func(url.Values)) func(http.Handler) http.Handler {
	return broken.OnRequest(broken.And(broken.Collection, broken.Watching), func(r *http.Request) {
		query := r.URL.Query()
		edit(query)
		r.URL.RawQuery = query.Encode()
	})
}
