// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/kyverno/pkg/engine/validate"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/operand"
)

// patternRule is a rule of a classic policy that compares resources with patterns without variables, read once.
// Kyverno's engine reads the patterns from JSON in each evaluation, looks for variables in every text, and copies
// everything, which is most of the work; it compares here, too. What surrounds the patterns (context, preconditions,
// exceptions) is not done here: rules with more than patterns are the engine's, see [solePatterns].
type patternRule struct {
	name, message string
	// patterns are those of anyPattern if any is set, otherwise a single one.
	patterns []any
	any      bool
	// copied is true if comparing changes a pattern: the engine replaces wildcards in the names of labels and
	// annotations by what the resource has.
	copied bool
	// orders is true if a pattern asks for more or less, and has to be able to read what it compares.
	orders bool
}

// newPatternRule returns nil if the rule is the engine's. A strict one has no verdict on what it can't read.
func newPatternRule(rule *kyvernov1.Rule, strict bool) *patternRule {
	if !solePatterns(rule) {
		return nil
	}
	check := rule.Validation
	out := &patternRule{name: rule.Name, message: check.Message}
	raw := check.RawPattern
	if pattern := check.GetPattern(); pattern != nil {
		out.patterns = []any{pattern}
	} else {
		raw, out.any = check.RawAnyPattern, true
		out.patterns, _ = check.GetAnyPattern().([]any)
	}
	if len(out.patterns) == 0 {
		return nil // The engine says what is wrong.
	}
	out.copied = bytes.Contains(raw.Raw, []byte("metadata"))
	out.orders = strict && operand.Orders(out.patterns)
	return out
}

// solePatterns reports whether there is nothing to a rule but patterns without variables and references.
func solePatterns(rule *kyvernov1.Rule) bool {
	check := rule.Validation
	if check == nil || check.RawPattern == nil && check.RawAnyPattern == nil || rule.HasVerifyImages() {
		return false
	}
	if rule.HasValidateCEL() || rule.HasVerifyManifests() || rule.HasValidatePodSecurity() || check.Deny != nil || check.ForEachValidation != nil {
		return false
	}
	if len(rule.Context) > 0 || rule.RawAnyAllConditions != nil || len(rule.ReportProperties) > 0 {
		return false
	}
	data, err := json.Marshal(rule)
	return err == nil && !bytes.Contains(data, []byte("{{")) && !bytes.Contains(data, []byte("$("))
}

// result returns what is said of an object that the rule matches.
func (r *patternRule) result(object map[string]any) policy.Result {
	if r.orders {
		if _, err := operand.Pattern(object, r.patterns); err != nil {
			return base.ErrorResult(r.name, err)
		}
	}
	return toResult(r.evaluate(object))
}

// evaluate returns what the engine says, in its words.
func (r *patternRule) evaluate(object map[string]any) *engineapi.RuleResponse {
	if r.any {
		return r.evaluateAny(object)
	}
	err := r.match(object, r.patterns[0])
	if err == nil {
		return engineapi.RulePass(r.name, engineapi.Validation, fmt.Sprintf("validation rule '%s' passed.", r.name), nil)
	}
	var mismatch *validate.PatternError
	switch found := errors.As(err, &mismatch); {
	case found && mismatch.Skip:
		return engineapi.RuleSkip(r.name, engineapi.Validation, mismatch.Error(), nil)
	case !found || mismatch.Path == "":
		return engineapi.RuleError(r.name, engineapi.Validation, r.sentence(fmt.Sprintf("rule %s execution error: %s", r.name, err)), nil, nil)
	default:
		return engineapi.RuleFail(r.name, engineapi.Validation, r.sentence(fmt.Sprintf("rule %s failed at path %s", r.name, mismatch.Path)), nil)
	}
}

// evaluateAny is evaluate for anyPattern: one pattern is enough.
func (r *patternRule) evaluateAny(object map[string]any) *engineapi.RuleResponse {
	var failed, skipped []string
	for i, pattern := range r.patterns {
		err := r.match(object, pattern)
		if err == nil {
			return engineapi.RulePass(r.name, engineapi.Validation, fmt.Sprintf("validation rule '%s' anyPattern[%d] passed.", r.name, i), nil)
		}
		var mismatch *validate.PatternError
		switch found := errors.As(err, &mismatch); {
		case !found:
		case mismatch.Skip:
			skipped = append(skipped, fmt.Sprintf("rule %s[%d] skipped: %s", r.name, i, err))
		case mismatch.Path == "":
			failed = append(failed, fmt.Sprintf("rule %s[%d] failed: %s", r.name, i, err))
		default:
			failed = append(failed, fmt.Sprintf("rule %s[%d] failed at path %s", r.name, i, mismatch.Path))
		}
	}
	switch {
	case len(failed) > 0:
		return engineapi.RuleFail(r.name, engineapi.Validation, r.sentence(strings.Join(failed, " ")), nil)
	case len(skipped) > 0:
		return engineapi.RuleSkip(r.name, engineapi.Validation, strings.Join(skipped, " "), nil)
	default:
		return engineapi.RulePass(r.name, engineapi.Validation, r.message, nil)
	}
}

func (r *patternRule) match(object map[string]any, pattern any) error {
	if r.copied {
		pattern = runtime.DeepCopyJSONValue(pattern)
	}
	return validate.MatchPattern(logr.Discard(), object, pattern)
}

// sentence returns the message of the rule, if there is one, before the cause.
func (r *patternRule) sentence(cause string) string {
	switch {
	case r.message == "":
		return "validation error: " + cause
	case strings.HasSuffix(r.message, "."):
		return "validation error: " + r.message + " " + cause
	default:
		return "validation error: " + r.message + ". " + cause
	}
}
