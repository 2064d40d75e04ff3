// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// patience is for an event on a busy machine.
const patience = time.Minute

// barrier is the name of the objects that show that a watch has told all that came before.
const barrier = "recorded-watch-ends-here"

// Replayer sends the requests of recordings to a server.
type Replayer struct {
	client   *http.Client
	base     *url.URL
	patience time.Duration // for an event
}

// NewReplayer returns a replayer for the server of a configuration. The namespaces of a recording must
// be there, and empty of reports.
func NewReplayer(config *rest.Config) (*Replayer, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // Of watches, too.
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	return &Replayer{client, base, patience}, nil
}

// replay is the state of one run.
type replay struct {
	*Replayer
	*bindings
	recording   *Recording
	watches     []watched
	differences []Difference
}

// watched is a watch that runs.
type watched struct {
	number int // of the exchange
	stream *events
}

// Replay sends the requests in their order, and returns where the answers differ from the recorded
// ones. An error means that the replay could not go on.
func (r *Replayer) Replay(ctx context.Context, recording *Recording) ([]Difference, error) {
	ctx, cancel := context.WithCancel(ctx) // Ends the watches.
	defer cancel()
	run := &replay{Replayer: r, bindings: newBindings(), recording: recording}
	for number := range recording.Exchanges {
		if err := run.exchange(ctx, number); err != nil {
			return run.differences, fmt.Errorf("request %d, %s: %w", number+1, run.what(number), err)
		}
	}
	for _, w := range run.watches {
		if err := run.watch(ctx, w); err != nil {
			return run.differences, fmt.Errorf("events of request %d, %s: %w", w.number+1, run.what(w.number), err)
		}
	}
	return run.differences, nil
}

func (r *replay) what(number int) string {
	request := r.recording.Exchanges[number].Request
	return request.Method + " " + request.Path
}

// compare compares a part of an answer.
func (r *replay) compare(number int, where string, want, got any) {
	c := comparison{r.bindings, func(where, want, got string) { r.differ(number, where, want, got) }}
	c.value(where, want, got)
}

func (r *replay) differ(number int, where, want, got string) {
	r.differences = append(r.differences, Difference{number + 1, r.what(number), where, want, got})
}

func (r *replay) exchange(ctx context.Context, number int) error {
	x := r.recording.Exchanges[number]
	request, err := r.request(ctx, x.Request)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	streams := x.Request.watches() && response.StatusCode == http.StatusOK
	if response.StatusCode != x.Response.Status {
		if streams { // It would go on without end.
			r.differ(number, "status", fmt.Sprint(x.Response.Status), "a watch")
			return response.Body.Close()
		}
		body, err := readBody(response)
		r.differ(number, "status", fmt.Sprint(x.Response.Status), fmt.Sprintf("%d: %s", response.StatusCode, show(body)))
		return err
	}
	r.compare(number, "Warning", x.Response.Header["Warning"], strings.Join(response.Header.Values("Warning"), ", "))
	contentType := response.Header.Get("Content-Type")
	r.compare(number, "Content-Type", withoutProtobuf(mediaType(x.Response.Header["Content-Type"])), mediaType(contentType))
	if streams {
		stream, err := newEvents(contentType, response.Body)
		if err != nil {
			return err
		}
		r.watches = append(r.watches, watched{number, stream})
		return r.begin(ctx, number, stream)
	}
	body, err := readBody(response)
	if err != nil {
		return err
	}
	r.compare(number, "body", x.Response.Body, body)
	return nil
}

// request returns a recorded request with values for its symbols.
func (r *replay) request(ctx context.Context, recorded Request) (*http.Request, error) {
	path, err := r.fillText(recorded.Path)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for key, values := range recorded.Query {
		for _, value := range values {
			if value, err = r.fillText(value); err != nil {
				return nil, err
			}
			query.Add(key, value)
		}
	}
	body, err := r.fill(recorded.Body)
	if err != nil {
		return nil, err
	}
	data, err := encodeBody(body)
	if err != nil {
		return nil, err
	}
	target := r.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, recorded.Method, target.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for name, value := range recorded.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}

func encodeBody(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(body), nil
	default:
		return json.Marshal(body)
	}
}

func readBody(response *http.Response) (any, error) {
	data, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	return decodeBody(response.Header.Get("Content-Type"), data)
}

// mediaType writes a Content-Type in one way.
func mediaType(contentType string) string {
	name, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return mime.FormatMediaType(name, parameters)
}

