// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const jsonType = "application/json"

// webhook serves one of the two paths.
type webhook struct {
	server *Server
	// name is the value of the label webhook.
	name   string
	closed bool
	intake *intake
	gate   *gate
}

func newWebhook(s *Server, closed bool) *webhook {
	w := &webhook{
		server: s, name: webhookIgnore, closed: closed,
		intake: newIntake(s.config.BodyMemory), gate: newGate(s.config.Concurrency),
	}
	if closed {
		w.name = webhookFail
	}
	return w
}

// problem is a request that is not answered with a review, so that the failurePolicy of the webhook decides.
type problem struct {
	code int
	// reason is the value of the label reason.
	reason string
	err    error
}

func malformed(code int, err error) *problem { return &problem{code, refusedMalformed, err} }

// ServeHTTP answers one AdmissionReview.
func (w *webhook) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	response, operation, trouble := w.serve(to, r, begin)
	if trouble != nil {
		refusedTotal.WithLabelValues(w.name, trouble.reason).Inc()
		http.Error(to, trouble.err.Error(), trouble.code)
		return
	}
	to.Header().Set("Content-Type", jsonType)
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: reviewKind}, Response: response,
	}
	if err := json.NewEncoder(to).Encode(review); err != nil {
		klog.FromContext(r.Context()).V(1).Info("The answer to an admission request could not be sent", "err", err)
	}
	requestsTotal.WithLabelValues(w.name, string(operation), strconv.FormatBool(response.Allowed)).Inc()
	requestSeconds.WithLabelValues(w.name).Observe(time.Since(begin).Seconds())
}

// serve reads the body before it takes a slot, so that slow clients don't occupy slots.
func (w *webhook) serve(to http.ResponseWriter, r *http.Request, begin time.Time) (*admissionv1.AdmissionResponse, admissionv1.Operation, *problem) {
	if trouble := precheck(r); trouble != nil {
		return nil, "", trouble
	}
	index := w.server.index()
	if index == nil {
		return nil, "", &problem{http.StatusServiceUnavailable, refusedNotReady, errors.New("the policies of the cluster are not known yet")}
	}
	limit, late, err := parseTimeout(r.URL.Query().Get("timeout"), index.timeout(w.closed, w.server.config.Timeout))
	if err != nil {
		return nil, "", malformed(http.StatusBadRequest, err)
	}
	body, trouble := w.intake.read(to, r, begin.Add(min(bodyTime, limit)))
	if trouble != nil {
		return nil, "", trouble
	}
	if err := w.gate.enter(r.Context(), limit/waitPart); err != nil {
		body.release()
		return nil, "", &problem{http.StatusServiceUnavailable, refusedOverload, fmt.Errorf("%w; add replicas or processors", err)}
	}
	slot := w.newSlot(body)
	defer slot.release()
	request, err := parseReview(body.data)
	if err != nil {
		return nil, "", malformed(http.StatusBadRequest, err)
	}
	waiting, cancelWaiting := context.WithDeadline(r.Context(), begin.Add(late))
	defer cancelWaiting()
	// evaluating is derived from waiting, so that waiting is done first when the client goes away: what policies
	// then answer is not reported.
	evaluating, cancel := context.WithDeadline(waiting, begin.Add(limit))
	defer cancel()
	at := moment{begin: begin, evaluating: evaluating, waiting: waiting}
	response, err := w.server.review(at, index, request, w, slot)
	if err != nil {
		return nil, "", malformed(http.StatusBadRequest, err)
	}
	return response, request.Operation, nil
}

// requestSlot is the slot of a request that is evaluated, and the memory of its body. It is released when the last
// goroutine that works for the request has released it.
type requestSlot struct {
	webhook *webhook
	body    *body
	holders atomic.Int32
}

func (w *webhook) newSlot(b *body) *requestSlot {
	requestsInFlight.WithLabelValues(w.name).Inc()
	p := &requestSlot{webhook: w, body: b}
	p.hold()
	return p
}

func (p *requestSlot) hold() { p.holders.Add(1) }

func (p *requestSlot) release() {
	if p.holders.Add(-1) == 0 {
		requestsInFlight.WithLabelValues(p.webhook.name).Dec()
		p.body.release()
		p.webhook.gate.leave()
	}
}

// precheck checks the request line and the headers.
func precheck(r *http.Request) *problem {
	if r.Method != http.MethodPost {
		return malformed(http.StatusMethodNotAllowed, fmt.Errorf("method %s: send an %s by POST", r.Method, reviewKind))
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !strings.EqualFold(kind, jsonType) {
		return malformed(http.StatusUnsupportedMediaType, fmt.Errorf("Content-Type %q: send %s", r.Header.Get("Content-Type"), jsonType))
	}
	return nil
}
