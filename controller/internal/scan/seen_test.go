// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// TestNamespaceAnnotations: a change that policies see of a namespace causes an evaluation of its subjects by those
// policies, and by no others; a change that no policy sees, none.
func TestNamespaceAnnotations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "annotated")
	w.configMap(t, "annotated", "a")
	w.policy(t, "annotated-reads", spec{Targets: targets("ConfigMap"), Rules: asking("team"), NamespaceAnnotation: "guarded"})
	w.policy(t, "annotated-not", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	r.want(t, "ClusterPolicy/annotated-reads ")
	annotate := func(key, value string) {
		w.update(t, spaces, "", "annotated", func(o *unstructured.Unstructured) {
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
			o.SetAnnotations(annotations)
		})
	}
	r.compiler.reset()
	annotate("guarded", "yes")
	r.want(t, "ClusterPolicy/annotated-reads ", "ClusterPolicy/annotated-reads ConfigMap/annotated/a has-team=fail")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/annotated-not", "ConfigMap/annotated/"); n != 0 {
		t.Errorf("a policy that does not look at namespaces was evaluated %d times", n)
	}
	r.compiler.reset()
	annotate(policy.LastApplied, "{}")
	annotate("guarded", "")
	r.want(t, "ClusterPolicy/annotated-reads ")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/annotated-reads", "ConfigMap/annotated/a"); n != 1 {
		t.Errorf("%d evaluations for one change that can be seen and one that can't", n)
	}
}

// TestUnreported: a policy that its owner takes out of reports loses its results, and gets them back;
// one that was out before the start has none, and those of an earlier process go.
func TestUnreported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "unreported")
	w.configMap(t, "unreported", "a")
	w.policy(t, "unreported", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	label := func(labels map[string]string) {
		w.update(t, clusterPolicies, "", "unreported", func(o *unstructured.Unstructured) { o.SetLabels(labels) })
	}
	const found = "ClusterPolicy/unreported ConfigMap/unreported/a has-team=fail"
	r := w.scan(t)
	r.want(t, "ClusterPolicy/unreported ConfigMap/unreported/", found)
	label(map[string]string{policy.DisabledLabel: "false"})
	r.want(t, "ClusterPolicy/unreported ")
	r.rest(t) // All evaluations, of any test, have ended.
	r.compiler.reset()
	w.configMap(t, "unreported", "b")
	r.rest(t)
	if n := r.compiler.count("ClusterPolicy/unreported", ""); n != 0 {
		t.Errorf("it was evaluated %d times, for nothing", n)
	}
	r.stop()
	again := newRunning()
	again.results.loaded = map[policy.Identity]map[policy.Reference]string{
		{Kind: policy.ClusterPolicy, Name: "unreported"}: {{APIVersion: "v1", Kind: "ConfigMap", Namespace: "unreported", Name: "a"}: "has-team=fail"},
	}
	w.start(t, again)
	again.rest(t)
	again.want(t, "ClusterPolicy/unreported ")
	label(nil)
	again.want(t, "ClusterPolicy/unreported ConfigMap/unreported/", found, "ClusterPolicy/unreported ConfigMap/unreported/b has-team=fail")
}
