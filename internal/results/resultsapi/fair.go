// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/docket-project/docket/internal/results/turns"
	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// runningQuestions is for how many questions engines have connections. Each person has at most one of these.
	runningQuestions = 2
	// waitingQuestions is how many a person may have waiting. Pages of the console ask for some at once.
	waitingQuestions = 20
	// retryQuestion is when a person whose questions wait should try again, in seconds.
	retryQuestion = 5
)

// fair asks an engine in turns, which go round between people.
type fair struct {
	engine.Questions

	turns *turns.Queue
}

func newFair(questions engine.Questions) *fair {
	return &fair{questions, turns.New(runningQuestions, waitingQuestions)}
}

// inTurn waits for the caller's turn and then asks.
func inTurn[A any](ctx context.Context, f *fair, ask func() (A, error)) (answer A, err error) {
	name := ""
	if who, ok := request.UserFrom(ctx); ok {
		name = who.GetName()
	}
	done, err := f.turns.Take(ctx, name)
	switch {
	case errors.Is(err, turns.ErrFull):
		return answer, apierrors.NewTooManyRequests(fmt.Sprintf("%q has %d questions waiting: ask one after the other", name, waitingQuestions), retryQuestion)
	case errors.Is(err, context.DeadlineExceeded):
		return answer, apierrors.NewTooManyRequests(fmt.Sprintf("other questions took all the time that this one had, those of %q among them: ask one after the other", name), retryQuestion)
	case err != nil:
		return answer, err
	}
	defer done()
	return ask()
}

// Rows implements engine.Questions.
func (f *fair) Rows(ctx context.Context, q engine.RowQuery) (engine.RowPage, error) {
	return inTurn(ctx, f, func() (engine.RowPage, error) { return f.Questions.Rows(ctx, q) })
}

// RowsAbout implements engine.Questions.
func (f *fair) RowsAbout(ctx context.Context, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	return inTurn(ctx, f, func() (engine.RowPage, error) { return f.Questions.RowsAbout(ctx, namespace, kinds, id) })
}

// Count implements engine.Questions.
func (f *fair) Count(ctx context.Context, q engine.CountQuery) (engine.Counts, error) {
	return inTurn(ctx, f, func() (engine.Counts, error) { return f.Questions.Count(ctx, q) })
}

// First implements engine.Questions.
func (f *fair) First(ctx context.Context, q engine.OrderQuery) (engine.RowPage, error) {
	return inTurn(ctx, f, func() (engine.RowPage, error) { return f.Questions.First(ctx, q) })
}

// Clusters implements engine.Questions.
func (f *fair) Clusters(ctx context.Context, kinds []engine.ReportKind) ([]engine.Cluster, error) {
	return inTurn(ctx, f, func() ([]engine.Cluster, error) { return f.Questions.Clusters(ctx, kinds) })
}
