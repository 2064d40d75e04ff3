// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// The policies of TestControllerAdmissionPolicies, with their bindings: most are those of Kubernetes'
// documentation on ValidatingAdmissionPolicy.
const admissionPolicies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}
  variables: [{name: most, expression: "int(params.data.most)"}]
  validations:
  - {expression: object.spec.replicas <= variables.most, messageExpression: "'at most ' + params.data.most + ' replicas in ' + namespaceObject.metadata.name"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas-prod}
spec:
  policyName: replicas
  validationActions: [Deny]
  paramRef: {name: prod, namespace: limits, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {env: prod}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas-test}
spec:
  policyName: replicas
  validationActions: [Deny]
  paramRef: {name: own, parameterNotFoundAction: Allow}
  matchResources: {namespaceSelector: {matchLabels: {env: test}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labels}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["", apps], apiVersions: [v1], operations: [CREATE], resources: [configmaps, deployments]}]}
  matchConditions: [{name: not-kept, expression: "!object.metadata.name.startsWith('kept') && object.metadata.name != 'kube-root-ca.crt'"}]
  validations:
  - {expression: "has(object.metadata.labels) && 'team' in object.metadata.labels", message: a team is required}
  - {expression: "object.metadata.labels.team != 'nobody'", message: the team must exist}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labels}
spec:
  policyName: labels
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchExpressions: [{key: env, operator: Exists}]}
    excludeResourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: ["*"], resources: [configmaps], resourceNames: [free, free-copy]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: user}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "request.userInfo.username != 'nobody'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: user}
spec: {policyName: user, validationActions: [Audit]}
`

var (
	deploymentKind = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMapKind  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// TestControllerAdmissionPolicies compares the results of Kubernetes' own policies with what
// kube-apiserver says of a copy of each object.
func TestControllerAdmissionPolicies(t *testing.T) {
	t.Parallel()
	c := startControlledEverywhere(t)
	objects := admissionObjects()
	for _, namespace := range []string{"limits", "prod", "test", "other"} {
		c.kubectl.Run(t, "create", "namespace", namespace)
	}
	c.kubectl.Run(t, "label", "namespace", "prod", "env=prod")
	c.kubectl.Run(t, "label", "namespace", "test", "env=test")
	c.kubectl.RunInput(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: prod, namespace: limits}, data: {most: '3'}}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: test, labels: {team: a}}, data: {most: '5'}}\n---\n"+strings.Join(objects, "\n---\n"), "apply", "-f", "-")
	c.kubectl.RunInput(t, admissionPolicies, "apply", "-f", "-")
	c.controller.Start(t)

	want := map[string]map[string]string{
		"prod": {
			"replicas replicas-prod Deployment/small": "pass", "replicas replicas-prod Deployment/large": "fail", "replicas replicas-prod Deployment/kept": "fail",
			"labels labels Deployment/small": "pass", "labels labels Deployment/large": "fail", "labels labels ConfigMap/named": "fail",
		},
		"test": {
			"replicas replicas-test Deployment/small": "pass", "replicas replicas-test Deployment/large": "fail", "replicas replicas-test Deployment/kept": "fail",
			"labels labels Deployment/small": "pass", "labels labels Deployment/large": "fail", "labels labels ConfigMap/named": "fail", "labels labels ConfigMap/own": "pass",
		},
		"other": {},
	}
	for namespace, results := range want {
		c.wantResults(t, namespace, results)
	}
	c.compareWithAPIServer(t, "prod", "test", "other")

	// A parameter changes, and no object that it decides about.
	c.kubectl.Run(t, "-n", "limits", "patch", "configmap", "prod", "-p", `{"data":{"most":"9"}}`)
	want["prod"]["replicas replicas-prod Deployment/large"], want["prod"]["replicas replicas-prod Deployment/kept"] = "pass", "pass"
	c.wantResults(t, "prod", want["prod"])
	c.kubectl.Run(t, "delete", "validatingadmissionpolicybinding", "labels")
	for name := range want["test"] {
		if strings.HasPrefix(name, "labels ") {
			delete(want["test"], name)
		}
	}
	c.wantResults(t, "test", want["test"])
	c.compareWithAPIServer(t, "prod", "test", "other")
}

// admissionObjects are the same in each namespace, and some in one only.
func admissionObjects() []string {
	var objects []string
	for _, namespace := range []string{"prod", "test", "other"} {
		for name, more := range map[string]struct {
			labels   string
			replicas int
		}{"small": {"{team: a}", 2}, "large": {"{team: nobody}", 8}, "kept": {"{}", 8}} {
			objects = append(objects, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s, labels: %s},
 spec: {replicas: %d, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}}`, name, namespace, more.labels, more.replicas))
		}
		for _, name := range []string{"free", "named"} {
			objects = append(objects, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}}", name, namespace))
		}
	}
	return objects
}

// compareWithAPIServer creates a copy of each object, as a dry run: it is refused exactly if a result
// about the object is a failure, and with the words of one.
func (c *controlled) compareWithAPIServer(t *testing.T, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		messages := c.failures(t, namespace)
		for kind, resource := range map[string]schema.GroupVersionResource{"Deployment": deploymentKind, "ConfigMap": configMapKind} {
			list := testkit.Must(c.client.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{}))(t)
			for i := range list.Items {
				object := &list.Items[i]
				if object.GetName() == "kube-root-ca.crt" {
					continue // The control plane's, in each namespace.
				}
				found := messages[kind+"/"+object.GetName()]
				waitUntil(t, fmt.Sprintf("kube-apiserver says of %s %s/%s: %q", kind, namespace, object.GetName(), found), func() bool {
					return c.agrees(t, resource, object, found)
				})
			}
		}
	}
}

// agrees reports whether the API server refuses a copy with one of the messages, or accepts it if there
// are none. It needs a while to see changes of policies.
func (c *controlled) agrees(t *testing.T, resource schema.GroupVersionResource, object *unstructured.Unstructured, messages []string) bool {
	t.Helper()
	copied := object.DeepCopy()
	copied.SetName(object.GetName() + "-copy")
	copied.SetResourceVersion("")
	copied.SetUID("")
	_, err := c.client.Resource(resource).Namespace(object.GetNamespace()).Create(t.Context(), copied, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if len(messages) == 0 {
		if err != nil {
			t.Logf("%s/%s: %v", object.GetNamespace(), object.GetName(), err)
		}
		return err == nil
	}
	if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '") {
		t.Logf("%s/%s: %v", object.GetNamespace(), object.GetName(), err)
		return false
	}
	for _, message := range messages {
		if strings.Contains(err.Error(), message) {
			return true
		}
	}
	t.Logf("%s/%s: %v", object.GetNamespace(), object.GetName(), err)
	return false
}

// failures returns what the failures about each subject of a namespace would be refused with: the first of
// their messages.
func (c *controlled) failures(t *testing.T, namespace string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, report := range c.reports(t) {
		if report.GetNamespace() != namespace {
			continue
		}
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		for _, item := range results {
			result, _ := item.(map[string]any)
			if result["source"] != "ValidatingAdmissionPolicy" || result["result"] != "fail" {
				continue
			}
			first, _, _ := strings.Cut(fmt.Sprint(result["message"]), "; ")
			resources, _, _ := unstructured.NestedSlice(result, "resources")
			for _, item := range resources {
				subject, _ := item.(map[string]any)
				key := fmt.Sprintf("%s/%s", subject["kind"], subject["name"])
				found[key] = append(found[key], fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", result["policy"], result["rule"], first))
			}
		}
	}
	return found
}
