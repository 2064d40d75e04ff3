// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const eventsTimeout = 20 * time.Second

// watchPair is a watch that runs on both servers.
type watchPair struct {
	step        Step
	left, right *stream
}

type watchPairs []*watchPair

func (all watchPairs) close() {
	for _, w := range all {
		w.left.cancel()
		w.right.cancel()
		<-w.left.done
		<-w.right.done
	}
}

// watch starts all watches from what is listed now.
func (s *sequence) watch(ctx context.Context) (watchPairs, error) {
	all := Step{Method: http.MethodGet, Collection: true}.with("labelSelector", groupLabel+"="+groupMark)
	if _, _, err := s.do(ctx, operation{step: all, object: "0"}); err != nil {
		return nil, err
	}
	from := all.with("watch", "true", "resourceVersion", listMark)
	gold := from.clone()
	gold.Query.Set("labelSelector", groupLabel+"="+groupMark+","+tierLabel+"=gold")
	name := from.clone()
	name.Query.Del("labelSelector")
	const meta = ";g=meta.k8s.io;v=v1"
	steps := []Step{
		from, gold, name.with("fieldSelector", "metadata.name="+groupMark+"-0"),
		from.header("Accept", typeJSON+";as=Table"+meta), from.header("Accept", typeJSON+";as=PartialObjectMetadata"+meta),
		gold.header("Accept", typeJSON+";as=Table"+meta).with("includeObject", "Object"),
		all.with("watch", "true", "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true"),
	}
	if s.selector != "" {
		steps = append(steps, from.with("fieldSelector", s.selector))
	}
	for _, other := range s.kind.Others[:min(len(s.kind.Others), 1)] {
		steps = append(steps, from.in(other), gold.in(other).header("Accept", typeJSON+";as=Table"+meta))
	}
	var pairs watchPairs
	for _, step := range steps {
		left, err := s.runner.Left.stream(ctx, s.left["0"].request(s.kind, step))
		if err != nil {
			pairs.close()
			return nil, err
		}
		right, err := s.runner.Right.stream(ctx, s.right["0"].request(s.kind, step))
		if err != nil {
			left.cancel()
			pairs.close()
			return nil, err
		}
		pairs = append(pairs, &watchPair{step, left, right})
		if step.Query.Has("sendInitialEvents") {
			// What is created from now on is no initial event.
			left.waitBegun(ctx)
			right.waitBegun(ctx)
		}
	}
	return pairs, nil
}

// compare waits for the end of both watches and compares their events.
func (w *watchPair) compare(ctx context.Context) []Difference {
	left, right := w.left.until(ctx), w.right.until(ctx)
	if a, b := kindsOfEvents(left), kindsOfEvents(right); a != b {
		return []Difference{{AspectEvents, w.step.Query.Encode(), a, b}}
	}
	n := normalizer{}
	return compareBodies(n.value(left, ""), n.value(right, ""))
}

// kindsOfEvents returns types of events and names of objects.
func kindsOfEvents(events []any) string {
	var b strings.Builder
	for _, event := range events {
		e, _ := event.(map[string]any)
		metadata := metadataOf(e["object"])
		fmt.Fprintf(&b, "%v %v; ", e["type"], metadata["name"])
	}
	return b.String()
}

// metadataOf returns the metadata of an object or of the first row of a table.
func metadataOf(value any) map[string]any {
	object, _ := value.(map[string]any)
	if rows, isTable := object["rows"].([]any); isTable && len(rows) > 0 {
		row, _ := rows[0].(map[string]any)
		return metadataOf(row["object"])
	}
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// stream is a watch of one server. Its goroutine ends with the stream.
type stream struct {
	cancel context.CancelFunc
	done   chan struct{}
	begun  chan struct{} // closed at the end of the initial events, if they are asked for
	ended  chan struct{} // closed when the last event has come

	mu      sync.Mutex // guards events and problem
	events  []any
	problem error
}

// stream starts a watch.
func (t *Target) stream(ctx context.Context, r request) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	answer, err := t.open(ctx, r) //nolint:bodyclose // read closes it.
	if err != nil {
		cancel()
		return nil, err
	}
	s := &stream{cancel: cancel, done: make(chan struct{}), begun: make(chan struct{}), ended: make(chan struct{})}
	go s.read(answer)
	return s, nil
}

func (s *stream) read(answer *http.Response) {
	defer close(s.done)
	defer answer.Body.Close() //nolint:errcheck // It is read.
	decoder := json.NewDecoder(answer.Body)
	decoder.UseNumber()
	for {
		event := map[string]any{}
		if err := decoder.Decode(&event); err != nil {
			s.mu.Lock()
			s.problem = fmt.Errorf("status %d: %w", answer.StatusCode, err)
			s.mu.Unlock()
			return
		}
		labels, _ := metadataOf(event["object"])["labels"].(map[string]any)
		annotations, _ := metadataOf(event["object"])["annotations"].(map[string]any)
		if event["type"] == "BOOKMARK" {
			if annotations["k8s.io/initial-events-end"] == nil {
				continue // They come when they come.
			}
			close(s.begun)
		}
		s.mu.Lock()
		s.events = append(s.events, event)
		s.mu.Unlock()
		if labels[endLabel] == "true" {
			close(s.ended)
			_, _ = io.Copy(io.Discard, answer.Body)
			return
		}
	}
}

// waitBegun waits for the end of the initial events, or of the watch.
func (s *stream) waitBegun(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	select {
	case <-s.begun:
	case <-s.done:
	case <-ctx.Done():
	}
}

// until returns the events when the last one has come.
func (s *stream) until(ctx context.Context) []any {
	var missing error
	select {
	case <-s.ended:
	case <-s.done:
		missing = errors.New("the watch ended")
	case <-ctx.Done():
		missing = fmt.Errorf("nothing more came for %v", eventsTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if missing != nil {
		// What is missing shows in the comparison.
		s.events = append(s.events, map[string]any{"type": fmt.Sprintf("%v (%v)", missing, s.problem)})
	}
	return s.events
}
