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

// LargePod has the fields, and the size, of a real one.
const LargePod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-5d8f7
  namespace: team
  uid: 5c1e0a0e-0000-4000-8000-000000000000
  labels: {app: web, tier: front, pod-template-hash: 5d8f7}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f, uid: u, controller: true}]
spec:
  nodeName: node-1
  serviceAccountName: web
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  volumes: [{name: data, emptyDir: {}}, {name: settings, configMap: {name: web}}]
  containers:
  - name: main
    image: registry.test/web:1.2
    ports: [{containerPort: 8080}]
    env: [{name: A, value: a}, {name: B, value: b}]
    resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 64Mi}}
    volumeMounts: [{name: data, mountPath: /data}, {name: settings, mountPath: /etc/web}]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  - name: side
    image: registry.test/side:1
    securityContext: {privileged: true}
status:
  phase: Running
  podIP: 192.0.2.1
  conditions: [{type: Ready, status: "True"}, {type: Initialized, status: "True"}]
  containerStatuses: [{name: main, ready: true, image: "registry.test/web:1.2"}, {name: side, ready: true, image: "registry.test/side:1"}]
`
