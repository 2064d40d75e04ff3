// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

var watchesStart = []runner.Check{
	{
		ID: "watch-from-any", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "watch"},
		Rule:      "A watch without a resourceVersion, or with 0, begins with an ADDED event for each existing object.",
		Detail:    "Creates an object and starts both watches.",
		Reference: apiConcepts + "#semantics-for-watch",
		Run: steadily(func(p *runner.Probe) {
			made := p.Make()
			wantInitialState(p, made, "resourceVersion", "0")
			wantInitialState(p, made)
		}),
	},
	{
		ID: "watch-initial-events", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "watch"},
		Rule:      "A watch with sendInitialEvents=true sends ADDED for each existing object, then a BOOKMARK that marks the end of these events; servers that don't support this refuse it.",
		Detail:    "Watches with sendInitialEvents=true, resourceVersionMatch=NotOlderThan, and allowWatchBookmarks=true. The BOOKMARK must have the annotation k8s.io/initial-events-end=true, and later changes must follow. Refusing with 4xx or an ERROR event is accepted.",
		Reference: apiConcepts + "#streaming-lists",
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
	},
	{
		ID: "watch-too-old", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "watch", "delete"},
		Rule:      "A watch from a resourceVersion that is too old fails with 410 Gone; it never silently begins later.",
		Detail:    "Watches from resourceVersion 1. A server that still has all changes since then may deliver them. 410 may be the code of the answer or of the Status in an ERROR event.",
		Reference: apiConcepts + "#410-gone-responses",
		// It takes a watch that ends without a word for a failure only if it does so again and again.
		Run: func(p *runner.Probe) {
			err := runner.Try(func() { steadily(watchTooOldOnce)(p) })
			if ended, ok := errors.AsType[*endedError](err); ok {
				runner.Stop(&runner.Failure{Expected: tooOldExpected, Found: "the watch has just ended", Exchange: ended.cause.Exchange})
			}
			runner.StopOn(err)
		},
	},
	{
		ID: "watch-version-malformed", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "watch"},
		Rule:      "A watch from a malformed resourceVersion is refused.",
		Detail:    "Watches from the resourceVersion abc and expects an error, whatever its code. Skipped for servers whose resourceVersions are not numbers.",
		Reference: apiConcepts + "#semantics-for-watch",
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
	},
	{
		ID: "watch-bookmarks", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch"}, Slow: true,
		Rule:      "BOOKMARK events come only with allowWatchBookmarks=true, and their objects have only a resourceVersion.",
		Detail:    "Watches with and without allowWatchBookmarks for some seconds. Whether and when bookmarks come is the server's choice. Their objects may have annotations, and empty fields.",
		Reference: apiConcepts + "#watch-bookmarks",
		Run: func(p *runner.Probe) {
			version := listVersion(p)
			query := []string{"labelSelector", p.Selector(), "resourceVersion", version, "timeoutSeconds", bookmarkTime}
			with := p.MustWatch(p.Collection(), append(query, "allowWatchBookmarks", "true")...)
			defer with.Close()
			without := p.MustWatch(p.Collection(), query...)
			defer without.Close()
			p.Make()
			limited, cancel := context.WithTimeout(p.Context, bookmarkLookout)
			defer cancel()
			eachBookmark(limited, with, checkBookmark)
			eachBookmark(limited, without, func(*runner.Event) string { return "the watch has not asked for any" })
		},
	},
	{
		ID: "watch-timeout", Area: areaWatches, PerResource: true, Verbs: []string{"list", "watch"}, Slow: true,
		Rule:      "A watch with timeoutSeconds ends after that time, without an error.",
		Detail:    "Waits for the end of a watch with timeoutSeconds=2, which may take 1.5 to 12 seconds.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: func(p *runner.Probe) {
			version := listVersion(p)
			began := time.Now()
			limited, cancel := runner.Within(p.Context, longest)
			defer cancel()
			stream := p.MustWatch(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", version, "timeoutSeconds", shortWatch)
			defer stream.Close()
			const expected = "a watch with timeoutSeconds=" + shortWatch + " that ends by itself about then, without an error"
			for {
				event, err := stream.Next(limited)
				lasted := time.Since(began).Round(time.Millisecond)
				switch {
				case err == nil && event.Type == eventError:
					stream.Fail("an ERROR event has come", expected)
				case err == nil:
				case p.Context.Err() != nil:
					runner.Stop(p.Context.Err())
				case errors.Is(err, runner.ErrNoEvent):
					stream.Fail(fmt.Sprintf("it goes on after %s", lasted), expected)
				case isUnreadable(err):
					runner.Stop(fmt.Errorf("read the events of a watch: %w", err))
				case !errors.Is(err, io.EOF):
					stream.Fail(fmt.Sprintf("it was broken off after %s: %v", lasted, err), expected)
				case lasted < shortest:
					stream.Fail(fmt.Sprintf("it ended after %s", lasted), expected)
				default:
					return
				}
			}
		},
	},
	{
		ID: "watch-stream", Area: areaWatches, PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
		Rule:      "A watch is a stream of JSON objects of the media type application/json, each of which is sent at once.",
		Detail:    "Creates two objects, and expects the event of the first before it creates the second. Events must have a known type and an object.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			contentType := stream.Exchange().Received.Headers["Content-Type"]
			if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != runner.JSON {
				stream.Fail(fmt.Sprintf("it is %q", contentType), "the Content-Type application/json, which may have parameters")
			}
			for range 2 {
				wantAtOnce(stream, p.Make().GetName())
			}
		}),
	},
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

