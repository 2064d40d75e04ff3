// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"testing"

	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	reportutils "github.com/kyverno/kyverno/pkg/utils/report"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// TestWords compares our words with those of the version of Kyverno that is linked.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, word := range [][2]string{
		{policy.CategoryAnnotation, kyverno.AnnotationPolicyCategory},
		{policy.SeverityAnnotation, kyverno.AnnotationPolicySeverity},
		{policy.ScoredAnnotation, kyverno.AnnotationPolicyScored},
		{annotationAutogen, kyverno.AnnotationAutogenControllers},
		{labelExceptionPriority, reportutils.LabelPolicyExceptionPriority},
		{sourceClassic, reportutils.SourceKyverno},
		{sourceValidating, reportutils.SourceValidatingPolicy},
		{sourceImageValidating, reportutils.SourceImageValidatingPolicy},
		{sourceMutating, reportutils.SourceMutatingPolicy},
		{sourceGenerating, reportutils.SourceGeneratingPolicy},
		{failurePolicyIgnore, string(kyvernov1.Ignore)},
		{actionEnforce, string(kyvernov1.Enforce)},
		{KyvernoNamespace(), config.KyvernoNamespace()},
	} {
		if word[0] != word[1] {
			t.Errorf("%q, which is %q in Kyverno", word[0], word[1])
		}
	}
	for _, word := range []string{"critical", "high", "medium", "low", "info", "", "High", "none"} {
		if ours, theirs := policy.SeverityNamed(word), reportutils.SeverityFromString(word); string(ours) != string(theirs) {
			t.Errorf("severity %q: %q, want %q", word, ours, theirs)
		}
	}
	for status, want := range map[engineapi.RuleStatus]report.Outcome{
		engineapi.RuleStatusPass: report.OutcomePass, engineapi.RuleStatusFail: report.OutcomeFail,
		engineapi.RuleStatusWarn: report.OutcomeWarn, engineapi.RuleStatusSkip: report.OutcomeSkip,
		engineapi.RuleStatusError: report.OutcomeError, "invented": report.OutcomeError,
	} {
		if got := outcome(string(status)); got != want {
			t.Errorf("status %s: %s, want %s", status, got, want)
		}
	}
}
