// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"time"
)

// replayTime is how long a handler may take for a recorded exchange before it counts as one that changes it.
const replayTime = 10 * time.Second

// replay sends a recorded request through a handler, and answers it behind the handler as it was answered.
type replay struct {
	*exchange

	calls   int
	changed bool
}

// passes reports whether the handler changes neither the request nor the answer.
func (r *replay) passes(ctx context.Context, handler http.Handler) (unchanged bool) {
	ctx, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	defer func() {
		if recover() != nil { // Handlers abort answers so.
			unchanged = false
		}
	}()
	request := httptest.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	request.Header = r.sent.Clone()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return ctx.Err() == nil && r.calls == 1 && !r.changed && answer.Code == r.code &&
		reflect.DeepEqual(without(answer.Header()), without(r.received)) && sameBody(answer.Body.Bytes(), r.answer.Bytes())
}

// serve is the handler that does the work.
func (r *replay) serve(w http.ResponseWriter, request *http.Request) {
	r.calls++
	body, err := io.ReadAll(request.Body)
	r.changed = r.changed || err != nil || request.Method != r.method || request.URL.RequestURI() != r.url ||
		!bytes.Equal(body, r.body) || !reflect.DeepEqual(without(request.Header), without(r.sent))
	for name, values := range r.received {
		w.Header()[name] = slices.Clone(values)
	}
	w.WriteHeader(r.code)
	w.Write(r.answer.Bytes()) //nolint:errcheck // It goes into memory.
}

// without leaves out what re-encoding a body may change without any difference.
func without(header http.Header) http.Header {
	header = header.Clone()
	header.Del("Content-Length")
	return header
}

// sameBody compares bodies to the byte or, if both are JSON or lines of JSON, by their values.
func sameBody(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, okFirst := values(a)
	second, okSecond := values(b)
	return okFirst && okSecond && reflect.DeepEqual(first, second)
}

// values returns the JSON values of a body; numbers stay as they are written.
func values(body []byte) (all []any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	for {
		var value any
		switch err := decoder.Decode(&value); err {
		case nil:
			all = append(all, value)
		case io.EOF:
			return all, true
		default:
			return nil, false
		}
	}
}
