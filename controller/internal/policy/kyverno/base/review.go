// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// NamespaceKind is the one kind whose objects a request shows in a namespace: their own.
const NamespaceKind = "Namespace"

// answerShare is the part of the time left that is kept for the answer.
const answerShare = 20

// failTime is how long it may take to find out whether a rule that failed is about the request.
const failTime = 50 * time.Millisecond

var errNoTime = errors.New("there is no time left for the evaluation")

// Review runs an evaluation for a request. In contrast to run, the end of ctx's time gives results;
// only a caller who gives up gets an error. own is a limit that the policy has itself, or 0.
func (l *Limits) Review(ctx context.Context, own time.Duration, work NamedEvaluation) ([]policy.Result, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	timeout := l.Timeout
	if own > 0 {
		timeout = min(timeout, own)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		timeout = min(timeout, roundly(left-left/answerShare))
	}
	prompt := &promptEvaluation{NamedEvaluation: work, limits: l}
	if timeout <= 0 {
		return FailFrom(prompt, 0, nil, errNoTime), nil
	}
	timeless, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	defer stop()
	return l.runFor(timeless, timeout, prompt)
}

// NamedEvaluation is an evaluation whose steps have names in results.
type NamedEvaluation interface {
	Evaluation
	Name(i int) string
}

// promptEvaluation fails in time: whom a rule is about may take long to tell as well. A rule for which
// nobody can tell counts as one that matches.
type promptEvaluation struct {
	NamedEvaluation
	limits *Limits
	late   atomic.Bool
}

func (p *promptEvaluation) Fail(i int, cause error) []policy.Result {
	unknown := []policy.Result{ErrorResult(p.Name(i), cause)}
	if p.late.Load() || p.limits.undecided.Load() >= maxAbandoned {
		return unknown
	}
	results, timer := make(chan []policy.Result), time.NewTimer(failTime)
	defer timer.Stop()
	over := make(chan struct{})
	go func() {
		found := p.NamedEvaluation.Fail(i, cause)
		select {
		case results <- found:
		case <-over:
			p.limits.undecided.Add(-1)
		}
	}()
	select {
	case found := <-results:
		return found
	case <-timer.C:
		p.late.Store(true)
		p.limits.undecided.Add(1)
		close(over)
		return unknown
	}
}

// roundly rounds a duration down to what reads well.
func roundly(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Truncate(10 * time.Millisecond)
	}
	return d.Truncate(time.Millisecond)
}

// InScopeOf reports whether a request has an object in the policy's namespace, if the policy is in
// one. A namespace itself is in none.
func (c *Common) InScopeOf(request *policy.Request) bool {
	if request == nil || request.AdmissionRequest == nil || !c.Facts.Admission.Enabled {
		return false
	}
	return c.Facts.Identity.Namespace == "" || request.Namespace == c.Facts.Identity.Namespace && request.Kind.Kind != NamespaceKind
}

// AsRequested returns an object of a request as Kyverno sees it: with the kind and the namespace
// that the request names. The object itself stays as it is.
func AsRequested(request *policy.Request, object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil || object.Object == nil {
		return nil
	}
	kind, namespace := schema.GroupVersionKind(request.Kind), object.GetNamespace()
	switch {
	case kind.Kind == NamespaceKind:
		namespace = ""
	case request.Namespace != "":
		namespace = request.Namespace
	}
	if object.GroupVersionKind() == kind && object.GetNamespace() == namespace {
		return object
	}
	out := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		out.Object["metadata"] = maps.Clone(metadata)
	}
	out.SetGroupVersionKind(kind)
	out.SetNamespace(namespace)
	return out
}

// RequestedKind returns the kind of the resource that a request is about. Objects of a subresource may have another
// kind. Without a mapper that tells, one of the kinds that the targets name must be it.
func RequestedKind(mapper meta.RESTMapper, targets []policy.Target, request *policy.Request) schema.GroupVersionKind {
	if request.SubResource == "" {
		return schema.GroupVersionKind(request.Kind)
	}
	resource := schema.GroupVersionResource(request.Resource)
	if mapper != nil {
		if found, err := mapper.KindFor(resource); err == nil {
			return found
		}
	}
	for _, target := range targets {
		guess := resource.GroupVersion().WithKind(target.Kind)
		if plural, _ := meta.UnsafeGuessKindToResource(guess); plural == resource {
			return guess
		}
	}
	return resource.GroupVersion().WithKind(request.Kind.Kind)
}

// RequestNamespace returns the namespace of a request, or what its labels tell about it.
func RequestNamespace(request *policy.Request) *corev1.Namespace {
	return policy.NamespaceNamed(request.Namespace, request.NamespaceObject, request.NamespaceLabels)
}

func (p *brokenPolicy) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	if !p.InScopeOf(request) || !slices.Contains(p.Facts.Admission.Operations, request.Operation) {
		return nil, nil
	}
	kind := RequestedKind(nil, p.Facts.Admission.Targets, request)
	if !Requested(p.Facts.Admission.Targets, kind, request.Resource.Resource, request.SubResource) || p.Facts.Constrained != nil && !p.Facts.Constrained(request) {
		return nil, nil
	}
	return []policy.Verdict{{
		Result: ErrorResult("", p.Facts.Problem), Deny: p.Facts.Admission.Closed, Warn: p.Facts.Admission.Warns && !p.Facts.Admission.Closed,
	}}, nil
}

// Failed reports whether a result is one that users are to hear of.
func Failed(outcome report.Outcome) bool {
	return outcome == report.OutcomeFail || outcome == report.OutcomeError || outcome == report.OutcomeWarn
}

// Value is what the engine has for objects: one without content if there is none.
func Value(object *unstructured.Unstructured) unstructured.Unstructured {
	if object == nil {
		return unstructured.Unstructured{}
	}
	return *object
}
