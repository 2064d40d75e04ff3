// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func policyObject(tb testing.TB, name string, s spec) *unstructured.Unstructured {
	tb.Helper()
	text := testkit.Must(json.Marshal(map[string]any{
		"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": map[string]any{"name": name}, "spec": s,
	}))(tb)
	o := &unstructured.Unstructured{}
	testkit.NoError(tb, o.UnmarshalJSON(text))
	return o
}

// TestRuleAddedAndRemoved: results of a rule come and go with it, and only its policy is
// evaluated.
func TestRuleAddedAndRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "rules")
	w.configMap(t, "rules", "a", "team")
	w.policy(t, "rules", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	w.policy(t, "rules-not", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	const line = "ClusterPolicy/rules ConfigMap/rules/a"
	r.want(t, line, line+" has-team=pass")
	r.compiler.reset()
	w.change(t, "rules", spec{Targets: targets("ConfigMap"), Rules: asking("team", "owner")})
	r.want(t, line, line+" has-team=pass has-owner=fail")
	w.change(t, "rules", spec{Targets: targets("ConfigMap"), Rules: asking("owner")})
	r.want(t, line, line+" has-owner=fail")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/rules-not", "ConfigMap/rules/"); n != 0 {
		t.Errorf("a policy that did not change was evaluated %d times", n)
	}
	if n := r.compiler.count("ClusterPolicy/rules", "ConfigMap/rules/a"); n != 2 {
		t.Errorf("%d evaluations for two changes", n)
	}
}

// TestPolicyRenamed: the results have the new name.
func TestPolicyRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "renamed")
	w.configMap(t, "renamed", "a")
	w.policy(t, "old-name", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	r.want(t, "ClusterPolicy/old-name ConfigMap/renamed/", "ClusterPolicy/old-name ConfigMap/renamed/a has-team=fail")
	w.policy(t, "new-name", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	w.remove(t, clusterPolicies, "", "old-name")
	r.want(t, "ClusterPolicy/new-name ConfigMap/renamed/", "ClusterPolicy/new-name ConfigMap/renamed/a has-team=fail")
	r.want(t, "ClusterPolicy/old-name")
}

// TestPolicyDeleted: its results go, also if it only stops to be for existing resources, and
// come back with it.
func TestPolicyDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "gone")
	w.configMap(t, "gone", "a")
	says := spec{Targets: targets("ConfigMap"), Rules: asking("team")}
	w.policy(t, "gone", says)
	r := w.scan(t)
	r.rest(t)
	const line = "ClusterPolicy/gone ConfigMap/gone/a has-team=fail"
	r.want(t, "ClusterPolicy/gone ConfigMap/gone/", line)
	admission := says
	admission.Admission = true
	w.change(t, "gone", admission)
	r.want(t, "ClusterPolicy/gone ")
	w.change(t, "gone", says)
	r.want(t, "ClusterPolicy/gone ConfigMap/gone/", line)
	w.remove(t, clusterPolicies, "", "gone")
	r.want(t, "ClusterPolicy/gone ")
	w.policy(t, "gone", says)
	r.want(t, "ClusterPolicy/gone ConfigMap/gone/", line)
}

// TestPolicyBeingDeleted: a finalizer may keep the object; its results go nevertheless.
func TestPolicyBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "finalized")
	w.configMap(t, "finalized", "a")
	w.policy(t, "finalized", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	w.update(t, clusterPolicies, "", "finalized", func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"test.example/wait"}) })
	r := w.scan(t)
	r.rest(t)
	r.want(t, "ClusterPolicy/finalized ConfigMap/finalized/", "ClusterPolicy/finalized ConfigMap/finalized/a has-team=fail")
	w.remove(t, clusterPolicies, "", "finalized")
	r.want(t, "ClusterPolicy/finalized ")
	w.update(t, clusterPolicies, "", "finalized", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
}

// TestResourceDeleted: its results go; one that has its name later is another one.
func TestResourceDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "deleted")
	w.configMap(t, "deleted", "a")
	w.configMap(t, "deleted", "b")
	w.policy(t, "deleted", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	w.remove(t, configMaps, "deleted", "a")
	const prefix = "ClusterPolicy/deleted ConfigMap/deleted/"
	r.want(t, prefix, prefix+"b has-team=fail")
	w.remove(t, configMaps, "deleted", "b")
	w.configMap(t, "deleted", "b", "team")
	r.want(t, prefix, prefix+"b has-team=pass")
}

