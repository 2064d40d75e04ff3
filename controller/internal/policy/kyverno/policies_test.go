// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

const validatingPolicy = `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  matchConditions: [{name: wanted, expression: "!('skip' in object.metadata.?labels.orValue({}))"}]
  variables:
  - {name: tagged, expression: "object.spec.containers.all(c, c.image.contains(':'))"}
  validations:
  - {expression: variables.tagged, messageExpression: "object.metadata.name + ' has no tags'"}
  auditAnnotations: [{key: seen, valueExpression: "'yes'"}]
`

const (
	exception = `
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: team}
spec:
  exceptions: [{policyName: p, ruleNames: [r, autogen-r]}]
  match: {any: [{resources: {kinds: [Pod, Deployment], names: [bad]}}]}
`
	celException = `
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: team}
spec:
  policyRefs: [{name: v, kind: ValidatingPolicy}]
  matchConditions: [{name: bad, expression: "object.metadata.name == 'bad'"}]
`
)
