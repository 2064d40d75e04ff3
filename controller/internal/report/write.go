// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
)

const (
	// requestTimeout bounds one write, with what has to be read for it.
	requestTimeout = 30 * time.Second
	// longestPause between attempts to reach a server that is away.
	longestPause = 10 * time.Second
	// rounds is how often one write is retried because somebody else was faster.
	rounds = 4
)

// errForeign is that of a report of our name that is not ours.
var errForeign = errors.New("a report of this name exists that is not managed by " + Manager +
	": it is left alone; rename or delete it, or label it " + Selector + " to hand it over")

// away reports whether the server, rather than something about the report, is the trouble.
func away(err error) bool {
	if errors.Is(err, errForeign) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	switch status.Status().Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false // Even 500: a webhook that fails for some reports says so, too.
	}
}

// patience is the pause after a failure that is about the report.
func (w *Writer) patience(e *entry, err error) time.Duration {
	if errors.Is(err, errForeign) {
		return lastBackoff
	}
	return backoff(e.failures, lastBackoff)
}

// write makes the server have a report as the layout has it now, and notes how that went.
func (w *Writer) write(ctx context.Context, e *entry, generation uint64) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := w.bring(bounded, e)
	w.mu.Lock()
	defer w.mu.Unlock()
	// Once a report, and once an outage of the server.
	if err != nil && e.failures == 0 && ctx.Err() == nil && !(away(err) && w.outages > 0) {
		klog.FromContext(ctx).Error(err, "A report can't be written; will retry", "report", klog.KRef(e.key.namespace, e.key.name), "group", e.key.api)
	}
	w.finish(e, generation, err)
	observeReports(len(w.entries))
	observePending(len(w.dirty))
	w.layout.observe()
}

// bring brings one report to the server. Only who made the entry busy may call it: nobody else
// changes what it says of the server.
func (w *Writer) bring(ctx context.Context, e *entry) error {
	for range rounds {
		if w.takeSuspicion(e) {
			if err := w.look(ctx, e); err != nil {
				return err
			}
		}
		var again bool
		var err error
		if wanted, ok := w.wanted(e); ok {
			again, err = w.put(ctx, e, wanted)
		} else {
			again, err = w.remove(ctx, e)
		}
		if !again {
			return err
		}
		w.distrust(e)
	}
	return apierrors.NewConflict(kindOf(e.key.api, e.key.namespace != "").gvr().GroupResource(), e.key.name,
		errors.New("somebody else changes it all the time"))
}

// takeSuspicion reports whether the report has to be read first.
func (w *Writer) takeSuspicion(e *entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	suspect := e.suspect && e.exists
	e.suspect = false
	return suspect
}

func (w *Writer) distrust(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.suspect = true
}

// wanted returns what the layout has for the entry.
func (w *Writer) wanted(e *entry) (report.Accessor, bool) {
	if e.key.api != w.api {
		return nil, false
	}
	return w.layout.report(e.key.reportKey)
}

// look reads what the server has.
func (w *Writer) look(ctx context.Context, e *entry) error {
	object, err := w.remote.get(ctx, e.key.api, e.key.reportKey)
	if apierrors.IsNotFound(err) {
		w.gone(e)
		return nil
	}
	if err != nil {
		w.distrust(e)
		return fmt.Errorf("read it: %w", err)
	}
	if object.GetLabels()[ManagedByLabel] != Manager {
		w.gone(e) // What is ours there is gone; put finds what is there instead.
		return nil
	}
	sum, err := hashOf(kindOf(e.key.api, e.key.namespace != ""), object)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.hash != (hash{}) && sum != e.hash {
		e.repairs++
		e.repaired = w.clock.Now()
	}
	e.has(object, sum)
	return nil
}

func (w *Writer) gone(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.exists, e.hash, e.identity = false, hash{}, identity{}
}

// deleted notes that we deleted a report.
func (w *Writer) deleted(e *entry) {
	w.gone(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(&w.journal.deleted[e.cause])
}

// put writes a report, unless the server has it already. It asks for another round if somebody
// else was faster.
func (w *Writer) put(ctx context.Context, e *entry, object report.Accessor) (again bool, err error) {
	sum, err := hashOf(kindOf(e.key.api, e.key.namespace != ""), object)
	if err != nil {
		return false, err
	}
	if e.exists && sum == e.hash {
		return false, nil
	}
	operation, call := opCreate, w.remote.create
	if e.exists {
		operation, call = opUpdate, w.remote.update
		object.SetUID(e.UID)
		object.SetResourceVersion(e.ResourceVersion)
		e.foreign.addTo(object)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return false, fmt.Errorf("encode it: %w", err)
	}
	begin := w.clock.Now()
	id, err := call(ctx, e.key.api, e.key.reportKey, data)
	observeWrite(operation, err, w.clock.Since(begin), len(data))
	switch {
	case err == nil:
		w.mu.Lock()
		defer w.mu.Unlock()
		e.exists, e.hash, e.identity = true, sum, id
		w.addPut(operation)
		return false, nil
	case operation == opCreate && apierrors.IsAlreadyExists(err):
		return w.adopt(ctx, e)
	case operation == opUpdate && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return true, nil
	default:
		return false, fmt.Errorf("%s it: %w", operation, err)
	}
}

// adopt looks whether a report that is in the way is ours.
func (w *Writer) adopt(ctx context.Context, e *entry) (again bool, err error) {
	if err := w.look(ctx, e); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.exists {
		countForeign()
		return false, errForeign
	}
	return true, nil
}

// remove deletes a report. What is unwanted stays until the layout is settled.
func (w *Writer) remove(ctx context.Context, e *entry) (again bool, err error) {
	if !w.mayGo(e) {
		return false, nil
	}
	begin := w.clock.Now()
	err = w.remote.remove(ctx, e.key.api, e.key.reportKey, e.identity)
	observeWrite(opDelete, err, w.clock.Since(begin), 0)
	switch {
	case err == nil:
		w.deleted(e)
		return false, nil
	case apierrors.IsNotFound(err):
		w.gone(e)
		return false, nil
	case apierrors.IsConflict(err):
		return true, nil
	default:
		return false, fmt.Errorf("delete it: %w", err)
	}
}

func (w *Writer) mayGo(e *entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.exists && (w.settled || !e.unwanted)
}
