// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// hook sees requests before the control plane does.
type hook struct {
	next http.RoundTripper
	see  func(*http.Request, http.RoundTripper) (*http.Response, error)
}

func (h hook) RoundTrip(request *http.Request) (*http.Response, error) {
	return h.see(request, h.next)
}

// hooked returns a way to the control plane on which see is asked.
func (w *world) hooked(see func(*http.Request, http.RoundTripper) (*http.Response, error)) *rest.Config {
	via := rest.CopyConfig(w.config)
	via.Wrap(func(next http.RoundTripper) http.RoundTripper { return hook{next, see} })
	return via
}

// forbidden is the answer to who may not.
func forbidden(request *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusForbidden, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403}`)),
	}
}

// door is a way to the control plane that can be shut.
type door struct {
	listener net.Listener
	target   string

	mu   sync.Mutex
	shut bool
	// refused counts connections while it was shut.
	refused int
	conns   map[net.Conn]bool
	wait    sync.WaitGroup
}

func newDoor(tb testing.TB, target string) *door {
	tb.Helper()
	listener := testkit.Must((&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0"))(tb)
	d := &door{listener: listener, target: strings.TrimPrefix(target, "https://"), conns: map[net.Conn]bool{}}
	d.wait.Go(d.serve)
	tb.Cleanup(func() {
		if err := listener.Close(); err != nil {
			tb.Error(err)
		}
		d.set(true)
		d.wait.Wait()
	})
	return d
}

func (d *door) serve() {
	for {
		in, err := d.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", d.target)
		if err != nil || !d.keep(in, out) {
			_ = in.Close()
			continue
		}
		pass := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_, _ = to.Close(), from.Close()
		}
		d.wait.Go(func() { pass(in, out) })
		d.wait.Go(func() { pass(out, in) })
	}
}

// keep returns false, with out closed, if the door is shut.
func (d *door) keep(in, out net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		d.refused++
		_ = out.Close()
		return false
	}
	d.conns[in], d.conns[out] = true, true
	return true
}

// set opens the door, or shuts it and ends all connections.
func (d *door) set(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = shut
	if shut {
		for conn := range d.conns {
			_ = conn.Close()
		}
		clear(d.conns)
	}
}

func (d *door) refusals() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// events is a recorder.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) Event(object runtime.Object, kind, reason, message string) {
	about, ok := object.(*corev1.ObjectReference)
	if !ok {
		panic(fmt.Sprintf("an Event about %T", object))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, about.Kind+"/"+about.Name+" "+kind+" "+reason+" "+message)
}

func (e *events) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	e.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (e *events) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	e.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// with returns the Events whose line has the prefix.
func (e *events) with(prefix string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, line := range e.list {
		if strings.HasPrefix(line, prefix) {
			list = append(list, line)
		}
	}
	return list
}
