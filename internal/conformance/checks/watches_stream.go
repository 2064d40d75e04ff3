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

	"github.com/docket-project/docket/internal/conformance"
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

func watchBookmarks(ctx context.Context, p *conformance.Probe) error {
	version, err := listVersion(ctx, p)
	if err != nil {
		return err
	}
	query := []string{"labelSelector", p.Selector(), "resourceVersion", version, "timeoutSeconds", bookmarkTime}
	with, err := p.MustWatch(ctx, p.Collection(), append(query, "allowWatchBookmarks", "true")...)
	if err != nil {
		return err
	}
	defer with.Close()
	without, err := p.MustWatch(ctx, p.Collection(), query...)
	if err != nil {
		return err
	}
	defer without.Close()
	if _, err := p.Make(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, bookmarkLookout)
	defer cancel()
	if err := eachBookmark(ctx, limited, with, checkBookmark); err != nil {
		return err
	}
	return eachBookmark(ctx, limited, without, func(*conformance.Event) string { return "the watch has not asked for any" })
}

// eachBookmark says what is wrong with the bookmarks of a watch, until it ends or the time is over.
func eachBookmark(ctx, limited context.Context, stream *conformance.Stream, wrong func(*conformance.Event) string) error {
	for {
		event, err := stream.Next(limited)
		if err != nil {
			return ctx.Err() // How it ends is not looked at here.
		}
		if event.Type != eventBookmark {
			continue
		}
		if found := wrong(event); found != "" {
			return stream.Fail(found, "BOOKMARK events only in watches with allowWatchBookmarks=true, and in their objects nothing but apiVersion, kind and metadata.resourceVersion")
		}
	}
}

func checkBookmark(event *conformance.Event) string {
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

// isEmpty tells whether a value is what an object without contents is written as.
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

func watchTimeout(ctx context.Context, p *conformance.Probe) error {
	version, err := listVersion(ctx, p)
	if err != nil {
		return err
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	stream, err := p.MustWatch(ctx, p.Collection(), "labelSelector", p.Selector(), "resourceVersion", version, "timeoutSeconds", shortWatch)
	if err != nil {
		return err
	}
	defer stream.Close()
	const expected = "a watch with timeoutSeconds=" + shortWatch + " that ends by itself about then, without an error"
	for {
		event, err := stream.Next(limited)
		lasted := time.Since(began).Round(time.Millisecond)
		switch {
		case err == nil && event.Type == eventError:
			return stream.Fail("an ERROR event has come", expected)
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, conformance.ErrNoEvent):
			return stream.Fail(fmt.Sprintf("it goes on after %s", lasted), expected)
		case isUnreadable(err):
			return fmt.Errorf("read the events of a watch: %w", err)
		case !errors.Is(err, io.EOF):
			return stream.Fail(fmt.Sprintf("it was broken off after %s: %v", lasted, err), expected)
		case lasted < shortest:
			return stream.Fail(fmt.Sprintf("it ended after %s", lasted), expected)
		default:
			return nil
		}
	}
}

func watchStream(ctx context.Context, p *conformance.Probe) error {
	stream, err := watchFromNow(ctx, p)
	if err != nil {
		return err
	}
	defer stream.Close()
	contentType := stream.Exchange().Received.Headers["Content-Type"]
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != conformance.JSON {
		return stream.Fail(fmt.Sprintf("it is %q", contentType), "the Content-Type application/json, which may have parameters")
	}
	object := p.New()
	for range 2 {
		made, err := p.Create(ctx, object)
		if err != nil {
			return err
		}
		if err := wantAtOnce(ctx, stream, made.GetName()); err != nil {
			return err
		}
		object = p.New()
	}
	return nil
}

// wantAtOnce looks whether an event about an object comes without a later one that pushes it.
func wantAtOnce(ctx context.Context, stream *conformance.Stream, name string) error {
	limited, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	for {
		event, err := stream.Next(limited)
		switch {
		case isUnreadable(err):
			return stream.Fail(err.Error(), streamEventsExpected)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, conformance.ErrNoEvent):
			return stream.Fail(fmt.Sprintf("nothing has come for %s", streamPatience), "an event about the object %s as soon as it is made", name)
		case errors.Is(err, io.EOF):
			return &endedError{&conformance.SetupError{Wanted: "go on with the watch, which has ended", Exchange: stream.Exchange()}}
		case err != nil:
			return fmt.Errorf("read the events of a watch: %w", err)
		case !slices.Contains([]string{eventAdded, eventModified, eventDeleted, eventBookmark, eventError}, event.Type):
			return stream.Fail(fmt.Sprintf("an event has the type %q", event.Type), streamEventsExpected)
		case len(event.Object.Object) == 0:
			return stream.Fail("an event has no object", streamEventsExpected)
		case event.Object.GetName() == name:
			return nil
		}
	}
}

// isUnreadable tells what is wrong with the text of a stream from what is wrong with its transport.
func isUnreadable(err error) bool {
	var badJSON *json.SyntaxError
	var badType *json.UnmarshalTypeError
	return errors.As(err, &badJSON) || errors.As(err, &badType)
}
