// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"encoding/json"
	"maps"
	"strings"

	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	pssutils "github.com/kyverno/kyverno/pkg/pss/utils"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// toResult says what the engine says, with the properties that Kyverno's reports have.
func toResult(response *engineapi.RuleResponse) policy.Result {
	result := policy.Result{
		Rule: response.Name(), Outcome: outcome(response.Status()),
		Message: response.Message(), Properties: response.Properties(),
	}
	if message := overridden(result.Outcome, result.Properties); message != "" {
		result.Message = message
	}
	extra := map[string]string{}
	if exceptions := response.Exceptions(); len(exceptions) > 0 {
		names := make([]string, 0, len(exceptions))
		for _, exception := range exceptions {
			names = append(names, exception.GetName())
		}
		extra["exceptions"] = strings.Join(names, ",")
	}
	addPodSecurity(response.PodSecurityChecks(), extra)
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
func outcome(status engineapi.RuleStatus) report.Outcome {
	switch status {
	case engineapi.RuleStatusPass:
		return report.OutcomePass
	case engineapi.RuleStatusFail:
		return report.OutcomeFail
	case engineapi.RuleStatusWarn:
		return report.OutcomeWarn
	case engineapi.RuleStatusSkip:
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

// addPodSecurity says which controls of the Pod Security Standards are violated.
func addPodSecurity(checks *engineapi.PodSecurityChecks, properties map[string]string) {
	if checks == nil {
		return
	}
	// The names of the fields are those in Kyverno's reports.
	type control struct {
		ID     string
		Name   string
		Images []string
	}
	var controls []control
	var ids []string
	for _, check := range checks.Checks {
		if check.CheckResult.Allowed {
			continue
		}
		ids = append(ids, check.ID)
		controls = append(controls, control{check.ID, pssutils.PSSControlIDToName(check.ID), check.Images})
	}
	if len(controls) == 0 {
		return
	}
	data, err := json.Marshal(controls)
	if err != nil {
		return
	}
	properties["standard"] = string(checks.Level)
	properties["version"] = checks.Version
	properties["controls"] = strings.Join(ids, ",")
	properties["controlsJSON"] = string(data)
}

// withoutContext returns an error with the cause if the results hide it.
func withoutContext(results []policy.Result, rule string, cause error) []policy.Result {
	for _, result := range results {
		if result.Outcome == report.OutcomeError {
			return results
		}
	}
	return []policy.Result{errorResult(rule, cause)}
}
