// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"maps"
	"strings"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// response is what Kyverno's engines say about a rule: their RuleResponse. They have types of their own for
// statuses and exceptions.
type response[S ~string, E interface{ GetName() string }] interface {
	Name() string
	Status() S
	Message() string
	Properties() map[string]string
	Exceptions() []E
}

// ResultOf says what the engine says, with the properties that Kyverno's reports have, and more.
func ResultOf[S ~string, E interface{ GetName() string }](response response[S, E], more map[string]string) policy.Result {
	result := policy.Result{
		Rule: response.Name(), Outcome: outcome(string(response.Status())),
		Message: response.Message(), Properties: response.Properties(),
	}
	if message := overridden(result.Outcome, result.Properties); message != "" {
		result.Message = message
	}
	extra := maps.Clone(more)
	if exceptions := response.Exceptions(); len(exceptions) > 0 {
		names := make([]string, 0, len(exceptions))
		for _, exception := range exceptions {
			names = append(names, exception.GetName())
		}
		extra = joined(extra, map[string]string{"exceptions": strings.Join(names, ",")})
	}
	result.Properties = joined(result.Properties, extra)
	return result
}

// joined leaves the first map as it is: it belongs to the rule.
func joined(properties, extra map[string]string) map[string]string {
	if len(properties)+len(extra) == 0 {
		return nil
	}
	if len(extra) == 0 {
		return properties
	}
	out := make(map[string]string, len(properties)+len(extra))
	maps.Copy(out, properties)
	maps.Copy(out, extra)
	return out
}

// outcome has the outcome error for a status that Kyverno may invent.
func outcome(status string) report.Outcome {
	switch status {
	case "pass":
		return report.OutcomePass
	case "fail":
		return report.OutcomeFail
	case "warning":
		return report.OutcomeWarn
	case "skip":
		return report.OutcomeSkip
	default:
		return report.OutcomeError
	}
}

// overridden returns the message that the rule's properties have for the outcome.
func overridden(outcome report.Outcome, properties map[string]string) string {
	if message := properties["message"]; message != "" {
		return message
	}
	return properties[string(outcome)+"Message"]
}
