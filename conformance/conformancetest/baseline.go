// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

// Baseline is what the checks and a good server send each other. A check of which a broken server changes no
// request and no answer ends there as on the good server, so [Baseline.Prove] need not run it again.
type Baseline struct {
	mu        sync.Mutex
	exchanges []*exchange
	// resources are what the run has found out about the resources before the first check.
	resources []string
}

// checkKey is the key of the identifier of a check in the context of its requests.
type checkKey struct{}

// resourcesID is the identifier of the check that notes the resources as the run sees them.
const resourcesID = "conformancetest-resources"

// Record runs the checks on a good server.
func Record(ctx context.Context, options runner.Options) (*Baseline, *runner.Report, error) {
	b := &Baseline{}
	options.Checks = append(slices.Clone(options.Checks), noteResources(&b.resources))
	for i := range options.Checks {
		check := &options.Checks[i]
		run := check.Run
		check.Run = func(p *runner.Probe) {
			p.Context = context.WithValue(p.Context, checkKey{}, check.ID)
			run(p)
		}
	}
	options.Wrap = func(next http.RoundTripper) http.RoundTripper { return &recorder{b, next} }
	report, err := runner.Run(ctx, options)
	return b, report, err
}

// Prove is [Prove] without the checks that the broken server does not touch.
func (b *Baseline) Prove(ctx context.Context, options runner.Options, id string, server broken.Server) error {
	var resources []string
	wanted := b.touched(ctx, server)
	wanted[id], wanted[resourcesID] = true, true
	options.Checks = withPatience(Hurry(options.Checks, id), busy, func(other string) bool { return other != id })
	all := options
	all.Checks = append(slices.Clone(options.Checks), noteResources(&resources))
	if err := Prove(ctx, only(all, wanted), id, server); err != nil {
		return err
	}
	if slices.Equal(resources, b.resources) {
		return nil
	}
	// Each check may have other objects here, or none.
	rest := map[string]bool{id: true}
	for i := range options.Checks {
		rest[options.Checks[i].ID] = !wanted[options.Checks[i].ID] || options.Checks[i].ID == id
	}
	return Prove(ctx, only(options, rest), id, server)
}

// only returns the options with the checks that are wanted, and not skipped.
func only(options runner.Options, wanted map[string]bool) runner.Options {
	for i := range options.Checks {
		if id := options.Checks[i].ID; wanted[id] && !slices.Contains(options.Skip, id) {
			options.Only = append(slices.Clone(options.Only), id)
		}
	}
	return options
}

// timePattern matches the times that change objects, such as the times of conditions.
var timePattern = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)

// noteResources returns a check that notes what a run has found out about the resources.
func noteResources(to *[]string) runner.Check {
	return runner.Check{ID: resourcesID, PerResource: true, Run: func(p *runner.Probe) {
		object := p.Resource.Maker.New()
		text := runner.Must(json.Marshal([]any{
			p.HasCore, p.HasCredentials, p.Resource.APIResource, p.Resource.Subresources, p.Resource.Maker.Origin(),
			object, p.Resource.Maker.ContentChanges(object), p.Resource.Maker.StatusChanges(object),
		}))
		*to = append(*to, timePattern.ReplaceAllString(string(text), "now"))
	}}
}

// exchange is a request of a check and its answer.
type exchange struct {
	check    string
	method   string
	url      string
	sent     http.Header
	body     []byte
	failed   bool
	code     int
	received http.Header

	mu     sync.Mutex
	answer bytes.Buffer
}

// recorder keeps what passes.
type recorder struct {
	baseline *Baseline
	next     http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	check, _ := request.Context().Value(checkKey{}).(string)
	if check == "" {
		return r.next.RoundTrip(request) // Of the run itself, which Prove always runs.
	}
	e := &exchange{check: check, method: request.Method, url: request.URL.RequestURI(), sent: request.Header.Clone()}
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		if e.body, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	response, err := r.next.RoundTrip(request)
	if e.failed = err != nil; err == nil {
		e.code, e.received = response.StatusCode, response.Header.Clone()
		response.Body = &recordedBody{response.Body, e}
	}
	r.baseline.mu.Lock()
	defer r.baseline.mu.Unlock()
	r.baseline.exchanges = append(r.baseline.exchanges, e)
	return response, err
}

// recordedBody keeps what is read.
type recordedBody struct {
	io.ReadCloser
	exchange *exchange
}

// Read implements [io.Reader].
func (b *recordedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	b.exchange.mu.Lock()
	defer b.exchange.mu.Unlock()
	b.exchange.answer.Write(data[:n])
	return n, err
}

// touched returns the checks of which a broken server changes something.
func (b *Baseline) touched(ctx context.Context, server broken.Server) map[string]bool {
	touched := map[string]bool{}
	var now *replay
	handler := server.Break(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.serve(w, r) }))
	for _, e := range b.exchanges {
		if touched[e.check] {
			continue
		}
		now = &replay{exchange: e}
		if e.failed || !now.passes(ctx, handler) {
			touched[e.check] = true
		}
	}
	return touched
}
