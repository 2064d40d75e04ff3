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
	"slices"
	"time"

	"github.com/docket-project/docket/conformance/runner"
)

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

func watchesStreamRules() []runner.Check {
	return []runner.Check{watchBookmarks(), watchTimeout(), watchStream()}
}

func watchBookmarks() runner.Check {
	return runner.Check{
		ID: "watch-bookmarks", Area: areaWatches,
		Rule:        "BOOKMARK events come only with allowWatchBookmarks=true, and their objects have only a resourceVersion.",
		Detail:      "Watches with and without allowWatchBookmarks for some seconds. Whether and when bookmarks come is the server's choice. Their objects may have annotations, and empty fields.",
		Reference:   apiConcepts + "#watch-bookmarks",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch"}, Slow: true,
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
	}
}

// eachBookmark says what is wrong with the bookmarks of a watch, until it ends or the time is over.
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

func watchTimeout() runner.Check {
	return runner.Check{
		ID: "watch-timeout", Area: areaWatches,
		Rule:        "A watch with timeoutSeconds ends after that time, without an error.",
		Detail:      "Waits for the end of a watch with timeoutSeconds=2, which may take 1.5 to 12 seconds.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"list", "watch"}, Slow: true,
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
	}
}

func watchStream() runner.Check {
	return runner.Check{
		ID: "watch-stream", Area: areaWatches,
		Rule:        "A watch is a stream of JSON objects of the media type application/json, each of which is sent at once.",
		Detail:      "Creates two objects, and expects the event of the first before it creates the second. Events must have a known type and an object.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
		Run: steadily(func(p *runner.Probe) {
			stream := watchFromNow(p)
			defer stream.Close()
			contentType := stream.Exchange().Received.Headers["Content-Type"]
			if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != runner.JSON {
				stream.Fail(fmt.Sprintf("it is %q", contentType), "the Content-Type application/json, which may have parameters")
			}
			object := p.New()
			for range 2 {
				made := p.Create(object)
				wantAtOnce(stream, made.GetName())
				object = p.New()
			}
		}),
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
		case stream.Context.Err() != nil:
			runner.Stop(stream.Context.Err())
		case errors.Is(err, runner.ErrNoEvent):
			stream.Fail(fmt.Sprintf("nothing has come for %s", streamPatience), "an event about the object %s as soon as it is made", name)
		case errors.Is(err, io.EOF):
			runner.Stop(&endedError{&runner.SetupError{Wanted: "go on with the watch, which has ended", Exchange: stream.Exchange()}})
		case err != nil:
			runner.Stop(fmt.Errorf("read the events of a watch: %w", err))
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
