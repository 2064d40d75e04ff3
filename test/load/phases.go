// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/docket-project/docket/internal/kit/progress"
)

// loader runs phases against one server.
type loader struct {
	options *options
	client  *client
	// watchClient opens watches.
	watchClient *client
	bodies      *bodies
	progressOut io.Writer
	// states of the objects. Each is changed by one worker at a time.
	states []state
}

// phase is a step with its name in --phases.
type phase struct {
	name string
	run  func(*loader, context.Context, *recorder) error
}

// phases in their usual order. A phase returns an error only for what makes it
// impossible; single failures go to the recorder.
func phases() []phase {
	return []phase{
		{"create", (*loader).create},
		{"update", (*loader).update},
		{"rewrite", (*loader).rewrite},
		{"get", (*loader).get},
		{"list", (*loader).list},
		{"pages", (*loader).pages},
		{"selector", (*loader).selector},
		{"watch", (*loader).watch},
		{"idle-watch", (*loader).idleWatch},
		{"delete", (*loader).remove},
	}
}

func phaseNames() []string {
	var names []string
	for _, p := range phases() {
		names = append(names, p.name)
	}
	return names
}

// defaultPhases are all phases except the one that only waits, and rewrite, which is a second way to update.
func defaultPhases() []string {
	return slices.DeleteFunc(phaseNames(), func(name string) bool { return name == "idle-watch" || name == "rewrite" })
}

// checkPhase follows all others.
const checkPhase = "check"

func (l *loader) runPhases(ctx context.Context) ([]result, error) {
	l.states = make([]state, l.options.objects)
	if len(l.options.phases) > 0 && l.options.phases[0] != "create" {
		var err error
		if l.states, err = l.inventory(ctx, newRecorder()); err != nil {
			return nil, fmt.Errorf("look at what is there: %w", err)
		}
	}
	var results []result
	for _, p := range append(l.chosen(), phase{checkPhase, (*loader).check}) {
		r := newRecorder()
		started := time.Now()
		err := p.run(l, ctx, r)
		results = append(results, r.result(p.name, time.Since(started)))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return results, fmt.Errorf("phase %s: %w; what was created stays: --phases=delete removes it", p.name, err)
		}
	}
	return results, nil
}

// chosen are the phases that the flags ask for.
func (l *loader) chosen() (chosen []phase) {
	for _, name := range l.options.phases {
		if name != "delete" || !l.options.keep {
			chosen = append(chosen, phases()[slices.IndexFunc(phases(), func(p phase) bool { return p.name == name })])
		}
	}
	return chosen
}

// worker is one of --clients; its buffers are its own.
type worker struct {
	number int
	answer bytes.Buffer
	body   []byte
}

