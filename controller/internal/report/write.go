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

// unreachable reports whether the server, rather than something about the report, is the trouble.
func unreachable(err error) bool {
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

// backoffFor is the pause after a failure that is about the report.
func (w *Writer) backoffFor(rs *reportState, err error) time.Duration {
	if errors.Is(err, errForeign) {
		return lastBackoff
	}
	return backoff(rs.failures, lastBackoff)
}

// write makes the server have a report as the layout has it now, and notes how that went.
func (w *Writer) write(ctx context.Context, rs *reportState, generation uint64) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := w.sync(bounded, rs)
	w.mu.Lock()
	defer w.mu.Unlock()
	// Once a report, and once an outage of the server.
	if err != nil && rs.failures == 0 && ctx.Err() == nil && !(unreachable(err) && w.outages > 0) {
		klog.FromContext(ctx).Error(err, "A report can't be written; will retry", "report", klog.KRef(rs.key.namespace, rs.key.name), "group", rs.key.api)
	}
	w.finish(rs, generation, err)
	observeReports(len(w.reports))
	observePending(len(w.dirty))
	w.layout.observe()
}

// sync brings one report to the server. Only who made the entry busy may call it: nobody else
// changes what it says of the server.
func (w *Writer) sync(ctx context.Context, rs *reportState) error {
	for range rounds {
		if w.clearStale(rs) {
			if err := w.readStored(ctx, rs); err != nil {
				return err
			}
		}
		var again bool
		var err error
		if wanted, ok := w.desired(rs); ok {
			again, err = w.put(ctx, rs, wanted)
		} else {
			again, err = w.remove(ctx, rs)
		}
		if !again {
			return err
		}
		w.markStale(rs)
	}
	return apierrors.NewConflict(kindOf(rs.key.api, rs.key.namespace != "").gvr().GroupResource(), rs.key.name,
		errors.New("somebody else changes it all the time"))
}

// clearStale reports whether the report has to be read first.
func (w *Writer) clearStale(rs *reportState) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	suspect := rs.stale && rs.exists
	rs.stale = false
	return suspect
}

func (w *Writer) markStale(rs *reportState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rs.stale = true
}

// desired returns what the layout has for the entry.
func (w *Writer) desired(rs *reportState) (report.Accessor, bool) {
	if rs.key.api != w.api {
		return nil, false
	}
	return w.layout.report(rs.key.reportKey)
}

// readStored reads what the server has.
func (w *Writer) readStored(ctx context.Context, rs *reportState) error {
	object, err := w.remote.get(ctx, rs.key.api, rs.key.reportKey)
	if apierrors.IsNotFound(err) {
		w.markMissing(rs)
		return nil
	}
	if err != nil {
		w.markStale(rs)
		return fmt.Errorf("read it: %w", err)
	}
	if object.GetLabels()[ManagedByLabel] != Manager {
		w.markMissing(rs) // What is ours there is gone; put finds what is there instead.
		return nil
	}
	sum, err := hashOf(kindOf(rs.key.api, rs.key.namespace != ""), object)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if rs.hash != (hash{}) && sum != rs.hash {
		rs.repairs++
		rs.repaired = w.clock.Now()
	}
	rs.has(object, sum)
	return nil
}

func (w *Writer) markMissing(rs *reportState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rs.exists, rs.hash, rs.identity = false, hash{}, identity{}
}

// deleted notes that we deleted a report.
func (w *Writer) deleted(rs *reportState) {
	w.markMissing(rs)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(&w.journal.deleted[rs.cause])
}

// put writes a report, unless the server has it already. It asks for another round if somebody
// else was faster.
func (w *Writer) put(ctx context.Context, rs *reportState, object report.Accessor) (again bool, err error) {
	sum, err := hashOf(kindOf(rs.key.api, rs.key.namespace != ""), object)
	if err != nil {
		return false, err
	}
	if rs.exists && sum == rs.hash {
		return false, nil
	}
	operation, call := opCreate, w.remote.create
	if rs.exists {
		operation, call = opUpdate, w.remote.update
		object.SetUID(rs.UID)
		object.SetResourceVersion(rs.ResourceVersion)
		rs.foreign.addTo(object)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return false, fmt.Errorf("encode it: %w", err)
	}
	begin := w.clock.Now()
	id, err := call(ctx, rs.key.api, rs.key.reportKey, data)
	observeWrite(operation, err, w.clock.Since(begin), len(data))
	switch {
	case err == nil:
		w.mu.Lock()
		defer w.mu.Unlock()
		rs.exists, rs.hash, rs.identity = true, sum, id
		w.addPut(operation)
		return false, nil
	case operation == opCreate && apierrors.IsAlreadyExists(err):
		return w.adopt(ctx, rs)
	case operation == opUpdate && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return true, nil
	default:
		return false, fmt.Errorf("%s it: %w", operation, err)
	}
}

// adopt looks whether a report that is in the way is ours.
func (w *Writer) adopt(ctx context.Context, rs *reportState) (again bool, err error) {
	if err := w.readStored(ctx, rs); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !rs.exists {
		countForeign()
		return false, errForeign
	}
	return true, nil
}

// remove deletes a report. What is unwanted stays until the layout is settled.
func (w *Writer) remove(ctx context.Context, rs *reportState) (again bool, err error) {
	if !w.mayDelete(rs) {
		return false, nil
	}
	begin := w.clock.Now()
	err = w.remote.remove(ctx, rs.key.api, rs.key.reportKey, rs.identity)
	observeWrite(opDelete, err, w.clock.Since(begin), 0)
	switch {
	case err == nil:
		w.deleted(rs)
		return false, nil
	case apierrors.IsNotFound(err):
		w.markMissing(rs)
		return false, nil
	case apierrors.IsConflict(err):
		return true, nil
	default:
		return false, fmt.Errorf("delete it: %w", err)
	}
}

func (w *Writer) mayDelete(rs *reportState) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return rs.exists && (w.pruned || !rs.unwanted)
}
