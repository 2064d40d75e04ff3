// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
)

// Namespaces says what policies can see of namespaces.
type Namespaces interface {
	// Labels returns the labels of a namespace, which the caller must not change.
	Labels(name string) map[string]string
	// Object returns a namespace; nil if it is not known.
	Object(name string) (*corev1.Namespace, error)
}

// NewSubject returns an object with its namespace as policies see it: the labels, and the namespace itself if
// withNamespace is set.
func NewSubject(object *unstructured.Unstructured, resource schema.GroupVersionResource, namespaces Namespaces, withNamespace bool) (Subject, error) {
	subject := Subject{Object: object, Resource: resource}
	namespace := object.GetNamespace()
	switch {
	case resource.GroupResource() == (schema.GroupResource{Resource: "namespaces"}):
		subject.NamespaceLabels = NamespaceLabels(object.GetName(), object.GetLabels())
	case namespace != "":
		subject.NamespaceLabels = namespaces.Labels(namespace)
		if withNamespace {
			var err error
			if subject.NamespaceObject, err = namespaces.Object(namespace); err != nil {
				return subject, err
			}
		}
	}
	return subject, nil
}

// Evaluation is the outcome of the evaluation of a policy for a subject.
type Evaluation struct {
	Results  []Result
	Duration time.Duration
	// TimedOut is true if it reached its limit; Canceled, if its context ended, so that the results may be incomplete.
	TimedOut, Canceled bool
	// Err is the error of an engine, although engines promise not to fail. Results then has one with the outcome
	// error: without it, the policy would seem not to match.
	Err error
}

// Evaluate evaluates a policy for a subject, for at most limit; 0 means no limit.
func Evaluate(ctx context.Context, p Policy, subject Subject, limit time.Duration, c clock.PassiveClock) Evaluation {
	limited := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	traced, span := StartSpan(limited, "evaluate policy", p)
	start := c.Now()
	results, err := p.Evaluate(traced, subject)
	EndSpan(span, err)
	evaluation := Evaluation{Results: results, Duration: c.Since(start), Canceled: ctx.Err() != nil}
	evaluation.TimedOut = !evaluation.Canceled && errors.Is(limited.Err(), context.DeadlineExceeded)
	if err != nil && !evaluation.Canceled {
		evaluation.Err = err
		evaluation.Results = []Result{{Outcome: report.OutcomeError, Message: fmt.Sprintf("evaluate: %v", err)}}
	}
	return evaluation
}