// each calls do for every number below n, by all clients, at no more than --rate, and
// records how long each call took and what it read.
func (l *loader) each(ctx context.Context, r *recorder, label string, n int, do func(*worker, int) error) {
	bar := progress.New(l.progressOut, int64(n), label)
	defer bar.Done()
	limit := rate.NewLimiter(rate.Inf, 1)
	if l.options.rate > 0 {
		limit = rate.NewLimiter(rate.Limit(l.options.rate), 1)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for number := range min(l.options.clients, n) {
		workers.Go(func() {
			w := &worker{number: number}
			for {
				i := int(next.Add(1)) - 1
				if i >= n || limit.Wait(ctx) != nil {
					return
				}
				started := time.Now()
				if err := do(w, i); err != nil {
					r.fail(ctx, err)
				} else {
					r.ok(time.Since(started), w.answer.Len())
				}
				bar.Add(1)
			}
		})
	}
	workers.Wait()
}

func (l *loader) create(ctx context.Context, r *recorder) error {
	if err := l.createNamespaces(ctx, r); err != nil {
		return err
	}
	l.each(ctx, r, "create", l.options.objects, func(w *worker, i int) error {
		w.body = l.bodies.body(i, time.Now(), w.body[:0])
		return l.write(ctx, r, w, i, http.MethodPost, l.bodies.collection(l.bodies.namespace(i)), http.StatusCreated)
	})
	r.note("%d bytes an object", len(l.bodies.body(0, time.Now(), nil)))
	return nil
}

// createNamespaces makes the namespaces that are missing, where the server has them.
func (l *loader) createNamespaces(ctx context.Context, r *recorder) error {
	if !l.options.kind.Namespaced {
		return nil
	}
	var answer bytes.Buffer
	for n := range l.options.namespaces {
		name := l.bodies.namespaceName(n)
		body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{%q:"%d"}}}`,
			name, runLabel, l.options.seed)
		err := l.client.do(ctx, 0, http.MethodPost, "/api/v1/namespaces", body, http.StatusCreated, &answer)
		var status *statusError
		switch {
		case err == nil:
		case errors.As(err, &status) && status.status == http.StatusConflict:
			if err := l.stays(ctx, name); err != nil {
				return err
			}
		case errors.As(err, &status) && status.status == http.StatusNotFound:
			r.note("the server has no namespaces API: none were created")
			return nil
		default:
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

// stays returns an error if a namespace is being deleted, and takes with it what is created there.
func (l *loader) stays(ctx context.Context, name string) error {
	var answer bytes.Buffer
	err := l.client.do(ctx, 0, http.MethodGet, "/api/v1/namespaces/"+name, nil, http.StatusOK, &answer)
	if err == nil && bytes.Contains(answer.Bytes(), []byte(`"deletionTimestamp"`)) {
		err = errors.New("it is being deleted")
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

func (l *loader) update(ctx context.Context, r *recorder) error {
	l.each(ctx, r, "update", l.options.objects, func(w *worker, i int) error {
		_, err := l.touch(ctx, r, w, i)
		return err
	})
	return nil
}

// touch reads object i and writes it back with the time of sending, which it returns.
func (l *loader) touch(ctx context.Context, r *recorder, w *worker, i int) (sent time.Time, err error) {
	if err := l.read(ctx, w, i); err != nil {
		return sent, err
	}
	w.body = append(w.body[:0], w.answer.Bytes()...)
	sent = time.Now()
	if err := setSent(w.body, sent); err != nil {
		return sent, err
	}
	return sent, l.write(ctx, r, w, i, http.MethodPut, l.bodies.path(i), http.StatusOK)
}

// rewrite replaces each object's results by those of another object, as a policy that changes does. Which other, is
// chance.
func (l *loader) rewrite(ctx context.Context, r *recorder) error {
	shift := 1 + rand.IntN(max(1, len(l.bodies.prepared)-1))
	l.each(ctx, r, "rewrite", l.options.objects, func(w *worker, i int) error {
		if err := l.read(ctx, w, i); err != nil {
			return err
		}
		w.body = setRevision(l.bodies.bodyLike(i, i+shift, time.Now(), w.body[:0]), l.states[i].revision)
		return l.write(ctx, r, w, i, http.MethodPut, l.bodies.path(i), http.StatusOK)
	})
	return nil
}

func (l *loader) get(ctx context.Context, r *recorder) error {
	l.each(ctx, r, "get", l.options.objects, func(w *worker, i int) error { return l.read(ctx, w, i) })
	return nil
}

func (l *loader) remove(ctx context.Context, r *recorder) error {
	l.each(ctx, r, "delete", l.options.objects, func(w *worker, i int) error {
		err := l.client.do(ctx, w.number, http.MethodDelete, l.bodies.path(i), nil, http.StatusOK, &w.answer)
		if err == nil {
			l.states[i] = state{}
		}
		return err
	})
	if !l.options.kind.Namespaced {
		return nil
	}
	var answer bytes.Buffer
	for n := range l.options.namespaces {
		path := "/api/v1/namespaces/" + l.bodies.namespaceName(n)
		err := l.client.do(ctx, 0, http.MethodDelete, path, nil, http.StatusOK, &answer)
		var status *statusError
		if errors.As(err, &status) && status.status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete namespace %s: %w", l.bodies.namespaceName(n), err)
		}
	}
	return nil
}

// list reads everything in one answer, one client at a time.
func (l *loader) list(ctx context.Context, r *recorder) error {
	l.repeated(ctx, r, "list", func(w *worker) (int, error) {
		err := l.client.do(ctx, w.number, http.MethodGet, l.bodies.collection(""), nil, http.StatusOK, &w.answer)
		return countObjects(w.answer.Bytes()), err
	})
	return nil
}

// repeated calls read --repeat times and checks that it saw all objects.
func (l *loader) repeated(ctx context.Context, r *recorder, label string, read func(*worker) (int, error)) {
	bar := progress.New(l.progressOut, int64(l.options.repeat), label)
	defer bar.Done()
	w := &worker{}
	for range l.options.repeat {
		started := time.Now()
		seen, err := read(w)
		if err == nil && seen < l.options.objects {
			err = wrongAnswer("%d objects, want %d or more", seen, l.options.objects)
		}
		if err != nil {
			r.fail(ctx, err)
		} else {
			r.ok(time.Since(started), w.answer.Len())
		}
		bar.Add(1)
	}
}

// pages reads everything in pages; an operation is one page.
func (l *loader) pages(ctx context.Context, r *recorder) error {
	whole := newRecorder()
	l.repeated(ctx, whole, "pages", func(w *worker) (int, error) {
		seen, next := 0, ""
		for {
			started := time.Now()
			path := fmt.Sprintf("%s?limit=%d&continue=%s", l.bodies.collection(""), l.options.pageSize, url.QueryEscape(next))
			if err := l.client.do(ctx, w.number, http.MethodGet, path, nil, http.StatusOK, &w.answer); err != nil {
				return seen, err
			}
			r.ok(time.Since(started), w.answer.Len())
			seen += countObjects(w.answer.Bytes())
			if next = continueOf(w.answer.Bytes()); next == "" {
				return seen, nil
			}
		}
	})
	r.errors, r.examples = whole.errors, whole.examples
	r.note("all pages: p50 %.1f ms, max %.1f ms", whole.result("", time.Second).P50Millis, whole.result("", time.Second).MaxMillis)
	return nil
}

// selector asks for one label value after the other, in the namespace of its objects.
func (l *loader) selector(ctx context.Context, r *recorder) error {
	size := l.options.groupSize
	groups := l.options.objects / size
	if groups == 0 {
		return fmt.Errorf("--selector-size=%d is more than --objects=%d", size, l.options.objects)
	}
	l.each(ctx, r, "selector", min(groups, 100*l.options.repeat), func(w *worker, g int) error {
		i := g * size
		path := l.bodies.collection(l.bodies.namespace(i)) + "?labelSelector=" +
			url.QueryEscape(subjectLabel+"="+l.bodies.group(i))
		if err := l.client.do(ctx, w.number, http.MethodGet, path, nil, http.StatusOK, &w.answer); err != nil {
			return err
		}
		if seen := countObjects(w.answer.Bytes()); seen != size {
			return wrongAnswer("%d objects with one label value, want %d", seen, size)
		}
		return nil
	})
	return nil
}
