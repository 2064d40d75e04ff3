// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// few evaluations are those of what the control plane changes by itself.
const few = 5

// TestControllerQuestions asks the questions of the source document
// (kdp-split-policy-report-per-policy) and goes through its cases of deletion, one after the
// other on one cluster: a ClusterPolicy is about all of it.
func TestControllerQuestions(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	c.cluster.EnsureNamespace(t, "shop")
	c.cluster.EnsureNamespace(t, "other")
	c.kubectl.RunInput(t, configMaps("shop", "one", "two"), "apply", "-n", "shop", "-f", "-")
	// Enough for "all again" to be told from a change in kube-system.
	var others []string
	for i := range 4 * few {
		others = append(others, fmt.Sprintf("other-%d", i))
	}
	c.kubectl.RunInput(t, configMaps("other", others...), "apply", "-n", "other", "-f", "-")
	c.controller.Start(t)
	c.barrier(t, 0)

	t.Run("policy created", func(t *testing.T) { questionPolicyCreated(t, c) })
	t.Run("rule added", func(t *testing.T) { questionRuleAdded(t, c) })
	t.Run("rule removed", func(t *testing.T) { questionRuleRemoved(t, c) })
	t.Run("annotation changed", func(t *testing.T) { questionAnnotation(t, c) })
	t.Run("label changed", func(t *testing.T) { questionLabel(t, c) })
	t.Run("policy renamed", func(t *testing.T) { questionRenamed(t, c) })
	t.Run("autogen", func(t *testing.T) { questionAutogen(t, c) })
	t.Run("resource deleted", func(t *testing.T) { questionResourceDeleted(t, c) })
	t.Run("deleted while not running", func(t *testing.T) { questionDeletedWhileDown(t, c) })
	t.Run("restart", func(t *testing.T) { questionRestart(t, c) })
	t.Run("equal names", func(t *testing.T) { questionEqualNames(t, c) })
	t.Run("policy deleted", func(t *testing.T) { questionPolicyDeleted(t, c) })
}

// inShop are the results of a policy for ConfigMaps, by their labels.
func inShop(policy string, rules map[string]string, outcomes map[string]string) map[string]string {
	want := map[string]string{}
	for name, label := range rules {
		for configMap, labels := range outcomes {
			outcome := "fail"
			if strings.Contains(labels, label) {
				outcome = "pass"
			}
			want[policy+" "+name+" ConfigMap/"+configMap] = outcome
		}
	}
	return want
}

func questionPolicyCreated(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("", "labels", rule{"first", "ConfigMap", "a"}), "apply", "-f", "-")
	c.wantResults(t, "shop", inShop("labels", map[string]string{"first": "a"}, map[string]string{"one": "a", "two": "a"}))
	if got := c.namesOf(t, "shop"); !slices.Equal(got, []string{"polr-ns-shop-labels"}) {
		t.Errorf("the reports are called %v", got)
	}
}

func questionRuleAdded(t *testing.T, c *controlled) {
	before, evaluated := c.versions(t), c.evaluations(t)
	c.kubectl.RunInput(t, labelPolicy("", "labels", rule{"first", "ConfigMap", "a"}, rule{"second", "ConfigMap", "b"}), "apply", "-f", "-")
	c.wantResults(t, "shop", inShop("labels", map[string]string{"first": "a", "second": "b"}, map[string]string{"one": "a", "two": "a"}))
	marker := c.barrier(t, 1)
	for _, name := range changed(before, c.versions(t)) {
		if name != marker && !strings.HasSuffix(name, "-labels") {
			t.Errorf("%s was written: it is of another policy", name)
		}
	}
	// Each ConfigMap once, and the barrier.
	if got, most := c.evaluations(t)-evaluated, float64(c.count(t, "configmaps")+few); got > most {
		t.Errorf("%v evaluations, want at most %v", got, most)
	}
}

func questionRuleRemoved(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("", "labels", rule{"second", "ConfigMap", "b"}), "apply", "-f", "-")
	c.wantResults(t, "shop", inShop("labels", map[string]string{"second": "b"}, map[string]string{"one": "a", "two": "a"}))
	waitUntil(t, "the rule is gone from the other namespace", func() bool {
		return !strings.Contains(textOf(t, c.reports(t)["other/polr-ns-other-labels"].Object), `"rule":"first"`)
	})
}

// questionAnnotation: Kyverno's own controller evaluates and writes everything again
// (research kyverno-live §5).
func questionAnnotation(t *testing.T, c *controlled) {
	before, evaluated := c.versions(t), c.evaluations(t)
	c.kubectl.Run(t, "annotate", "clusterpolicy/labels", "example.com/team=blue")
	marker := c.barrier(t, 2)
	if got := changed(before, c.versions(t)); !slices.Equal(got, []string{marker}) {
		t.Errorf("an annotation wrote %v, want just %s", got, marker)
	}
	if got := c.evaluations(t) - evaluated; got > few {
		t.Errorf("%v evaluations, want that of the barrier", got)
	}
	// Severity is part of each result, and evaluates nothing.
	evaluated = c.evaluations(t)
	c.kubectl.Run(t, "annotate", "--overwrite", "clusterpolicy/labels", "policies.kyverno.io/severity=high")
	waitUntil(t, "the severity is new in both namespaces", func() bool {
		reports := c.reports(t)
		return !strings.Contains(textOf(t, reports["shop/polr-ns-shop-labels"].Object)+textOf(t, reports["other/polr-ns-other-labels"].Object), `"severity":"medium"`)
	})
	if got := c.evaluations(t) - evaluated; got > few {
		t.Errorf("a severity made %v evaluations", got)
	}
}

