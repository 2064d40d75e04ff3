// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

func watchesStartRules() []runner.Check {
	return []runner.Check{watchFromAny(), watchInitialEvents(), watchTooOld(), watchVersionMalformed()}
}

func watchFromAny() runner.Check {
	return runner.Check{
		ID: "watch-from-any", Area: areaWatches,
		Rule:        "A watch without a resourceVersion, or with 0, begins with an ADDED event for each existing object.",
		Detail:      "Creates an object and starts both watches.",
		Reference:   apiConcepts + "#semantics-for-watch",
		PerResource: true, Verbs: []string{"create", "get", "watch"},
		Run: steadily(func(p *runner.Probe) {
			made := p.Make()
			wantInitialState(p, made, "resourceVersion", "0")
			wantInitialState(p, made)
		}),
	}
}

// wantInitialState looks whether a watch begins with an object that exists.
func wantInitialState(p *runner.Probe, made *unstructured.Unstructured, query ...string) {
	stream := p.MustWatch(p.Collection(), append([]string{"labelSelector", p.Selector()}, query...)...)
	defer stream.Close()
	if p.Resource.Has("update") {
		// A watch that does not begin with the object has this as its first event.
		p.Label(made.GetName(), stepLabel, strconv.Itoa(len(query)))
	}
	expected := "ADDED for " + made.GetName() + ", which exists when the watch begins"
	event := nextAbout(stream, expected, made.GetName())
	if event.Type != eventAdded {
		stream.Fail("the first event about it is "+event.Type, "%s", expected)
	}
}

