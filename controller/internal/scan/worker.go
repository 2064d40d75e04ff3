// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// work processes resources until the queue is closed.
func (e *evaluator) work(ctx context.Context) {
	w := e.newWorker()
	defer w.end()
	for {
		rs, ok := e.inventory.queue.get()
		if !ok {
			return
		}
		notEvaluated(ctx, rs, w.process(ctx, rs))
		e.inventory.queue.done(rs)
	}
}

// notEvaluated records an error, unless the scanner ends.
func notEvaluated(ctx context.Context, rs *resourceState, err error) {
	if err != nil && ctx.Err() == nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
		klog.FromContext(ctx).Error(err, "Resource not evaluated", "resource", rs.kind.resource.GroupResource())
	}
}

// evaluationRequest asks for the evaluation of a policy for a subject.
type evaluationRequest struct {
	ctx     context.Context //nolint:containedctx // It is passed to the goroutine that evaluates.
	policy  *compiled
	subject policy.Subject
}

// worker takes resources from the queue. It has policies evaluated in a goroutine of its own, so that it need not
// wait for a slow one. The goroutine and the timer are reused: most evaluations take less time than making them.
type worker struct {
	*evaluator

	requests    chan evaluationRequest
	evaluations chan policy.Evaluation
	timer       clock.Timer
}

// newWorker returns a worker. The caller must call its method end.
func (e *evaluator) newWorker() *worker {
	w := &worker{evaluator: e, timer: e.config.Clock.NewTimer(e.config.Patience)}
	w.stopTimer()
	w.start()
	return w
}

func (w *worker) start() {
	requests, evaluations := make(chan evaluationRequest), make(chan policy.Evaluation, 1)
	w.requests, w.evaluations = requests, evaluations
	w.slow.Go(func() {
		for q := range requests {
			evaluations <- w.evaluateNow(q.ctx, q.policy, q.subject)
		}
	})
}

func (w *worker) end() {
	w.timer.Stop()
	close(w.requests)
}

// ask returns the evaluation, or, if that takes longer than [Config.Patience], the channel that will have it.
func (w *worker) ask(q evaluationRequest) (evaluation policy.Evaluation, later <-chan policy.Evaluation) {
	w.requests <- q
	w.timer.Reset(w.config.Patience)
	select {
	case evaluation = <-w.evaluations:
		w.stopTimer()
		return evaluation, nil
	case <-w.timer.C():
		later = w.evaluations
		close(w.requests) // Its goroutine ends after this evaluation.
		w.start()
		return policy.Evaluation{}, later
	}
}

// stopTimer stops the timer and empties its channel.
func (w *worker) stopTimer() {
	if !w.timer.Stop() {
		select {
		case <-w.timer.C():
		default:
		}
	}
}

// process does what is to be done for a resource, except for slow policies, which are evaluated later. When
// ctx is done, it stops between two policies.
func (w *worker) process(ctx context.Context, rs *resourceState) error {
	todo := rs.kind.begin(rs)
	reference := rs.kind.reference(todo.packed)
	ctx, span := w.startSpan(ctx, reference, len(todo.due))
	defer span.End()
	if slices.ContainsFunc(todo.due, (*compiled).isEvaluated) {
		object, err := w.inventory.load(ctx, rs.kind, todo.packed)
		if err != nil || object == nil {
			rs.kind.interrupt(rs)
			return err
		}
		subject, err := w.subjectOf(rs.kind, object, todo.due)
		if err != nil {
			return err
		}
		for _, c := range todo.due {
			if c.admission {
				continue // Its results come from requests.
			}
			if err := w.evaluate(ctx, rs, c, subject, reference); err != nil {
				return err
			}
		}
	}
	for _, gone := range todo.dropped {
		gone.clear(reference)
	}
	rs.kind.finish(rs, todo)
	return nil
}

// evaluate evaluates a policy for a resource, or queues the resource if the policy is slow. It fails only if ctx
// is done.
func (w *worker) evaluate(ctx context.Context, rs *resourceState, c *compiled, subject policy.Subject, reference policy.Reference) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	owner := c.revision.owner
	if owner.lane.takes(rs) {
		w.queueSlow(ctx, owner, rs, rs.queued.urgent)
		return nil
	}
	a, later := w.ask(evaluationRequest{ctx: ctx, policy: c, subject: subject})
	switch {
	case later != nil:
		w.finishLater(ctx, rs, c, reference, later)
	case a.Canceled:
		return ctx.Err() // The results may be incomplete.
	default:
		w.found(c, reference, a)
		owner.set(c, reference, a.Results)
	}
	return nil
}

// evaluateNow evaluates a policy, for at most [Config.EvaluationLimit].
func (e *evaluator) evaluateNow(ctx context.Context, c *compiled, subject policy.Subject) policy.Evaluation {
	evaluation := policy.Evaluate(ctx, c.policy, subject, e.config.EvaluationLimit, e.config.Clock)
	if evaluation.Err != nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
	}
	return evaluation
}

// subjectOf returns an object with what policies see of its namespace. It must be called after begin: a
// later change of the namespace queues the resource once more.
func (e *evaluator) subjectOf(k *kind, object *unstructured.Unstructured, due []*compiled) (policy.Subject, error) {
	return policy.NewSubject(object, k.resource.GroupVersionResource, e.inventory.namespaces, slices.ContainsFunc(due, (*compiled).readsNamespace))
}

// found counts an evaluation, by its worst outcome.
func (e *evaluator) found(c *compiled, reference policy.Reference, a policy.Evaluation) {
	evaluationSeconds.Observe(a.Duration.Seconds())
	outcome := worst(a.Results)
	evaluations.WithLabelValues(outcome).Inc()
	if e.config.EventsPerPolicy > 0 && (outcome == string(report.OutcomeFail) || outcome == string(report.OutcomeError)) {
		c.revision.owner.failures.add(reference, e.config.Clock.Now())
	}
}

// worst returns the most serious outcome.
func worst(results []policy.Result) string {
	for _, outcome := range []report.Outcome{report.OutcomeError, report.OutcomeFail, report.OutcomeWarn, report.OutcomePass, report.OutcomeSkip} {
		if slices.ContainsFunc(results, func(r policy.Result) bool { return r.Outcome == outcome }) {
			return string(outcome)
		}
	}
	return outcomeNone
}

// startSpan begins the span of a resource that is evaluated.
func (e *evaluator) startSpan(ctx context.Context, about policy.Reference, policies int) (context.Context, trace.Span) {
	ctx, span := e.tracer.Start(ctx, "evaluate resource")
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("docket.resource.kind", about.Kind), attribute.String("k8s.namespace.name", about.Namespace),
			attribute.String("docket.resource.name", about.Name), attribute.Int("docket.policies", policies),
		)
	}
	return ctx, span
}
