// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import "strings"

// ValidatingPolicy is a policy in CEL.
const ValidatingPolicy = `
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

// Exceptions to the policies that the tests make, of both engines.
const (
	Exception = `
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: team}
spec:
  exceptions: [{policyName: p, ruleNames: [r, autogen-r]}]
  match: {any: [{resources: {kinds: [Pod, Deployment], names: [bad]}}]}
`
	CELException = `
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: team}
spec:
  policyRefs: [{name: v, kind: ValidatingPolicy}]
  matchConditions: [{name: bad, expression: "object.metadata.name == 'bad'"}]
`
)

// CELPolicyText is a policy with one expression about a resource.
func CELPolicyText(resource, operations, expression, fields string) string {
	group := `""`
	if name, rest, found := strings.Cut(resource, "."); found {
		resource, group = name, rest
	}
	return `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [` + group + `], apiVersions: [v1], operations: [` + operations + `], resources: [` + resource + `]}]
  validations: [{expression: "` + expression + `", message: Refused.}]
` + Indent(fields)
}
