// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Recording is what one run of a program sent, and what was answered.
type Recording struct {
	Header    Header
	Exchanges []Exchange
}

// Header says where a recording comes from. It is the first line of the file.
type Header struct {
	Program string `json:"program"`
	Version string `json:"version"`
	// Source is where that version was had from, as in "Git tag v1.0.0".
	Source string `json:"source"`
	// Did is what the program did, in one phrase.
	Did string `json:"did"`
	// Server is what answered.
	Server string `json:"server"`
	// Recorded is the day, as in 2026-11-22.
	Recorded string `json:"recorded"`
}

// Exchange is a request with its answer: one line of the file. What the server chose, such as UIDs,
// stands there as a symbol.
type Exchange struct {
	Request  Request  `json:"request"`
	Response Response `json:"response"`
}

// Request is the part of a request that decides about the answer.
type Request struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Query  url.Values        `json:"query,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	// Body is JSON as encoding/json decodes it, numbers as they were written; a string if it was no JSON.
	Body any `json:"body,omitempty"`
}

// Response is an answer: a body, or the events of a watch.
type Response struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   any               `json:"body,omitempty"`
	Events []any             `json:"events,omitempty"`
	// Open says that this is a watch that still ran when the recording ended: a replay expects its Events
	// and no others.
	Open bool `json:"open,omitempty"`
}

// watches says whether a request asks for a watch.
func (r *Request) watches() bool {
	asked := r.Query.Get("watch")
	return asked == "true" || asked == "1"
}

// maxLine bounds a line when it is read: a body and what stands around it.
const maxLine = 2 * maxBody

// Namespaces returns the names of those that the requests lead to, in order.
func (r *Recording) Namespaces() []string {
	var names []string
	for _, x := range r.Exchanges {
		if _, rest, ok := strings.Cut(x.Request.Path, "/namespaces/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Write writes a recording, one JSON object a line.
func (r *Recording) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.Header); err != nil {
		return fmt.Errorf("write a recording: %w", err)
	}
	for i := range r.Exchanges {
		if err := encoder.Encode(r.Exchanges[i]); err != nil {
			return fmt.Errorf("write exchange %d: %w", i+1, err)
		}
	}
	return nil
}

// Load reads a recording from a file.
func Load(path string) (*Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := Read(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Read reads a recording. A field that it doesn't know is an error.
func Read(from io.Reader) (*Recording, error) {
	r := &Recording{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.UseNumber()
		decoder.DisallowUnknownFields()
		var err error
		if n == 1 {
			err = decoder.Decode(&r.Header)
		} else {
			var x Exchange
			err = decoder.Decode(&x)
			r.Exchanges = append(r.Exchanges, x)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	if len(r.Exchanges) == 0 {
		return nil, errors.New("the recording has no requests")
	}
	return r, nil
}
