// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// state is what an object was when this run last wrote it, or found it at its start. The zero value is no object.
type state struct {
	sent     int64
	revision string // Empty where the server has none, as that of canned answers.
}

// stateOf reads the state from an object's JSON, where metadata come before all else that has such fields.
func stateOf(object []byte) state {
	sent, _ := sentOf(object) // Or it is not one of ours.
	_, rest, _ := bytes.Cut(object, []byte(`"resourceVersion":"`))
	revision, _, _ := bytes.Cut(rest, []byte(`"`))
	return state{sent, string(revision)}
}

// write sends an object, and remembers what it became.
func (l *loader) write(ctx context.Context, r *recorder, w *worker, i int, method, path string, want int) error {
	if err := l.client.do(ctx, w.number, method, path, w.body, want, &w.answer); err != nil {
		return err
	}
	l.states[i] = stateOf(w.answer.Bytes())
	r.wrote()
	return nil
}

// read reads object i, which has to be as it was last written.
func (l *loader) read(ctx context.Context, w *worker, i int) error {
	if err := l.client.do(ctx, w.number, http.MethodGet, l.bodies.path(i), nil, http.StatusOK, &w.answer); err != nil {
		return err
	}
	return l.same(i, stateOf(w.answer.Bytes()))
}

// same compares what was found of object i with what is known. Somebody else writes if they differ: what is measured
// is not what it seems to be then.
func (l *loader) same(i int, found state) error {
	if known := l.states[i]; found != known {
		return wrongAnswer("%s is %+v, and was last written as %+v", l.bodies.path(i), found, known)
	}
	return nil
}

// check compares all objects with their state when they were last written; an operation is one page.
func (l *loader) check(ctx context.Context, r *recorder) error {
	found, err := l.inventory(ctx, r)
	if err != nil {
		return err
	}
	for i, one := range found {
		if err := l.same(i, one); err != nil {
			r.fail(ctx, err)
		}
	}
	return nil
}

// inventory reads the states of all objects, in pages.
func (l *loader) inventory(ctx context.Context, r *recorder) ([]state, error) {
	found := make([]state, l.options.objects)
	query := url.Values{"labelSelector": {fmt.Sprintf("%s=%d", runLabel, l.options.seed)}, "limit": {strconv.Itoa(l.options.pageSize)}}
	var answer bytes.Buffer
	for {
		started := time.Now()
		if err := l.client.do(ctx, 0, http.MethodGet, l.bodies.collection("")+"?"+query.Encode(), nil, http.StatusOK, &answer); err != nil {
			return nil, err
		}
		r.ok(time.Since(started), answer.Len())
		next, err := l.sort(answer.Bytes(), found)
		if err != nil || next == "" {
			return found, err
		}
		query.Set("continue", next)
	}
}

// sort puts the states of the objects of a page where they belong, and returns how the list continues.
func (l *loader) sort(page []byte, found []state) (next string, err error) {
	var list struct {
		Metadata struct{ Continue string }
		Items    []struct {
			Metadata struct {
				Namespace, Name, ResourceVersion string
				Annotations                      map[string]string
			}
		}
	}
	if err := json.Unmarshal(page, &list); err != nil {
		return "", err
	}
	for i := range list.Items {
		object := &list.Items[i].Metadata
		// A name ends with the number. Others are of other runs.
		number, err := strconv.ParseUint(object.Name[strings.LastIndex(object.Name, "-")+1:], 16, 32)
		if err != nil || number >= uint64(len(found)) || object.Name != l.bodies.name(int(number)) {
			continue
		}
		if found[number] != (state{}) {
			return "", wrongAnswer("%s/%s is there twice", object.Namespace, object.Name)
		}
		sent, err := strconv.ParseInt(object.Annotations[sentAnnotation], 10, 64)
		if err != nil {
			return "", wrongAnswer("%s/%s: %s: %v", object.Namespace, object.Name, sentAnnotation, err)
		}
		found[number] = state{sent, object.ResourceVersion}
	}
	return list.Metadata.Continue, nil
}
