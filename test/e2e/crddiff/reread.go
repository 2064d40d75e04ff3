// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// rereads is how often answers are compared again that differ: seconds pass in ages.
const rereads = 3

// Rereader compares answers of one server with each other, byte by byte: reports that it sends as they are stored
// with those that it decodes first. It is for one goroutine; nobody else may write to the server meanwhile.
type Rereader struct {
	Target *Target
	// Namespace is there, with the objects' owner in it.
	Namespace string

	runs, compared int
}

// Compared returns how many pairs of answers were compared.
func (r *Rereader) Compared() int { return r.compared }

// Run sends the requests of a case, and returns how answers differ that should be the same:
//   - each read with the same read indented;
//   - what a write answers with a get after it, and with the object in the event of a watch.
//
// Space and the escapes that make JSON safe in HTML don't count: both say the same.
func (r *Rereader) Run(ctx context.Context, c Case) ([]string, error) {
	r.runs++
	name := fmt.Sprintf("reread-%d", r.runs)
	s := &state{name: name, object: name, namespace: r.Namespace, owner: r.Target.owner}
	run := &rereading{Rereader: r, Case: c, state: s, stored: map[string][]byte{}}
	if err := run.steps(ctx); err != nil {
		return nil, fmt.Errorf("seed %d, case %d: %w", c.Seed, c.Number, err)
	}
	if err := run.watch(ctx); err != nil {
		return nil, fmt.Errorf("seed %d, case %d, watch: %w", c.Seed, c.Number, err)
	}
	return run.found, r.Target.clean(ctx, c.Kind, s)
}

// rereading is the run of one case.
type rereading struct {
	*Rereader
	Case

	state *state
	// start is the resource version before the case, stored what gets answered, by its resource version.
	start  string
	stored map[string][]byte
	found  []string
}

func (r *rereading) steps(ctx context.Context) error {
	before, err := r.read(ctx, r.state.request(r.Kind, list().with("limit", "1")))
	if err != nil {
		return err
	}
	r.start, _ = before.metadata()["resourceVersion"].(string)
	for _, step := range r.Steps {
		request := r.state.request(r.Kind, step)
		if step.Method == http.MethodGet {
			if err := r.indented(ctx, request); err != nil {
				return err
			}
		}
		answer, err := r.read(ctx, request)
		if err != nil {
			return err
		}
		r.state.learn(step, answer)
		if step.Method != http.MethodGet {
			if err := r.get(ctx, step, answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// get compares the answer to a write with what a get answers.
func (r *rereading) get(ctx context.Context, step Step, written *Answer) error {
	read := r.state.request(r.Kind, get())
	if err := r.indented(ctx, read); err != nil {
		return err
	}
	answer, err := r.read(ctx, read)
	if err != nil || answer.Code != http.StatusOK {
		return err
	}
	version, _ := answer.metadata()["resourceVersion"].(string)
	r.stored[version] = answer.raw
	isObject := written.Code < http.StatusBadRequest && written.metadata()["resourceVersion"] == version && written.ContentType == typeJSON
	if !isObject || step.Method == http.MethodDelete || step.Query.Has("dryRun") || step.Query.Has("pretty") || step.Header["Accept"] != "" {
		return nil
	}
	r.compare("the answer to "+step.Method+" and a get after it", written.raw, answer.raw)
	return nil
}

// indented compares a read with the same, indented.
func (r *rereading) indented(ctx context.Context, read request) error {
	pretty := read
	pretty.query = maps.Clone(read.query)
	pretty.query.Set("pretty", "1")
	var difference string
	for range rereads {
		a, err := r.read(ctx, read)
		if err != nil {
			return err
		}
		b, err := r.read(ctx, pretty)
		if err != nil {
			return err
		}
		r.compared++
		if a.Code != b.Code || a.ContentType != b.ContentType || !slices.Equal(a.Warnings, b.Warnings) {
			difference = fmt.Sprintf("%s: %d %s %q, indented %d %s %q", r.text(read), a.Code, a.ContentType, a.Warnings, b.Code, b.ContentType, b.Warnings)
			continue
		}
		if difference = differenceOf(a.raw, b.raw); difference == "" {
			return nil
		}
		difference = r.text(read) + " and the same, indented: " + difference
	}
	r.found = append(r.found, difference)
	return nil
}

// watch compares the objects of events with what gets answered.
func (r *rereading) watch(ctx context.Context) error {
	if len(r.stored) == 0 || r.start == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	events := r.state.request(r.Kind, Step{Method: http.MethodGet, Collection: true}.with(
		"watch", "true", "resourceVersion", r.start))
	answer, err := r.Target.open(ctx, events)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // It is read as far as it matters.
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 16<<20)
	left := len(r.stored)
	for left > 0 && lines.Scan() {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		var object map[string]any
		if err := errors.Join(json.Unmarshal(lines.Bytes(), &event), json.Unmarshal(event.Object, &object)); err != nil {
			return err
		}
		version, _ := metadataOf(object)["resourceVersion"].(string)
		if stored, known := r.stored[version]; known && event.Type != "DELETED" {
			r.compare("the "+event.Type+" event and a get", event.Object, stored)
			left--
		}
	}
	if left > 0 {
		return errors.Join(fmt.Errorf("it ended before %d of %d events", left, len(r.stored)), lines.Err())
	}
	return nil
}

// read sends a request. No answer is an error here: two of them would be the same.
func (r *rereading) read(ctx context.Context, request request) (*Answer, error) {
	answer, err := r.Target.do(ctx, request)
	if err == nil && answer.Code == 0 {
		err = fmt.Errorf("%s: %v", r.text(request), answer.Body)
	}
	return answer, err
}

func (r *rereading) compare(what string, one, other []byte) {
	r.compared++
	if difference := differenceOf(one, other); difference != "" {
		r.found = append(r.found, fmt.Sprintf("seed %d, case %d: %s: %s", r.Seed, r.Number, what, difference))
	}
}

func (r *rereading) text(request request) string {
	return fmt.Sprintf("seed %d, case %d: %s %s?%s as %q", r.Seed, r.Number, request.method, request.path, request.query.Encode(), request.header["Accept"])
}

// plain returns JSON without space and with all escapes, and anything else without space around it.
func plain(body []byte) []byte {
	var short, out bytes.Buffer
	if json.Compact(&short, body) != nil {
		return bytes.TrimSpace(body)
	}
	json.HTMLEscape(&out, short.Bytes())
	return out.Bytes()
}

// differenceOf shows where two texts begin to differ, "" if they don't.
func differenceOf(one, other []byte) string {
	one, other = plain(one), plain(other)
	if bytes.Equal(one, other) {
		return ""
	}
	at := 0
	for at < min(len(one), len(other)) && one[at] == other[at] {
		at++
	}
	around := func(text []byte) string { return string(text[max(0, at-100):min(len(text), at+200)]) }
	return fmt.Sprintf("%d and %d bytes, from %d on\n%s\n%s", len(one), len(other), at, around(one), around(other))
}