// withoutProtobuf is the type of an answer of a server that has no protocol buffers, like Docket: who asks
// for them takes JSON, too. docs/produce/differences.md has that as media-types.
func withoutProtobuf(mediaType string) string {
	if strings.HasPrefix(mediaType, runtime.ContentTypeProtobuf) {
		return runtime.ContentTypeJSON
	}
	return mediaType
}

// initial is how many events a watch begins with that are about earlier objects: up to the bookmark
// after them.
func initial(events []any) int {
	return 1 + slices.IndexFunc(events, func(event any) bool {
		return text(event, "object", "metadata", "annotations", metav1.InitialEventsAnnotationKey) == "true"
	})
}

// begin compares the events that a watch begins with. The requests that follow would change them.
func (r *replay) begin(ctx context.Context, number int, stream *events) error {
	want := r.recording.Exchanges[number].Response.Events
	return r.events(ctx, number, stream, want, 0, initial(want))
}

// events compares the events of a watch from one to before another.
func (r *replay) events(ctx context.Context, number int, stream *events, want []any, from, to int) error {
	for i := from; i < to; i++ {
		got, err := r.next(ctx, stream)
		if err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(want), err)
		}
		r.compare(number, fmt.Sprintf("events[%d]", i), want[i], got)
	}
	return nil
}

// watch compares the further events of a watch, and, where it ran until the end, sees that no more come.
func (r *replay) watch(ctx context.Context, w watched) error {
	want := r.recording.Exchanges[w.number].Response
	if err := r.events(ctx, w.number, w.stream, want.Events, initial(want.Events), len(want.Events)); err != nil {
		return err
	}
	request := r.recording.Exchanges[w.number].Request
	if !want.Open || request.Query.Has("labelSelector") || request.Query.Has("fieldSelector") {
		return nil
	}
	path, err := r.makeBarrier(ctx, request.Path)
	if err != nil {
		return err
	}
	for i := len(want.Events); ; i++ {
		got, err := r.next(ctx, w.stream)
		if err != nil {
			return err
		}
		if text(got, "object", "metadata", "name") == barrier {
			break
		}
		r.differ(w.number, fmt.Sprintf("events[%d]", i), "nothing", show(got))
	}
	return r.send(ctx, http.MethodDelete, path+"/"+barrier, nil, http.StatusOK)
}

// next is Next with a deadline. The goroutine ends with the context, which ends the watch.
func (r *Replayer) next(ctx context.Context, stream *events) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	type result struct {
		event any
		err   error
	}
	came := make(chan result, 1)
	go func() {
		event, err := stream.Next()
		came <- result{event, err}
	}()
	select {
	case r := <-came:
		if errors.Is(r.err, io.EOF) {
			return nil, errors.New("the server has ended the watch")
		}
		return r.event, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no event has come: %w", ctx.Err())
	}
}

// makeBarrier creates an object in what is watched, and returns the path of its collection.
func (r *replay) makeBarrier(ctx context.Context, watchedPath string) (string, error) {
	segments := strings.Split(strings.TrimPrefix(watchedPath, "/apis/"), "/")
	if len(segments) < 3 {
		return "", fmt.Errorf("%s is no collection", watchedPath)
	}
	version, resource := segments[0]+"/"+segments[1], segments[len(segments)-1]
	var list struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
		}
	}
	if err := r.read(ctx, "/apis/"+version, &list); err != nil {
		return "", err
	}
	for _, found := range list.Resources {
		if found.Name != resource {
			continue
		}
		path := watchedPath
		if found.Namespaced && len(segments) == 3 {
			path = fmt.Sprintf("/apis/%s/namespaces/%s/%s", version, append(r.recording.Namespaces(), "default")[0], resource)
		}
		body := map[string]any{"apiVersion": version, "kind": found.Kind, "metadata": map[string]any{"name": barrier}}
		return path, r.send(ctx, http.MethodPost, path, body, http.StatusCreated)
	}
	return "", fmt.Errorf("%s has no resource %s", version, resource)
}

func (r *replay) read(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(response.Body).Decode(into), response.Body.Close())
}

// send sends a request of the replayer's own, which must succeed.
func (r *replay) send(ctx context.Context, method, path string, body any, status int) error {
	data, err := encodeBody(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base.JoinPath(path).String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	answer, err := readBody(response)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s of the replayer: status %d: %s", method, path, response.StatusCode, show(answer))
	}
	return err
}
