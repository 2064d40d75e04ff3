// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestSubjectIsNotChanged uses a context entry that writes into the request.
func TestSubjectIsNotChanged(t *testing.T) {
	t.Parallel()
	s := enginetest.Subject(t, enginetest.BadPod)
	before := s.Object.DeepCopy()
	for _, rule := range []string{
		enginetest.Unprivileged, `validate: {podSecurity: {level: baseline, version: latest}}`,
		`validate: {cel: {expressions: [{expression: "object.metadata.name == 'x'"}]}}`, `
validate:
  foreach:
  - list: request.object.spec.containers
    context: [{name: request, variable: {value: {object: {metadata: {name: changed}}}}}]
    deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: changed}]}}
`,
	} {
		enginetest.Evaluate(t, compile(t, enginetest.ClusterPolicy(enginetest.PodRule(rule))), s)
	}
	enginetest.Evaluate(t, compile(t, enginetest.WithMatchCondition), s)
	enginetest.Evaluate(t, compile(t, enginetest.ValidatingPolicy), s)
	enginetest.WantEqual(t, "subject", before, s.Object)
}
