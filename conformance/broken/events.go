// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// events changes the lines of a watch as they pass.
type events struct {
	http.ResponseWriter

	edit func(event map[string]any) []map[string]any
	line []byte
	// refused tells that the answer is no watch.
	refused bool
}

func (e *events) WriteHeader(code int) {
	e.refused = code != http.StatusOK
	e.ResponseWriter.WriteHeader(code)
}

func (e *events) Write(data []byte) (int, error) {
	if e.refused {
		return e.ResponseWriter.Write(data)
	}
	e.line = append(e.line, data...)
	for {
		end := bytes.IndexByte(e.line, '\n')
		if end < 0 {
			return len(data), nil
		}
		line := e.line[:end]
		e.line = e.line[end+1:]
		var event map[string]any
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		for _, out := range e.edit(event) {
			text, err := json.Marshal(out)
			if err != nil {
				return 0, err
			}
			if _, err := e.ResponseWriter.Write(append(text, '\n')); err != nil {
				return 0, err
			}
		}
	}
}

// Unwrap is for [http.ResponseController].
func (e *events) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Flush implements [http.Flusher].
func (e *events) Flush() {
	http.NewResponseController(e.ResponseWriter).Flush() //nolint:errcheck // The client has gone.
}

// OnEvents has edit replace each event of watches; newEdit is called once for each watch.
func OnEvents(match Match, newEdit func(*http.Request) func(event map[string]any) []map[string]any) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) || !Watching(r) {
				next.ServeHTTP(w, r)
				return
			}
			r.Header.Del("Accept-Encoding")
			next.ServeHTTP(&events{ResponseWriter: w, edit: newEdit(r)}, r)
		})
	}
}
