// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/progress"
)

// noLimit lets an evaluation take as long as it needs: somebody waits for the scan, and can interrupt it.
const noLimit = 0

// Reports takes results to make reports of them. It is safe for concurrent use.
type Reports interface {
	// Present says what the results of a policy say beside their outcome.
	Present(id policy.Identity, p policy.Presentation)
	// Set replaces the results of a policy for a subject.
	Set(id policy.Identity, subject policy.Reference, results []policy.Result)
}

// Options of a scan.
type Options struct {
	// Workers is the number of evaluations at a time; one for each core if zero.
	Workers int
	// Findings and Reports are told what was found; either may be nil.
	Findings *Findings
	Reports  Reports
	// Progress counts resources; nil shows nothing.
	Progress *progress.Bar
}

// Run evaluates the policies for all resources of the source. An [*IncompleteError] of the
// source comes back after all that it does have is evaluated.
func Run(ctx context.Context, source Source, policies []policy.Policy, options Options) error {
	if options.Workers <= 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	for _, p := range policies {
		options.Findings.present(p.Identity(), p.Presentation())
		if options.Reports != nil {
			options.Reports.Present(p.Identity(), p.Presentation())
		}
	}
	// A page of resources waits, so that workers are busy while the next one comes.
	items := make(chan Item, pageSize)
	workers, ctx := errgroup.WithContext(ctx)
	for range options.Workers {
		workers.Go(func() error {
			for item := range items {
				if err := options.evaluate(ctx, item); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var incomplete error
	workers.Go(func() error {
		defer close(items)
		err := source.Each(ctx, policies, func(item Item) error {
			select {
			case items <- item:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if isIncomplete(err) {
			incomplete = err
			return nil
		}
		return err
	})
	if err := workers.Wait(); err != nil {
		return err
	}
	return incomplete
}

// evaluate evaluates all policies for one resource.
func (o Options) evaluate(ctx context.Context, item Item) error {
	subject := policy.ReferenceTo(item.Subject.Object)
	for _, p := range item.Policies {
		evaluation := policy.Evaluate(ctx, p, item.Subject, noLimit, clock.RealClock{})
		if evaluation.Canceled {
			return ctx.Err()
		}
		if len(evaluation.Results) == 0 {
			continue
		}
		o.Findings.add(p.Identity(), subject, evaluation.Results)
		if o.Reports != nil && p.Reported() {
			o.Reports.Set(p.Identity(), subject, evaluation.Results)
		}
	}
	o.Findings.countResource()
	o.Progress.Add(1)
	return nil
}
