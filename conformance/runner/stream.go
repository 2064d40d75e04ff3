// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ErrNoEvent is the error of [Stream.Next] when nothing has come in time.
var ErrNoEvent = errors.New("no event has come")

// Event is one of a watch.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string
	// Object is what the event has: an object, a Table, or a Status.
	Object *unstructured.Unstructured
}

// Stream is a watch.
type Stream struct {
	// Context belongs to the check.
	Context context.Context //nolint:containedctx // As that of a probe.

	exchange *Exchange
	cancel   context.CancelFunc
	items    chan item
	seen     []string
}

type item struct {
	event *Event
	err   error
}

// openStream starts a watch. If the server does not, the answer is returned instead.
func (c *client) openStream(ctx context.Context, r Request) (*Stream, *Response, error) {
	reading, cancel := context.WithCancel(ctx)
	answer, exchange, err := c.open(reading, r)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer cancel()
		response, err := read(r, answer, exchange)
		return nil, response, err
	}
	s := &Stream{Context: ctx, exchange: exchange, cancel: cancel, items: make(chan item)}
	go s.read(reading, answer.Body)
	return s, nil, nil
}

// read ends when the stream ends or is closed.
func (s *Stream) read(ctx context.Context, body io.ReadCloser) {
	defer body.Close() //nolint:errcheck // It is read.
	defer close(s.items)
	decoder := json.NewDecoder(body)
	for {
		var raw struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		next := item{}
		if next.err = decoder.Decode(&raw); next.err == nil {
			object := map[string]any{}
			next.err = utiljson.Unmarshal(raw.Object, &object)
			next.event = &Event{raw.Type, &unstructured.Unstructured{Object: object}}
		}
		select {
		case s.items <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// Next returns the next event. Its error is [io.EOF] at the end of the watch, [ErrNoEvent] if ctx
// ends before, and anything else if the watch breaks.
func (s *Stream) Next(ctx context.Context) (*Event, error) {
	select {
	case <-ctx.Done():
		return nil, ErrNoEvent
	case next, ok := <-s.items:
		switch {
		case !ok:
			return nil, io.EOF
		case next.err != nil:
			return nil, next.err
		}
		s.note(next.event)
		return next.event, nil
	}
}

// note keeps events to be shown.
func (s *Stream) note(event *Event) {
	text := event.Type
	if data, err := json.Marshal(event.Object.Object); err == nil {
		text += " " + shown(data)
	}
	s.seen = append(s.seen, Shorten(text, 1000))
	s.exchange.Received.Body = Shorten(strings.Join(s.seen, "\n"), maxShown)
}

// Close ends the watch.
func (s *Stream) Close() { s.cancel() }

// Exchange is the request and the events that were read, as they are shown to people.
func (s *Stream) Exchange() *Exchange { return s.exchange }

// Fail ends the check: what this watch has sent is not what the server should send.
func (s *Stream) Fail(found, format string, args ...any) {
	(&Response{Exchange: s.exchange}).FailBecause(found, format, args...)
}

// Unprepared ends the check: the watch does not bring what the check needs to go on.
func (s *Stream) Unprepared(wanted string) { Stop(&SetupError{wanted, s.exchange}) }
