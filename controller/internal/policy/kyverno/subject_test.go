// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"testing"
)

// TestSubjectIsNotChanged uses a context entry that writes into the request.
func TestSubjectIsNotChanged(t *testing.T) {
	t.Parallel()
	s := subject(t, badPod)
	before := s.Object.DeepCopy()
	for _, rule := range []string{
		unprivileged, `validate: {podSecurity: {level: baseline, version: latest}}`,
		`validate: {cel: {expressions: [{expression: "object.metadata.name == 'x'"}]}}`, `
validate:
  foreach:
  - list: request.object.spec.containers
    context: [{name: request, variable: {value: {object: {metadata: {name: changed}}}}}]
    deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: changed}]}}
`,
	} {
		evaluate(t, compile(t, clusterPolicy(podRule(rule))), s)
	}
	evaluate(t, compile(t, withMatchCondition), s)
	evaluate(t, compile(t, validatingPolicy), s)
	wantEqual(t, "subject", before, s.Object)
}
