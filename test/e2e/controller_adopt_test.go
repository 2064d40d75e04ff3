// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// The policies of TestControllerAdoptsKyverno: what only Kyverno's admission and background controllers evaluate, and
// a rule that docket-controller does.
const kyvernosPolicies = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mixed}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    validate: {failureAction: Audit, message: label b is required, pattern: {metadata: {labels: {b: "?*"}}}}
  - name: add
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {c: "1"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: who}
spec:
  background: false
  rules:
  - name: creator
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    validate:
      failureAction: Audit
      message: created by {{ request.userInfo.username }}
      deny: {conditions: {any: [{key: "{{ request.operation }}", operator: Equals, value: CREATE}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel}
spec:
  evaluation: {background: {enabled: false}}
  validationActions: [Audit]
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
  validations: [{expression: "request.operation == 'CREATE'", message: not created}]
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: mutating}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: Object.metadata.labels{d: '1'}}}"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: generating}
spec:
  rules:
  - name: copy
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop], names: [one]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: made, namespace: made, synchronize: false, data: {data: {a: b}}}
`

// TestControllerAdoptsKyverno: with Kyverno's own admission and background controllers, and without its reports
// controller, their results come into reports, stay over a restart, and go with their subject and policy.
func TestControllerAdoptsKyverno(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	cluster := harness.StartCluster(t)
	cluster.Register(t, cluster.Serve(t).Port)
	cluster.InstallKyverno(t)
	c := startControlledOn(t, cluster)
	c.kubectl = cluster.Kubectl(t, "")
	cluster.EnsureNamespace(t, "shop")
	cluster.EnsureNamespace(t, "made")
	admission, background := cluster.NewKyvernoAdmission(t), cluster.NewKyvernoBackground(t)
	admission.Start(t)
	background.Start(t)
	c.controller.Start(t)
	waitUntil(t, "Kyverno takes policies", func() bool {
		return c.kubectl.Try(t, kyvernosPolicies, "apply", "-f", "-").Code == 0
	})
	// Each part of Kyverno takes up the policies in its own time.
	waitUntil(t, "Kyverno evaluates all policies", func() bool {
		return c.kubectl.Try(t, configMaps("shop", "probe"), "apply", "-f", "-").Code == 0 && adoptedSoon(t, c, "ConfigMap/probe") &&
			c.kubectl.Try(t, "", "delete", "configmap", "-n", "shop", "probe").Code == 0
	})
	c.kubectl.RunInput(t, configMaps("shop", "one"), "apply", "-f", "-")
	want := map[string]string{
		"mixed check ConfigMap/one": "fail", "mixed add ConfigMap/one": "pass", "who creator ConfigMap/one": "fail",
		"cel  ConfigMap/one": "pass", "mutating  ConfigMap/one": "pass", "generating copy ConfigMap/one": "pass",
	}
	c.wantResults(t, "shop", want)
	waitUntil(t, "the EphemeralReports are gone", func() bool { return len(ephemeral(t, c)) == 0 })

	c.kubectl.Run(t, "label", "-n", "shop", "configmap", "one", "b=1")
	want["mixed check ConfigMap/one"], want["who creator ConfigMap/one"], want["cel  ConfigMap/one"] = "pass", "pass", "fail"
	want["mixed add ConfigMap/one"] = "skip" // There is nothing to add any more.
	c.wantResults(t, "shop", want)

	c.controller.Stop(t)
	c.controller.Start(t)
	c.wantResults(t, "shop", want)

	c.kubectl.Run(t, "delete", "mutatingpolicies.policies.kyverno.io", "mutating")
	delete(want, "mutating  ConfigMap/one")
	c.wantResults(t, "shop", want)
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap", "one")
	c.wantResults(t, "shop", map[string]string{})
	if !admission.Alive() || !background.Alive() {
		t.Error("a controller of Kyverno has ended")
	}
}

// adoptedSoon reports whether there are results of Kyverno for a subject within some seconds; if not, it
// deletes the subject.
func adoptedSoon(t *testing.T, c *controlled, subject string) bool {
	t.Helper()
	complete := func() bool {
		found := c.results(t, "shop")
		for _, policy := range []string{"mixed add ", "who creator ", "cel  ", "mutating  "} {
			if found[policy+subject] == "" {
				return false
			}
		}
		return true
	}
	if wait.PollUntilContextTimeout(t.Context(), time.Second, 20*time.Second, true, func(context.Context) (bool, error) { return complete(), nil }) == nil {
		return true
	}
	c.kubectl.Try(t, "", "delete", "configmap", "-n", "shop", "probe")
	return false
}

// ephemeral returns the names of all EphemeralReports in the namespace shop.
func ephemeral(t *testing.T, c *controlled) []string {
	t.Helper()
	list := testkit.Must(c.client.Resource(ephemeralReportsResource).Namespace("shop").List(t.Context(), metav1.ListOptions{}))(t)
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}
