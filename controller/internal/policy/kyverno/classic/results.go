// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"strings"

	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	pssutils "github.com/kyverno/kyverno/pkg/pss/utils"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// toResult says what the engine says, with the properties that Kyverno's reports have.
func toResult(response *engineapi.RuleResponse) policy.Result {
	extra := map[string]string{}
	addPodSecurity(response.PodSecurityChecks(), extra)
	return base.ResultOf(response, extra)
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
	return []policy.Result{base.ErrorResult(rule, cause)}
}
