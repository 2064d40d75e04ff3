// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/progress"
)

// noLimit lets an evaluation take as long as it needs: the user who waits for it can interrupt the scan.
const noLimit = 0

// Reports receives results that are to be in reports. It is safe for concurrent use.
type Reports interface {
	// Present sets what the results of a policy say in addition to their outcome.
	Present(id policy.Identity, p policy.Presentation)
	// Set replaces the results of a policy for a subject.
	Set(id policy.Identity, subject policy.Reference, results []policy.Result)
}

// Options of a scan.
type Options struct {
	// Workers is the number of concurrent evaluations; 0 means one per core.
	Workers int
	// Findings and Reports receive the results; either may be nil.
	Findings *Findings
	Reports  Reports
	// AuditWarn makes warnings of the failures that admission would let pass.
	AuditWarn bool
	// Progress counts resources; nil shows nothing.
	Progress *progress.Bar
}

// Run evaluates the policies for all resources of the source. If the source returns an [*IncompleteError], Run
// evaluates what it has before it returns the error.
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
	// A page of resources is buffered, so that workers are busy while the next one is read.
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

// evaluate evaluates all policies for one resource. A report has the results of all its definitions.
func (o Options) evaluate(ctx context.Context, item Item) error {
	subject := policy.ReferenceTo(item.Subject.Object)
	definitions := append([]Item{item}, item.Others...)
	for _, p := range item.Policies {
		var all []policy.Result
		for _, one := range definitions {
			evaluation := policy.Evaluate(ctx, p, one.Subject, noLimit, clock.RealClock{})
			if evaluation.Canceled {
				return ctx.Err()
			}
			if len(evaluation.Results) == 0 {
				continue
			}
			for i, result := range evaluation.Results {
				if o.AuditWarn && result.Outcome == report.OutcomeFail && !policy.Enforces(p, result.Rule, one.Subject) {
					evaluation.Results[i].Outcome = report.OutcomeWarn
				}
			}
			o.Findings.add(p.Identity(), subject, one.Place, evaluation.Results)
			all = append(all, evaluation.Results...)
		}
		if len(all) > 0 && o.Reports != nil && p.Reported() {
			o.Reports.Set(p.Identity(), subject, all)
		}
	}
	for range definitions {
		o.Findings.countResource()
		o.Progress.Add(1)
	}
	return nil
}
