// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection_test

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/test/collection"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var mutants = flag.Int("mutants", 0, "variants of each resource for which converted policies are compared as well")

// TestConvertPublicCollection converts the policies of the public collection and compares the results.
func TestConvertPublicCollection(t *testing.T) {
	t.Parallel()
	if *policiesDir == "" {
		t.Skip("no collection; name its folder with -policies-dir")
	}
	rules, broken := testkit.Must2(collection.Convert(t.Context(), collection.Options{Dir: *policiesDir, Compiler: kyvernoCompiler(t), Mutants: *mutants}))(t)
	for _, err := range broken {
		t.Error(err)
	}
	for _, rule := range rules {
		switch {
		case rule.Err != nil:
			t.Logf("not converted: %s %s/%s: %v", rule.File, rule.Policy, rule.Rule, rule.Err)
		case rule.Comparison == nil:
			t.Errorf("%s %s/%s: neither converted nor refused", rule.File, rule.Policy, rule.Rule)
		default:
			for _, difference := range rule.Comparison.Differences {
				say := t.Logf
				if rule.Unproven == "" && !hasError(difference.Old) && !hasError(difference.New) {
					say = t.Errorf // One of the engines says another verdict than the other.
				}
				say("differs [%s]: %s %s/%s: %s", rule.Unproven, rule.File, rule.Policy, rule.Rule, difference)
			}
		}
	}
	resources := 0
	for _, rule := range rules {
		if rule.Comparison != nil && rule.Unproven == "" {
			resources += rule.Comparison.Equal
		}
	}
	t.Logf("results that are equal, skipped ones included: %d", resources)
	t.Log("\n" + strings.Join(collection.Reasons(rules, func(rule collection.ConvertedRule) string {
		var refused *convert.Error
		switch {
		case errors.As(rule.Err, &refused):
			return "not converted: " + refused.Reason
		case rule.Err != nil:
			return "not converted: " + rule.Err.Error()
		case rule.Unproven != "":
			return "unproven"
		case len(rule.Comparison.Differences) > 0:
			return "differs"
		case rule.Comparison.Equal == 0:
			return "converted, no results"
		default:
			return "equal"
		}
	}), "\n"))
}

// hasError reports whether one of the results is an error of the evaluation, which is a failure for CEL in old rules.
func hasError(verdicts []proof.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v proof.Verdict) bool {
		return v.Outcome == report.OutcomeError || strings.Contains(v.Message, "resulted in error")
	})
}