func watchInitialEvents() runner.Check {
	return runner.Check{
		ID: "watch-initial-events", Area: areaWatches,
		Rule:        "A watch with sendInitialEvents=true sends ADDED for each existing object, then a BOOKMARK that marks the end of these events; servers that don't support this refuse it.",
		Detail:      "Watches with sendInitialEvents=true, resourceVersionMatch=NotOlderThan, and allowWatchBookmarks=true. The BOOKMARK must have the annotation k8s.io/initial-events-end=true, and later changes must follow. Refusing with 4xx or an ERROR event is accepted.",
		Reference:   apiConcepts + "#streaming-lists",
		PerResource: true, Verbs: []string{"create", "get", "watch"},
		Run: steadily(func(p *runner.Probe) {
			one := p.Make()
			two := p.Make()
			stream, response := p.Watch(p.Collection(), "labelSelector", p.Selector(),
				"sendInitialEvents", "true", "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan), "allowWatchBookmarks", "true")
			switch {
			case stream == nil && response.Code >= 400 && response.Code < 500:
				runner.Leave("the server refuses sendInitialEvents: %s", response.Exchange)
			case stream == nil:
				response.Fail("a watch, or a 4xx answer that says that the server does not send initial events")
			}
			defer stream.Close()
			wantEndOfInitial(stream, one.GetName(), two.GetName())
			later := p.Make()
			nextAbout(stream, "ADDED for an object made after the initial events", later.GetName())
		}),
	}
}

// wantEndOfInitial looks whether objects come before the bookmark after the initial events.
func wantEndOfInitial(stream *runner.Stream, names ...string) {
	expected := fmt.Sprintf("ADDED for each of %q, then a BOOKMARK whose object has a resourceVersion and the annotation %s=true", names, metav1.InitialEventsAnnotationKey)
	seen := map[string]bool{}
	for {
		event := nextThat(stream, func(event *runner.Event) bool {
			if event.Type == eventBookmark { // Others are not asked for, and not forbidden.
				return event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
			}
			return event.Type == eventError || slices.Contains(names, event.Object.GetName())
		}, expected)
		name := event.Object.GetName()
		switch {
		case event.Type == eventError:
			runner.Leave("the server refuses sendInitialEvents: %v", event.Object.Object["message"])
		case event.Type == eventBookmark && len(seen) < len(names):
			stream.Fail(fmt.Sprintf("the BOOKMARK has come after %d of %d objects", len(seen), len(names)), "%s", expected)
		case event.Type == eventBookmark && event.Object.GetResourceVersion() == "":
			stream.Fail("the BOOKMARK has no resourceVersion", "%s", expected)
		case event.Type == eventBookmark:
			return
		case event.Type != eventAdded && !seen[name]:
			stream.Fail("the first event about "+name+" is "+event.Type, "%s", expected)
		}
		seen[name] = true
	}
}

const tooOldExpected = "all changes since the resourceVersion 1, or 410 Gone with the reason Expired or Gone, as the answer or as a Status in an ERROR event"

func watchTooOld() runner.Check {
	return runner.Check{
		ID: "watch-too-old", Area: areaWatches,
		Rule:        "A watch from a resourceVersion that is too old fails with 410 Gone; it never silently begins later.",
		Detail:      "Watches from resourceVersion 1. A server that still has all changes since then may deliver them. 410 may be the code of the answer or of the Status in an ERROR event.",
		Reference:   apiConcepts + "#410-gone-responses",
		PerResource: true, Verbs: []string{"create", "get", "watch", "delete"},
		// run takes a watch that ends without a word for a failure only if it does so again and again.
		Run: func(p *runner.Probe) {
			err := runner.Try(func() { steadily(watchTooOldOnce)(p) })
			var ended *endedError
			if errors.As(err, &ended) {
				runner.Stop(&runner.Failure{Expected: tooOldExpected, Found: "the watch has just ended", Exchange: ended.cause.Exchange})
			}
			runner.StopOn(err)
		},
	}
}

func watchTooOldOnce(p *runner.Probe) {
	gone := p.Make()
	if _, known := compareVersions(gone.GetResourceVersion(), "1"); !known {
		runner.Leave("the resourceVersions of the server are not numbers (%q)", gone.GetResourceVersion())
	}
	p.Remove(gone.GetName())
	there := p.Make()
	stream, response := p.Watch(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", "1")
	if stream == nil {
		status, _ := response.Status()
		if status == nil || response.Code != http.StatusGone || !isExpiry(string(status.Reason)) {
			response.Fail(tooOldExpected)
		}
		return
	}
	defer stream.Close()
	event := nextThat(stream, func(event *runner.Event) bool {
		return event.Type == eventError || event.Type != eventBookmark && slices.Contains([]string{gone.GetName(), there.GetName()}, event.Object.GetName())
	}, tooOldExpected)
	switch {
	case event.Type == eventError:
		wantExpiry(stream, event)
		return
	case event.Object.GetName() == there.GetName():
		stream.Fail("the watch begins with "+there.GetName()+": that "+gone.GetName()+" was there before, and was deleted, is missing", tooOldExpected)
	}
}

func wantExpiry(stream *runner.Stream, event *runner.Event) {
	reason, _, _ := unstructured.NestedString(event.Object.Object, "reason")
	code, _, _ := unstructured.NestedFieldNoCopy(event.Object.Object, "code")
	if event.Object.GetKind() != "Status" || fmt.Sprint(code) != "410" || !isExpiry(reason) {
		stream.Fail("the ERROR event has another object", tooOldExpected)
	}
}

func isExpiry(reason string) bool {
	return reason == string(metav1.StatusReasonExpired) || reason == string(metav1.StatusReasonGone)
}

func watchVersionMalformed() runner.Check {
	return runner.Check{
		ID: "watch-version-malformed", Area: areaWatches,
		Rule:        "A watch from a malformed resourceVersion is refused.",
		Detail:      "Watches from the resourceVersion abc and expects an error, whatever its code. Skipped for servers whose resourceVersions are not numbers.",
		Reference:   apiConcepts + "#semantics-for-watch",
		PerResource: true, Verbs: []string{"create", "get", "watch"},
		Run: func(p *runner.Probe) {
			made := p.Make()
			if _, known := compareVersions(made.GetResourceVersion(), "0"); !known {
				runner.Leave("the resourceVersions of the server are not numbers (%q)", made.GetResourceVersion())
			}
			stream, response := p.Watch(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", "abc")
			if stream != nil {
				defer stream.Close()
				stream.Fail("the watch was started", "an error: abc is not a resourceVersion")
			}
			if response.Code < http.StatusBadRequest {
				response.Fail("an error: abc is not a resourceVersion")
			} // kube-apiserver answers 500, so the code can't be looked at.
		},
	}
}