// TestDeletedWhileNotRunning: results that an earlier process left stay if their policy and
// subject exist, without a change, and go if not.
func TestDeletedWhileNotRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "while")
	kept := w.create(t, configMaps, object("v1", "ConfigMap", "while", "kept"))
	w.policy(t, "while", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	reference := policy.ReferenceTo(kept)
	r.results.load(clusterPolicy("while"), reference, "has-team=fail")
	gone := reference
	gone.Name, gone.UID = "gone", "1"
	r.results.load(clusterPolicy("while"), gone, "has-team=fail")
	before := reference // One that was deleted, and created again.
	before.UID = "2"
	r.results.load(clusterPolicy("while"), before, "has-team=pass")
	r.results.load(clusterPolicy("while-gone"), reference, "has-team=fail")
	noKind := reference
	noKind.APIVersion, noKind.Kind = "example.com/v1", "Gone"
	r.results.load(clusterPolicy("while"), noKind, "has-team=fail")
	w.start(t, r)
	r.rest(t)
	r.want(t, "ClusterPolicy/while ConfigMap/while/", "ClusterPolicy/while ConfigMap/while/kept has-team=fail")
	r.want(t, "ClusterPolicy/while-gone")
	r.want(t, "ClusterPolicy/while Gone")
	if _, pruned := r.results.counts(); pruned != 1 {
		t.Errorf("pruned %d times", pruned)
	}
}

// TestAnnotationOfPolicy: what says how results are shown is passed on, what says nothing isn't,
// and neither evaluates anything.
func TestAnnotationOfPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "annotation")
	w.configMap(t, "annotation", "a")
	w.policy(t, "annotation", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	evaluated := r.compiler.count("ClusterPolicy/annotation", "ConfigMap/annotation/")
	annotate := func(name, value string) {
		w.update(t, clusterPolicies, "", "annotation", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{name: value}) })
		testkit.Settles(t, func() string {
			if r.compiler.annotation(clusterPolicy("annotation"), name) != value {
				return "not noticed"
			}
			return ""
		})
		r.rest(t)
	}
	annotate("note", "1")
	if got := r.results.presentations(clusterPolicy("annotation")); len(got) != 1 {
		t.Errorf("an annotation that says nothing: %+v", got)
	}
	annotate("category", "Best Practices")
	if got := r.results.presentations(clusterPolicy("annotation")); len(got) != 2 || got[1].Category != "Best Practices" {
		t.Errorf("another category: %+v", got)
	}
	if n := r.compiler.count("ClusterPolicy/annotation", "ConfigMap/annotation/"); n != evaluated {
		t.Errorf("%d evaluations", n-evaluated)
	}
}

// TestException: a new or deleted one causes an evaluation of its policy, and of no other.
func TestException(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "exception")
	w.configMap(t, "exception", "a")
	w.policy(t, "exception", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	w.policy(t, "exception-not", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	r.compiler.reset()
	exception := object("kyverno.io/v1", "PolicyException", "exception", "e")
	exception.Object["spec"] = map[string]any{"policy": "exception", "name": "a"}
	w.create(t, exceptions, exception)
	const line = "ClusterPolicy/exception ConfigMap/exception/a has-team="
	r.want(t, "ClusterPolicy/exception ConfigMap/exception/", line+"skip")
	w.remove(t, exceptions, "exception", "e")
	r.want(t, "ClusterPolicy/exception ConfigMap/exception/", line+"fail")
	if n := r.compiler.count("ClusterPolicy/exception-not", "ConfigMap/exception/"); n != 0 {
		t.Errorf("another policy was evaluated %d times", n)
	}
}

// TestExceptionExpires: by time alone.
func TestExceptionExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "expiry")
	w.configMap(t, "expiry", "a")
	w.policy(t, "expiry", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	exception := object("kyverno.io/v1", "PolicyException", "expiry", "e")
	end := time.Now().Add(5 * time.Second).Truncate(time.Second)
	exception.Object["spec"] = map[string]any{"policy": "expiry", "name": "a", "expiresAt": end.Format(time.RFC3339)}
	w.create(t, exceptions, exception)
	r := w.scan(t)
	r.want(t, "ClusterPolicy/expiry ConfigMap/expiry/", "ClusterPolicy/expiry ConfigMap/expiry/a has-team=fail")
	if now := time.Now(); now.Before(end) {
		t.Errorf("the exception ended %v too early", end.Sub(now))
	}
}