const (
	// bookmarkTime is how long the watches are, in seconds, that are looked at for bookmarks: servers
	// like to send one shortly before the end.
	bookmarkTime = "5"
	// shortWatch is the length of the watch that has to end by itself, in seconds; it may be a bit
	// shorter, and longer if the server is busy.
	shortWatch           = "2"
	shortest, longest    = 1500 * time.Millisecond, 12 * time.Second
	bookmarkLookout      = 8 * time.Second
	streamPatience       = 10 * time.Second
	streamTypes          = "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR"
	streamEventsExpected = "JSON objects, one after another, each with a type (" + streamTypes + ") and an object"
)

// eachBookmark says what is wrong with the bookmarks of a watch, until the watch or the time ends.
func eachBookmark(limited context.Context, stream *runner.Stream, wrong func(*runner.Event) string) {
	for {
		event, err := stream.Next(limited)
		if err != nil {
			runner.StopOn(stream.Context.Err())
			return // How it ends is not looked at here.
		}
		if event.Type != eventBookmark {
			continue
		}
		if found := wrong(event); found != "" {
			stream.Fail(found, "BOOKMARK events only in watches with allowWatchBookmarks=true, and in their objects nothing but apiVersion, kind and metadata.resourceVersion")
		}
	}
}

func checkBookmark(event *runner.Event) string {
	object := event.Object
	switch {
	case object.GetResourceVersion() == "":
		return "a BOOKMARK has no resourceVersion"
	case object.GetKind() == "" || object.GetAPIVersion() == "":
		return "a BOOKMARK has no kind or no apiVersion"
	case object.GetName() != "" || object.GetUID() != "" || len(object.GetLabels()) > 0:
		return "a BOOKMARK has the metadata of an object"
	}
	for name, value := range contentFields(object) {
		if !isEmpty(value) {
			return fmt.Sprintf("a BOOKMARK has contents: %s", name)
		}
	}
	return ""
}

// isEmpty reports whether a value is what an object without contents is written as.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isEmpty(item) })
	default:
		return slices.Contains([]any{nil, false, float64(0), int64(0), "", "0", "0s"}, value)
	}
}

// wantAtOnce looks whether an event about an object comes without a later one that pushes it.
func wantAtOnce(stream *runner.Stream, name string) {
	limited, cancel := runner.Within(stream.Context, streamPatience)
	defer cancel()
	for {
		event, err := stream.Next(limited)
		switch {
		case isUnreadable(err):
			stream.Fail(err.Error(), streamEventsExpected)
		case err != nil:
			noEvent(stream, err, streamPatience, "an event about the object "+name+" as soon as it is made")
		case !slices.Contains([]string{eventAdded, eventModified, eventDeleted, eventBookmark, eventError}, event.Type):
			stream.Fail(fmt.Sprintf("an event has the type %q", event.Type), streamEventsExpected)
		case len(event.Object.Object) == 0:
			stream.Fail("an event has no object", streamEventsExpected)
		case event.Object.GetName() == name:
			return
		}
	}
}

// isUnreadable tells what is wrong with the text of a stream from what is wrong with its transport.
func isUnreadable(err error) bool {
	var badJSON *json.SyntaxError
	var badType *json.UnmarshalTypeError
	return errors.As(err, &badJSON) || errors.As(err, &badType)
}
