// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	// hurried is the patience of checks that should fail: most wait in vain for what the server owes them.
	hurried = 0.25
	// busy is that of checks that should pass, though the machine may have other work: they wait no longer
	// than it takes.
	busy = 3
)

// Hurry returns the checks with little patience in those with these identifiers, or in all if there are none.
func Hurry(checks []runner.Check, ids ...string) []runner.Check {
	return withPatience(checks, hurried, func(id string) bool { return len(ids) == 0 || slices.Contains(ids, id) })
}

// withPatience returns the checks with another patience in some of them.
func withPatience(checks []runner.Check, patience float64, of func(id string) bool) []runner.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		if of(checks[i].ID) {
			run := checks[i].Run
			checks[i].Run = func(p *runner.Probe) {
				p.Context = runner.WithPatience(p.Context, patience)
				run(p)
			}
		}
	}
	return checks
}

// Prove runs checks on a good server that is broken in this way. The error is not nil unless the check
// with the ID fails, for each resource to which it applies, and no other one does.
func Prove(ctx context.Context, options runner.Options, id string, server broken.Server) error {
	proxy, err := NewProxy(options.Config, server.Break)
	if err != nil {
		return err
	}
	defer proxy.Close()
	options.Config = proxy.Config
	report, err := runner.Run(ctx, options)
	if err != nil {
		return err
	}
	var errs []error
	failed := false
	for i := range report.Results {
		result := &report.Results[i]
		own := result.Check.ID == id
		failed = failed || own && result.Outcome == runner.Failed
		switch {
		case result.Outcome == runner.Undecided:
			errs = append(errs, fmt.Errorf("%s (%s) is undecided: %s %v", result.Check.ID, result.Resource, result.Reason, result.Exchange))
		case result.Outcome == runner.Failed && !own:
			errs = append(errs, fmt.Errorf("%s (%s) fails, too: %w", result.Check.ID, result.Resource, result.Failure))
		case result.Outcome == runner.Passed && own:
			errs = append(errs, fmt.Errorf("%s (%s) passes", result.Check.ID, result.Resource))
		}
	}
	if !failed {
		errs = append(errs, fmt.Errorf("%s does not fail", id))
	}
	for _, trouble := range report.Troubles {
		errs = append(errs, fmt.Errorf("trouble: %s %s %v", trouble.Resource, trouble.Reason, trouble.Exchange))
	}
	for _, left := range report.Left {
		errs = append(errs, fmt.Errorf("not removed: %s", left))
	}
	return errors.Join(errs...)
}