// questionLabel: a change of a resource that changes no result writes nothing; one that does
// writes its report.
func questionLabel(t *testing.T, c *controlled) {
	before := c.versions(t)
	c.kubectl.Run(t, "label", "-n", "shop", "configmap", "one", "two", "c=3")
	marker := c.barrier(t, 3)
	if got := changed(before, c.versions(t)); !slices.Equal(got, []string{marker}) {
		t.Errorf("a label wrote %v, want just %s", got, marker)
	}
	before = c.versions(t)
	c.kubectl.Run(t, "label", "-n", "shop", "configmap", "one", "b=2")
	c.wantResults(t, "shop", inShop("labels", map[string]string{"second": "b"}, map[string]string{"one": "a b", "two": "a"}))
	if got := changed(before, c.versions(t)); !slices.Equal(got, []string{"shop/polr-ns-shop-labels"}) {
		t.Errorf("a changed result wrote %v", got)
	}
}

func questionRenamed(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("", "tags", rule{"second", "ConfigMap", "b"}), "apply", "-f", "-")
	c.kubectl.Run(t, "delete", "clusterpolicy", "labels")
	c.wantResults(t, "shop", inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b", "two": "a"}))
	if got := c.namesOf(t, "shop"); !slices.Equal(got, []string{"polr-ns-shop-tags"}) {
		t.Errorf("the reports are called %v", got)
	}
}

// questionAutogen: a rule about Pods is also one about what makes them, in the report of its
// policy under a name of its own.
func questionAutogen(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("shop", "pods", rule{"owner", "Pod", "owner"}), "apply", "-n", "shop", "-f", "-")
	c.kubectl.Run(t, "create", "deployment", "web", "-n", "shop", "--image=example.com/web", "--replicas=0")
	c.kubectl.Run(t, "create", "cronjob", "nightly", "-n", "shop", "--image=example.com/job", "--schedule=0 0 1 1 *")
	want := inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b", "two": "a"})
	want["shop/pods autogen-owner Deployment/web"] = "fail"
	want["shop/pods autogen-cronjob-owner CronJob/nightly"] = "fail"
	waitUntil(t, "workloads have results", func() bool {
		got := c.results(t, "shop")
		for key, outcome := range want {
			if got[key] != outcome {
				return false
			}
		}
		return true
	})
	if got := c.namesOf(t, "shop"); len(got) != 2 {
		t.Errorf("the reports are called %v, want one for each policy", got)
	}
	c.kubectl.Run(t, "delete", "-n", "shop", "deployment/web", "cronjob/nightly", "policy.kyverno.io/pods")
	c.wantResults(t, "shop", inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b", "two": "a"}))
}

func questionResourceDeleted(t *testing.T, c *controlled) {
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap", "two")
	c.wantResults(t, "shop", inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b"}))
}

// questionDeletedWhileDown: a resource, and a policy.
func questionDeletedWhileDown(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, configMaps("shop", "three"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.RunInput(t, labelPolicy("shop", "gone", rule{"a", "ConfigMap", "a"}), "apply", "-n", "shop", "-f", "-")
	waitUntil(t, "both are reported", func() bool { return c.results(t, "shop")["shop/gone a ConfigMap/three"] == "pass" })
	c.controller.Stop(t)
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap/three", "policy.kyverno.io/gone")
	c.controller.Start(t)
	c.wantResults(t, "shop", inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b"}))
	if got := c.namesOf(t, "shop"); !slices.Equal(got, []string{"polr-ns-shop-tags"}) {
		t.Errorf("the reports are called %v", got)
	}
}

// questionRestart: nothing has changed, so nothing is written.
func questionRestart(t *testing.T, c *controlled) {
	before := c.versions(t)
	c.controller.Kill(t)
	c.controller.Start(t)
	marker := c.barrier(t, 4)
	if got := changed(before, c.versions(t)); !slices.Equal(got, []string{marker}) {
		t.Errorf("a restart wrote %v, want just %s", got, marker)
	}
}

// questionEqualNames: a Policy and a ClusterPolicy of one name have a report each.
func questionEqualNames(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("shop", "tags", rule{"second", "ConfigMap", "b"}), "apply", "-n", "shop", "-f", "-")
	want := inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b"})
	for key, outcome := range inShop("shop/tags", map[string]string{"second": "b"}, map[string]string{"one": "a b"}) {
		want[key] = outcome
	}
	c.wantResults(t, "shop", want)
	if got := c.namesOf(t, "shop"); len(got) != 2 {
		t.Errorf("the reports are called %v, want two", got)
	}
	c.kubectl.Run(t, "delete", "-n", "shop", "policy.kyverno.io/tags")
	c.wantResults(t, "shop", inShop("tags", map[string]string{"second": "b"}, map[string]string{"one": "a b"}))
}

func questionPolicyDeleted(t *testing.T, c *controlled) {
	c.kubectl.Run(t, "delete", "clusterpolicy", "tags")
	c.wantResults(t, "shop", map[string]string{})
	if got := c.namesOf(t, "shop"); len(got) != 0 {
		t.Errorf("empty reports are left: %v", got)
	}
}
