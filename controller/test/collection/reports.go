// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	reports "github.com/docket-project/docket/controller/internal/report"
)

// evaluate returns the results of the policies; if so asked, as they are read from reports, and
// then with an error about what the reports have otherwise.
func (o Options) evaluate(ctx context.Context, source filescan.Source, policies []policy.Policy) (_ []filescan.Finding, changed, _ error) {
	found := filescan.NewFindings(true)
	options := filescan.Options{Workers: 1, Findings: found}
	var layout *reports.Layout
	if o.ThroughReports {
		layout = reports.NewLayout(reports.Options{Split: true})
		options.Reports = layout
	}
	if err := filescan.Run(ctx, source, policies, options); err != nil {
		return nil, nil, err
	}
	if !o.ThroughReports {
		return found.Kept(), nil, nil
	}
	read, err := readBack(layout.Reports())
	if err != nil {
		return read, err, nil
	}
	return read, difference(found.Kept(), read), nil
}

// readBack returns the results in split reports.
func readBack(all iter.Seq[report.Accessor]) ([]filescan.Finding, error) {
	var findings []filescan.Finding
	var errs []error
	for one := range all {
		id, err := policy.ParseIdentity(one.GetAnnotations()[reports.PolicyAnnotation])
		if err != nil {
			errs = append(errs, fmt.Errorf("report %s: annotation %s: %w", one.GetName(), reports.PolicyAnnotation, err))
			continue
		}
		if counts := report.Count(one.GetResults()); counts != one.GetSummary().Counts() {
			errs = append(errs, fmt.Errorf("report %s: its summary is %+v and its results are %+v", one.GetName(), one.GetSummary().Counts(), counts))
		}
		for _, result := range one.GetResults() {
			if len(result.Resources) != 1 || result.Policy != id.ResultName() {
				errs = append(errs, fmt.Errorf("report %s: a result is about %d resources and the policy %q", one.GetName(), len(result.Resources), result.Policy))
				continue
			}
			about := result.Resources[0]
			findings = append(findings, filescan.Finding{
				Policy: id, Rule: result.Rule, Outcome: result.Result, Severity: result.Severity, Message: result.Message,
				Subject: policy.Reference{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
			})
		}
	}
	return findings, errors.Join(errs...)
}

// difference says which results are only on one side. Messages are left aside: reports may
// shorten them; and so are places, which reports don't have.
func difference(evaluated, read []filescan.Finding) error {
	missing := map[filescan.Finding]int{}
	for _, finding := range evaluated {
		finding.Message, finding.Place = "", manifest.Place{}
		missing[finding]++
	}
	var errs []error
	for _, finding := range read {
		finding.Message, finding.Place = "", manifest.Place{}
		if missing[finding]--; missing[finding] < 0 {
			errs = append(errs, fmt.Errorf("only in the reports: %s", describe(finding)))
		}
	}
	for finding, count := range missing {
		if count > 0 {
			errs = append(errs, fmt.Errorf("not in the reports: %s", describe(finding)))
		}
	}
	return errors.Join(errs...)
}

func describe(f filescan.Finding) string {
	return fmt.Sprintf("%s %s %s %s/%s %s", f.Policy, f.Rule, f.Subject.Kind, f.Subject.Namespace, f.Subject.Name, f.Outcome)
}
