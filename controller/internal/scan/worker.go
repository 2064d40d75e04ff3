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

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// visit is one resource with a worker. If a policy turns out to be slow, another worker continues with the visit.
type visit struct {
	ctx       context.Context //nolint:containedctx // Its span is the resource's.
	rs        *resourceState
	todo      task
	reference policy.Reference
	subject   policy.Subject
	// gone is true if the resource could not be loaded because it is gone.
	gone bool
	err  error
}

// work processes resources until the queue is closed. It begins with a visit that another worker has left, if any.
func (e *evaluator) work(ctx context.Context, v *visit) {
	for {
		if v == nil {
			rs, ok := e.inventory.queue.get()
			if !ok {
				return
			}
			v = e.visit(ctx, rs)
		}
		if !e.proceed(ctx, v) {
			return
		}
		notEvaluated(ctx, v.rs, v.err)
		e.inventory.queue.done(v.rs)
		v = nil
	}
}

// notEvaluated records an error, unless the scanner ends.
func notEvaluated(ctx context.Context, rs *resourceState, err error) {
	if err != nil && ctx.Err() == nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
		klog.FromContext(ctx).Error(err, "Resource not evaluated", "resource", rs.kind.resource.GroupResource())
	}
}

// visit begins with a resource.
func (e *evaluator) visit(ctx context.Context, rs *resourceState) *visit {
	v := &visit{rs: rs, todo: rs.kind.begin(rs)}
	v.reference = rs.kind.reference(v.todo.packed)
	v.ctx = e.startSpan(ctx, v.reference, len(v.todo.due))
	v.todo.due = slices.DeleteFunc(slices.Clone(v.todo.due), (*compiled).isAdmission) // Those results come from requests.
	if len(v.todo.due) == 0 {
		return v
	}
	object, err := e.inventory.load(v.ctx, rs.kind, v.todo.packed)
	if err != nil || object == nil {
		rs.kind.interrupt(rs)
		v.gone, v.err = err == nil, err
		return v
	}
	v.subject, v.err = e.subjectOf(rs.kind, object, v.todo.due)
	return v
}

// proceed does what is to be done for a resource, except for slow policies, which are evaluated later. When ctx is
// done, it stops between two policies. It returns false if another worker continues with the visit.
func (e *evaluator) proceed(ctx context.Context, v *visit) bool {
	for len(v.todo.due) > 0 && v.err == nil && !v.gone {
		c := v.todo.due[0]
		v.todo.due = v.todo.due[1:]
		if !e.evaluate(ctx, v, c) {
			return false
		}
	}
	if v.err == nil && !v.gone {
		for _, owner := range v.todo.dropped {
			owner.clear(v.reference)
		}
		v.rs.kind.finish(v.rs, v.todo)
	}
	trace.SpanFromContext(v.ctx).End()
	return true
}

// evaluate evaluates a policy for a resource, or queues the resource if the policy is slow. After
// [Config.Patience], another worker continues with the visit, and evaluate returns false once the evaluation has
// ended.
func (e *evaluator) evaluate(ctx context.Context, v *visit, c *compiled) bool {
	if v.err = ctx.Err(); v.err != nil {
		return true
	}
	owner := c.revision.owner
	if owner.lane.takes(v.rs) {
		e.queueSlow(ctx, owner, v.rs, v.rs.queued.urgent)
		return true
	}
	var standIn *resourceState
	left := make(chan struct{})
	patience := e.config.Clock.AfterFunc(e.config.Patience, func() {
		defer close(left)
		standIn = owner.lane.leave(v.rs)
		e.slow.Go(func() { e.work(ctx, v) })
	})
	a := e.evaluateNow(v.ctx, c, v.subject)
	switch {
	case !patience.Stop():
		<-left
		e.takeSlow(standIn, c, v.reference, a)
		e.finishSlow(ctx, owner, standIn)
		return false
	case a.Canceled:
		v.err = ctx.Err() // The results may be incomplete.
	default:
		e.found(c, v.reference, a)
		owner.set(c, v.reference, a.Results)
	}
	return true
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

// startSpan begins the span of a resource that is evaluated, in the context that it returns.
func (e *evaluator) startSpan(ctx context.Context, about policy.Reference, policies int) context.Context {
	ctx, span := e.tracer.Start(ctx, "evaluate resource")
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("docket.resource.kind", about.Kind), attribute.String("k8s.namespace.name", about.Namespace),
			attribute.String("docket.resource.name", about.Name), attribute.Int("docket.policies", policies),
		)
	}
	return ctx
}
