// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

func watchFromAny(ctx context.Context, p *conformance.Probe) error {
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if err := wantInitialState(ctx, p, made, "resourceVersion", "0"); err != nil {
		return err
	}
	return wantInitialState(ctx, p, made)
}

// wantInitialState looks whether a watch begins with an object that exists.
func wantInitialState(ctx context.Context, p *conformance.Probe, made *unstructured.Unstructured, query ...string) error {
	stream, err := p.MustWatch(ctx, p.Collection(), append([]string{"labelSelector", p.Selector()}, query...)...)
	if err != nil {
		return err
	}
	defer stream.Close()
	if p.Resource.Has("update") {
		// A watch that does not begin with the object has this as its first event.
		if _, err := p.Label(ctx, made.GetName(), stepLabel, strconv.Itoa(len(query))); err != nil {
			return err
		}
	}
	expected := "ADDED for " + made.GetName() + ", which exists when the watch begins"
	event, err := nextAbout(ctx, stream, expected, made.GetName())
	if err != nil {
		return err
	}
	if event.Type != eventAdded {
		return stream.Fail("the first event about it is "+event.Type, "%s", expected)
	}
	return nil
}

func watchInitialEvents(ctx context.Context, p *conformance.Probe) error {
	one, err := p.Make(ctx)
	if err != nil {
		return err
	}
	two, err := p.Make(ctx)
	if err != nil {
		return err
	}
	stream, response, err := p.Watch(ctx, p.Collection(), "labelSelector", p.Selector(),
		"sendInitialEvents", "true", "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan), "allowWatchBookmarks", "true")
	switch {
	case err != nil:
		return err
	case stream == nil && response.Code >= 400 && response.Code < 500:
		return conformance.Leave("the server refuses sendInitialEvents: %s", response.Exchange)
	case stream == nil:
		return response.Fail("a watch, or an answer of the 4xx that says that the server does not send initial events")
	}
	defer stream.Close()
	if err := wantEndOfInitial(ctx, stream, one.GetName(), two.GetName()); err != nil {
		return err
	}
	later, err := p.Make(ctx)
	if err != nil {
		return err
	}
	_, err = nextAbout(ctx, stream, "ADDED for an object made after the initial events", later.GetName())
	return err
}

// wantEndOfInitial looks whether objects come before the bookmark after the initial events.
func wantEndOfInitial(ctx context.Context, stream *conformance.Stream, names ...string) error {
	expected := fmt.Sprintf("ADDED for each of %q, then a BOOKMARK whose object has a resourceVersion and the annotation %s=true", names, metav1.InitialEventsAnnotationKey)
	seen := map[string]bool{}
	for {
		event, err := nextThat(ctx, stream, func(event *conformance.Event) bool {
			if event.Type == eventBookmark { // Others are not asked for, and not forbidden.
				return event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
			}
			return event.Type == eventError || slices.Contains(names, event.Object.GetName())
		}, expected)
		if err != nil {
			return err
		}
		name := event.Object.GetName()
		switch {
		case event.Type == eventError:
			return conformance.Leave("the server refuses sendInitialEvents: %v", event.Object.Object["message"])
		case event.Type == eventBookmark && len(seen) < len(names):
			return stream.Fail(fmt.Sprintf("the BOOKMARK has come after %d of %d objects", len(seen), len(names)), "%s", expected)
		case event.Type == eventBookmark && event.Object.GetResourceVersion() == "":
			return stream.Fail("the BOOKMARK has no resourceVersion", "%s", expected)
		case event.Type == eventBookmark:
			return nil
		case event.Type != eventAdded && !seen[name]:
			return stream.Fail("the first event about "+name+" is "+event.Type, "%s", expected)
		}
		seen[name] = true
	}
}

const tooOldExpected = "all changes since the resourceVersion 1, or 410 Gone with the reason Expired or Gone, as the answer or as a Status in an ERROR event"

// watchTooOld takes a watch that ends without a word for a failure only if it does so again and again.
func watchTooOld(ctx context.Context, p *conformance.Probe) error {
	err := steadily(watchTooOldOnce)(ctx, p)
	var ended *endedError
	if errors.As(err, &ended) {
		return &conformance.Failure{Expected: tooOldExpected, Found: "the watch has just ended", Exchange: ended.cause.Exchange}
	}
	return err
}

func watchTooOldOnce(ctx context.Context, p *conformance.Probe) error {
	gone, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if _, known := compareVersions(gone.GetResourceVersion(), "1"); !known {
		return conformance.Leave("the resourceVersions of the server are no numbers (%q)", gone.GetResourceVersion())
	}
	if err := p.Remove(ctx, gone.GetName()); err != nil {
		return err
	}
	there, err := p.Make(ctx)
	if err != nil {
		return err
	}
	stream, response, err := p.Watch(ctx, p.Collection(), "labelSelector", p.Selector(), "resourceVersion", "1")
	if err != nil {
		return err
	}
	if stream == nil {
		status, _ := response.Status()
		if status == nil || response.Code != http.StatusGone || !isExpiry(string(status.Reason)) {
			return response.Fail(tooOldExpected)
		}
		return nil
	}
	defer stream.Close()
	event, err := nextThat(ctx, stream, func(event *conformance.Event) bool {
		return event.Type == eventError || event.Type != eventBookmark && slices.Contains([]string{gone.GetName(), there.GetName()}, event.Object.GetName())
	}, tooOldExpected)
	switch {
	case err != nil:
		return err
	case event.Type == eventError:
		return wantExpiry(stream, event)
	case event.Object.GetName() == there.GetName():
		return stream.Fail("the watch begins with "+there.GetName()+": that "+gone.GetName()+" was there before, and was deleted, is missing", tooOldExpected)
	}
	return nil
}

func wantExpiry(stream *conformance.Stream, event *conformance.Event) error {
	reason, _, _ := unstructured.NestedString(event.Object.Object, "reason")
	code, _, _ := unstructured.NestedFieldNoCopy(event.Object.Object, "code")
	if event.Object.GetKind() != "Status" || fmt.Sprint(code) != "410" || !isExpiry(reason) {
		return stream.Fail("the ERROR event has another object", tooOldExpected)
	}
	return nil
}

func isExpiry(reason string) bool {
	return reason == string(metav1.StatusReasonExpired) || reason == string(metav1.StatusReasonGone)
}

func watchVersionMalformed(ctx context.Context, p *conformance.Probe) error {
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if _, known := compareVersions(made.GetResourceVersion(), "0"); !known {
		return conformance.Leave("the resourceVersions of the server are no numbers (%q)", made.GetResourceVersion())
	}
	stream, response, err := p.Watch(ctx, p.Collection(), "labelSelector", p.Selector(), "resourceVersion", "abc")
	if err != nil {
		return err
	}
	if stream != nil {
		defer stream.Close()
		return stream.Fail("the watch was started", "an error: abc is no resourceVersion")
	}
	if response.Code < http.StatusBadRequest {
		return response.Fail("an error: abc is no resourceVersion")
	}
	return nil // kube-apiserver answers 500, so the code can't be looked at.
}
