// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// requestTimeout bounds one write, including the reads that it needs.
	requestTimeout = 30 * time.Second
	// longestPause is the longest pause between attempts to reach an unreachable server.
	longestPause = 10 * time.Second
	// rounds is how often one write is attempted if somebody else changes the report meanwhile.
	rounds = 4
)

// errForeign says that a report of our name is not ours.
var errForeign = errors.New("a report of this name exists that is not managed by " + Manager +
	": it is not changed; rename or delete it, or label it " + ManagedByLabel + "=" + Manager + " to hand it over")

// unreachable reports whether a write failed because of the server rather than the report.
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
		return false // Not even 500: a webhook that fails for some reports causes it, too.
	}
}

// backoffFor returns the pause after a failure that is due to the report.
func backoffFor(rs *reportState, err error) time.Duration {
	if errors.Is(err, errForeign) {
		return lastBackoff
	}
	return backoff(rs.failures, lastBackoff)
}

// sender makes the reports of the server what the layout says, one request after the other for each of them.
type sender struct {
	plan    *plan
	remote  *remote
	journal *journal
	// tracer makes a span of each write.
	tracer trace.Tracer
}

// write syncs a report and records how that went.
func (s *sender) write(ctx context.Context, rs *reportState, generation uint64) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	traced, span := s.tracer.Start(bounded, "write report", trace.WithAttributes(
		attribute.String("k8s.namespace.name", rs.key.namespace), attribute.String("docket.report", rs.key.name),
	))
	err := s.sync(traced, rs)
	policy.EndSpan(span, err)
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	// Logged once per report, and once per outage of the server.
	switch logger := klog.FromContext(ctx); {
	case err == nil || rs.failures > 0 || ctx.Err() != nil || unreachable(err) && s.plan.outage.failures > 0:
	case policy.NamespaceGone(err):
		logger.V(1).Info("A report is not written because its namespace is gone or going", "report", klog.KRef(rs.key.namespace, rs.key.name))
	default:
		logger.Error(err, "A report can't be written; will retry", "report", klog.KRef(rs.key.namespace, rs.key.name), "group", rs.key.api)
	}
	s.plan.finish(rs, generation, err)
	observeReports(len(s.plan.reports))
	observePending(len(s.plan.dirty))
	s.plan.layout.observe()
}

// sync makes the report of the server the same as that of the layout. Only the goroutine that made the report
// busy may call it: no other changes what its state says about the server.
func (s *sender) sync(ctx context.Context, rs *reportState) error {
	for range rounds {
		if s.plan.clearStale(rs) {
			if err := s.readStored(ctx, rs); err != nil {
				return err
			}
		}
		var again bool
		var err error
		if wanted, ok := s.desired(rs); ok {
			again, err = s.put(ctx, rs, wanted)
		} else {
			again, err = s.remove(ctx, rs)
		}
		if !again {
			return err
		}
		s.plan.mark(func() { rs.stale = true })
	}
	return apierrors.NewConflict(kindOf(rs.key.api, rs.key.namespace != "").gvr().GroupResource(), rs.key.name,
		errors.New("somebody else keeps changing it"))
}

// desired returns the report as the layout has it; false if there should be none.
func (s *sender) desired(rs *reportState) (report.Accessor, bool) {
	if rs.key.api != s.plan.layout.options.API {
		return nil, false
	}
	return s.plan.layout.report(rs.key.reportKey)
}

// readStored reads the report that the server has.
func (s *sender) readStored(ctx context.Context, rs *reportState) error {
	object, err := s.remote.get(ctx, rs.key.api, rs.key.reportKey)
	if apierrors.IsNotFound(err) {
		s.plan.mark(rs.missing)
		return nil
	}
	if err != nil {
		s.plan.mark(func() { rs.stale = true })
		return fmt.Errorf("read the report: %w", err)
	}
	if !belongs(object.GetLabels(), s.plan.layout.options.Instance) {
		s.plan.mark(rs.missing) // Ours no longer exists; put finds the other one.
		return nil
	}
	sum, err := hashOf(object)
	if err != nil {
		return err
	}
	s.plan.markRead(rs, object, sum)
	return nil
}

// put writes a report, unless the server has it already. It asks for another round if somebody else has
// changed the report meanwhile.
func (s *sender) put(ctx context.Context, rs *reportState, object report.Accessor) (again bool, err error) {
	encoded, err := encodeReport(object)
	if err != nil {
		return false, err
	}
	sum, err := encoded.hash()
	if err != nil {
		return false, err
	}
	if rs.exists && sum == rs.hash {
		return false, nil
	}
	operation, call := opCreate, s.remote.create
	if rs.exists {
		operation, call = opUpdate, s.remote.update
		object.SetUID(rs.UID)
		object.SetResourceVersion(rs.ResourceVersion)
		rs.foreign.addTo(object)
	}
	data, err := encoded.request(kindOf(rs.key.api, rs.key.namespace != ""))
	if err != nil {
		return false, err
	}
	begin := s.plan.clock.Now()
	id, err := call(ctx, rs.key.api, rs.key.reportKey, data)
	observeWrite(operation, err, s.plan.clock.Since(begin), len(data))
	switch {
	case err == nil:
		s.plan.mark(func() { rs.exists, rs.hash, rs.identity = true, sum, id; s.journal.count(operation, "") })
		return false, nil
	case operation == opCreate && apierrors.IsAlreadyExists(err):
		return s.adopt(ctx, rs)
	case operation == opUpdate && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return true, nil
	default:
		return false, fmt.Errorf("%s the report: %w", operation, err)
	}
}

// adopt reads a report that exists unexpectedly. If it is ours, it is updated in another round.
func (s *sender) adopt(ctx context.Context, rs *reportState) (again bool, err error) {
	if err := s.readStored(ctx, rs); err != nil {
		return false, err
	}
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	if !rs.exists {
		countForeign()
		return false, errForeign
	}
	return true, nil
}

// remove deletes a report. Unwanted ones stay until the layout is pruned.
func (s *sender) remove(ctx context.Context, rs *reportState) (again bool, err error) {
	if !s.plan.mayDelete(rs) {
		return false, nil
	}
	begin := s.plan.clock.Now()
	err = s.remote.remove(ctx, rs.key.api, rs.key.reportKey, rs.identity)
	observeWrite(opDelete, err, s.plan.clock.Since(begin), 0)
	switch {
	case err == nil:
		s.plan.mark(func() { rs.missing(); s.journal.count(opDelete, rs.cause) })
		return false, nil
	case apierrors.IsNotFound(err):
		s.plan.mark(rs.missing)
		return false, nil
	case apierrors.IsConflict(err):
		return true, nil
	default:
		return false, fmt.Errorf("delete the report: %w", err)
	}
}