// TestNamespaceLabels: new labels of a namespace cause an evaluation of its subjects, and of no others.
func TestNamespaceLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "labels")
	w.namespace(t, "labels-not")
	w.configMap(t, "labels", "a")
	w.configMap(t, "labels-not", "a")
	w.policy(t, "labels", spec{Targets: targets("ConfigMap", "Namespace"), Rules: asking("team"), NamespaceLabel: "guarded"})
	r := w.scan(t)
	r.rest(t)
	r.want(t, "ClusterPolicy/labels ")
	r.compiler.reset()
	w.update(t, spaces, "", "labels", func(o *unstructured.Unstructured) { setLabels(o, "guarded") })
	r.want(t, "ClusterPolicy/labels ", "ClusterPolicy/labels ConfigMap/labels/a has-team=fail", "ClusterPolicy/labels Namespace//labels has-team=fail")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/labels", "ConfigMap/labels-not/"); n != 0 {
		t.Errorf("subjects in another namespace were evaluated %d times", n)
	}
	w.update(t, spaces, "", "labels", func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	r.want(t, "ClusterPolicy/labels ")
	// One that is in a new namespace may be seen before the namespace is.
	w.namespace(t, "labels-new", "guarded")
	w.configMap(t, "labels-new", "a")
	r.want(t, "ClusterPolicy/labels ConfigMap", "ClusterPolicy/labels ConfigMap/labels-new/a has-team=fail")
}

// TestLabelOfPods: each pod is evaluated once by each of its policies, and results that are
// equal change nothing.
func TestLabelOfPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "fifty")
	names := numbered("p", 50)
	for _, name := range names {
		w.pod(t, "fifty", name)
	}
	w.policy(t, "fifty-a", spec{Targets: targets("Pod"), Rules: asking("team")})
	w.policy(t, "fifty-b", spec{Targets: targets("Pod"), Rules: asking("owner")})
	r := w.scan(t)
	r.rest(t)
	lines := func() []string {
		return slices.Concat(r.results.lines("ClusterPolicy/fifty-a Pod/fifty/"), r.results.lines("ClusterPolicy/fifty-b Pod/fifty/"))
	}
	before := lines()
	r.compiler.reset()
	for _, name := range names {
		w.update(t, pods, "fifty", name, func(o *unstructured.Unstructured) { setLabels(o, "other") })
	}
	testkit.Settles(t, func() string {
		if n := r.compiler.count("ClusterPolicy/fifty", "Pod/fifty/"); n < 100 {
			return "not all are evaluated"
		}
		return ""
	})
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/fifty", "Pod/fifty/"); n != 100 {
		t.Errorf("%d evaluations, want 100", n)
	}
	if diff := cmp.Diff(before, lines()); diff != "" || len(before) != 100 {
		t.Errorf("%d results changed: %s", len(before), diff)
	}
}

// TestNoise: a status, the node of a pod, managed fields and what kubectl applied last are no
// reason to evaluate, but are seen by the next evaluation.
func TestNoise(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "noise")
	w.pod(t, "noise", "a")
	w.policy(t, "noise", spec{Targets: targets("Pod"), Rules: asking("team")})
	w.policy(t, "noise-status", spec{Targets: append(targets("Pod"), policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "status"}), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	r.compiler.reset()
	w.update(t, pods, "noise", "a", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
	})
	w.pod(t, "noise", "b")
	r.want(t, "ClusterPolicy/noise Pod/noise/b", "ClusterPolicy/noise Pod/noise/b has-team=fail")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/noise", "Pod/noise/a"); n != 0 {
		t.Errorf("evaluated %d times", n)
	}
	status := podObject("noise", "a")
	status.Object["status"] = map[string]any{"phase": "Running"}
	status.SetResourceVersion("")
	testkit.Must(w.at(pods, "noise").UpdateStatus(t.Context(), withVersion(t, w, status), metav1.UpdateOptions{}))(t)
	// A policy that is for the status makes it content for all.
	testkit.Settles(t, func() string {
		if r.compiler.count("ClusterPolicy/noise-status", "Pod/noise/a") == 0 {
			return "a change of status is not noticed"
		}
		return ""
	})
}

func withVersion(tb testing.TB, w *world, o *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	stored := testkit.Must(w.at(pods, o.GetNamespace()).Get(context.WithoutCancel(tb.Context()), o.GetName(), metav1.GetOptions{}))(tb)
	stored.Object["status"] = o.Object["status"]
	return stored
}

// TestNamespacedPolicy: two policies of one name are two policies.
func TestNamespacedPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "twins")
	w.configMap(t, "twins", "a", "team")
	w.policy(t, "twin", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	twin := policyObject(t, "twin", spec{Targets: targets("ConfigMap"), Rules: asking("owner")})
	twin.SetKind("Policy")
	twin.SetNamespace("twins")
	w.create(t, namespacedPolicies, twin)
	r := w.scan(t)
	r.rest(t)
	r.want(t, "ClusterPolicy/twin ConfigMap/twins/", "ClusterPolicy/twin ConfigMap/twins/a has-team=pass")
	r.want(t, "Policy/twins/twin ConfigMap/twins/", "Policy/twins/twin ConfigMap/twins/a has-owner=fail")
	w.remove(t, namespacedPolicies, "twins", "twin")
	r.want(t, "Policy/twins/twin")
	r.want(t, "ClusterPolicy/twin ConfigMap/twins/", "ClusterPolicy/twin ConfigMap/twins/a has-team=pass")
}
