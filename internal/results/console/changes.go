// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Browsers open no more than six connections to a host, and reports have several kinds: the console watches them all,
// and a page has one stream of events.

// changesPath is where a page hears that reports have changed.
const changesPath = "/changes"

const (
	// gathering is how long changes are counted that make one event.
	gathering = time.Second
	// keepAlive is the most time without a line: proxies take a connection without any for lost.
	keepAlive = 20 * time.Second
)

// metadataOnly asks for events without the results of reports.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// validVersion is what a resourceVersion of Docket looks like.
var validVersion = regexp.MustCompile(`^[0-9]{1,20}$`)

// changes tells a page when reports of its scope change, from the state on that the page shows: as server-sent events,
// "live" once and "changed" with the number of changes. It ends when a watch does: the page then reads again, and has
// a newer state to listen from. Kinds that the person may not watch, or that the cluster doesn't have, are left out;
// without any, the answer is 403.
func (s *site) changes(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since := query.Get("since")
	if !validVersion.MatchString(since) {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "since: must be a resourceVersion, which is a number")
		return
	}
	person := s.person(r)
	if full := s.streams.enter(person); full != "" {
		writeStatus(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, full)
		return
	}
	defer s.streams.leave(person)
	ctx, cancel := context.WithCancel(r.Context())
	heard := make(chan signal)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel()
	paths := reported(s.info.Kinds).collections(query.Get("namespace"), query.Has("outside"))
	for _, path := range paths {
		watches.Go(func() { s.watch(ctx, path, since, heard) })
	}
	tell(ctx, w, heard, len(paths))
}

// collections are the paths of reports in a scope.
func (kinds reported) collections(namespace string, outside bool) []string {
	var paths []string
	for _, kind := range kinds {
		root := "/apis/" + kind.GroupVersion().String() + "/"
		switch {
		case namespace != "" && kind.Namespaced:
			paths = append(paths, root+"namespaces/"+namespace+"/"+kind.Resource)
		case namespace == "" && !(outside && kind.Namespaced):
			paths = append(paths, root+kind.Resource)
		}
	}
	return paths
}

// signal is what a watch of a collection says.
type signal int

const (
	begun   signal = iota // It is answered.
	changed               // A report has changed.
	ended                 // It was answered, and has ended.
	refused               // It was not answered.
)

// watch asks for the changes of a collection, and passes them on until the context ends.
func (s *site) watch(ctx context.Context, path, since string, heard chan<- signal) {
	say := func(what signal) {
		select {
		case heard <- what:
		case <-ctx.Done():
		}
	}
	response, err := s.askForChanges(ctx, path, since)
	if err != nil {
		say(refused) // The page asks for itself, and hears why.
		return
	}
	defer func() { _ = response.Body.Close() }() // Nothing is left to read.
	switch response.StatusCode {
	case http.StatusOK:
		say(begun)
		for decoder := json.NewDecoder(response.Body); ; {
			var event struct{ Type watch.EventType }
			if decoder.Decode(&event) != nil || event.Type == watch.Error {
				break
			}
			say(changed)
		}
		say(ended)
	case http.StatusGone:
		say(ended)
	default:
		say(refused)
	}
}

// askForChanges sends the request of a watch, as the person who asks.
func (s *site) askForChanges(ctx context.Context, path, since string) (*http.Response, error) {
	if !reported(s.info.Kinds).watched(&url.URL{Path: path}) {
		return nil, errors.New("the console does not watch this")
	}
	address := s.server.JoinPath(path)
	address.RawQuery = url.Values{"watch": {"true"}, "resourceVersion": {since}}.Encode()
	//nolint:gosec // The address is the cluster's own, and watched knows the path.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", metadataOnly)
	return s.transport.RoundTrip(request)
}

// tell writes what watches say as events, until one ends or all were refused.
func tell(ctx context.Context, w http.ResponseWriter, heard <-chan signal, watches int) {
	controller := http.NewResponseController(w)
	var live bool
	var changes int
	gathered := time.NewTimer(0)
	<-gathered.C
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		line := ""
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			if live {
				line = ":\n\n"
			}
		case <-gathered.C:
			line, changes = fmt.Sprintf("event: changed\ndata: %d\n\n", changes), 0
		case s := <-heard:
			switch s {
			case begun:
				if !live {
					live, line = true, "event: live\ndata:\n\n"
					w.Header().Set("Content-Type", "text/event-stream")
				}
			case changed:
				if changes++; changes == 1 {
					gathered.Reset(gathering)
				}
			case refused:
				if watches--; watches == 0 {
					if !live {
						writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, "reports can't be watched")
					}
					return
				}
			case ended:
				return
			}
		}
		if line == "" {
			continue
		}
		if !extend(controller) {
			return
		}
		if _, err := io.WriteString(w, line); err != nil || controller.Flush() != nil {
			return // The page is gone.
		}
	}
}

// extend lets a stream go on beyond the time that the server has for other answers, until a line after the next one
// should have come.
func extend(controller *http.ResponseController) bool {
	for _, err := range []error{controller.SetReadDeadline(time.Time{}), controller.SetWriteDeadline(time.Now().Add(2 * keepAlive))} {
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
	}
	return true
}
