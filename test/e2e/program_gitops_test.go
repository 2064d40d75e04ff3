// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	gitops "github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

const (
	// gitopsMark is on what the engine manages; the value is the application.
	gitopsMark = "docket.test/application"
	// gitopsManager is the field manager of server-side differences and of applies.
	gitopsManager = "argocd-controller"
	gitopsTimeout = time.Minute
)

// gitopsOf is Argo CD's engine at work on reports of one application.
type gitopsOf struct {
	t           *testing.T
	namespace   string
	application string
	kinds       []sample.Kind
	cache       cache.ClusterCache
	engine      engine.GitOpsEngine
	kubectl     *kube.KubectlCmd
	config      *rest.Config
	lines       []string
}

// runGitops has Argo CD's engine bring reports into a cluster, find differences in each of
// its ways, and prune.
func runGitops(t *testing.T, p *programCluster) []string {
	g := startGitops(t, p.config, p.namespace)
	g.resources()
	for _, application := range []string{"client-side", "server-side"} {
		g.application = application
		g.manage()
	}
	// Those without a namespace would be there for the next program: they are deleted in the
	// foreground.
	for _, kind := range sample.Kinds() {
		r := newReports(t, p.cluster, kind, p.namespace)
		waitSettled(t, 100*time.Millisecond, func() string {
			list, err := r.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) > 0 {
				return fmt.Sprintf("%v, pruned reports are left", err)
			}
			return ""
		})
	}
	return g.lines
}

// startGitops starts the engine for a namespace and for objects without one. It ends with
// the test.
func startGitops(t *testing.T, config *rest.Config, namespace string) *gitopsOf {
	t.Helper()
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	known := cache.NewClusterCache(config,
		cache.SetLogr(logr.Discard()), cache.SetKubectl(kubectl), cache.SetNamespaces([]string{namespace}), cache.SetClusterResources(true),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			application := object.GetAnnotations()[gitopsMark]
			return application, application != ""
		}))
	g := &gitopsOf{
		t: t, namespace: namespace, kinds: sample.Kinds(), cache: known, kubectl: kubectl, config: config,
		engine: engine.NewEngine(config, known, engine.WithLogr(logr.Discard()), engine.WithKubectl(kubectl)),
	}
	stop := testkit.Must(g.engine.Run())(t)
	t.Cleanup(stop)
	// It reads OpenAPI when it starts; kube-apiserver takes its time to merge that of a server that
	// has just been registered.
	waitSettled(t, 100*time.Millisecond, func() string {
		for _, kind := range sample.Kinds() {
			if known.GetGVKParser().Type(gvkOf(kind)) == nil {
				known.Invalidate()
				return fmt.Sprintf("OpenAPI has no %s, %v", kind.Kind, known.EnsureSynced())
			}
		}
		return ""
	})
	return g
}

func gvkOf(kind sample.Kind) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
}

func (g *gitopsOf) note(step, format string, arguments ...any) {
	g.lines = append(g.lines, step+"\n"+fmt.Sprintf(format, arguments...))
}

// resources notes what the engine knows of the kinds of reports.
func (g *gitopsOf) resources() {
	for _, resource := range g.cache.GetAPIResources() {
		if slices.ContainsFunc(sample.Kinds(), func(k sample.Kind) bool { return gvkOf(k).GroupKind() == resource.GroupKind }) {
			verbs := slices.Sorted(slices.Values(resource.Meta.Verbs))
			g.note("resource "+resource.GroupKind.String(), "%s %v %v %v", resource.GroupVersionResource, resource.Meta.Namespaced, resource.Meta.ShortNames, verbs)
		}
	}
	slices.Sort(g.lines)
	for _, kind := range sample.Kinds() {
		namespaced, err := g.cache.IsNamespaced(gvkOf(kind).GroupKind())
		g.note("scope of "+kind.Kind, "namespaced %v, %v, in OpenAPI %v", namespaced, err, g.cache.GetGVKParser().Type(gvkOf(kind)) != nil)
	}
}

// manage does what happens to an application in its life.
func (g *gitopsOf) manage() {
	reports := g.manifests()
	g.mustSync("create", reports)
	g.differ("nothing", reports)
	changed := g.manifests(func(o *unstructured.Unstructured) {
		results, _, _ := unstructured.NestedSlice(o.Object, "results")
		if len(results) > 0 {
			first, _ := results[0].(map[string]any)
			first["message"] = "said otherwise"
			if err := unstructured.SetNestedSlice(o.Object, results[:1], "results"); err != nil {
				g.t.Fatal(err)
			}
		}
		o.SetLabels(map[string]string{"changed": "yes"})
	})
	g.differ("changed", changed)
	g.mustSync("change", changed)
	g.differ("nothing again", changed)
	g.mustSync("leave one", changed[:1])
	g.mustSync("leave none", nil)
}

// manifests are a report of each kind, as they would be in a repository.
func (g *gitopsOf) manifests(changes ...func(*unstructured.Unstructured)) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for i, kind := range g.kinds {
		o := sample.Cluster{Now: sampleTime}.Report(kind, i, 3)
		o.SetOwnerReferences(nil)
		o.SetLabels(nil)
		o.SetName(g.application + "-" + strings.ToLower(kind.Kind))
		if kind.Namespaced {
			o.SetNamespace(g.namespace)
		}
		for _, change := range changes {
			change(o)
		}
		annotations := map[string]string{gitopsMark: g.application}
		if g.application == "server-side" {
			annotations[common.AnnotationSyncOptions] = common.SyncOptionServerSideApply
		}
		o.SetAnnotations(annotations)
		all = append(all, o)
	}
	return all
}

// sync makes the cluster as the manifests are. It returns an error if a report could not be
// synchronized.
func (g *gitopsOf) sync(step string, reports []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(g.t.Context(), gitopsTimeout)
	defer cancel()
	done, err := g.engine.Sync(ctx, reports, func(r *cache.Resource) bool { return r.Info == g.application }, "revision", g.namespace,
		gitops.WithPrune(true), gitops.WithLogr(logr.Discard()), gitops.WithServerSideApplyManager(gitopsManager))
	said := make([]string, 0, len(done))
	for _, result := range done {
		if result.Status == common.ResultCodeSyncFailed {
			err = errors.Join(err, fmt.Errorf("%s: %s", result.ResourceKey, result.Message))
		}
		said = append(said, fmt.Sprintf("%s %s %s", result.ResourceKey, result.Status, result.Message))
	}
	slices.Sort(said)
	g.note(g.application+": "+step, "%v\n%s", err, strings.Join(said, "\n"))
	return err
}

func (g *gitopsOf) mustSync(step string, reports []*unstructured.Unstructured) {
	g.t.Helper()
	if err := g.sync(step, reports); err != nil {
		g.t.Errorf("%s: %v", step, err)
	}
}

// wantNoDifference wants the cluster to be as the manifests are.
func (g *gitopsOf) wantNoDifference(changes ...func(*unstructured.Unstructured)) {
	g.t.Helper()
	g.lines = nil
	g.differ("nothing", g.manifests(changes...))
	for _, line := range g.lines {
		if strings.Contains(line, "modified true") || !strings.Contains(line, "modified false") {
			g.t.Error(line)
		}
	}
}

// live returns what is in the cluster of the application, as the engine's cache has it once it has
// caught up.
func (g *gitopsOf) live(reports []*unstructured.Unstructured) map[kube.ResourceKey]*unstructured.Unstructured {
	g.t.Helper()
	client, err := dynamic.NewForConfig(g.config)
	if err != nil {
		g.t.Fatal(err)
	}
	var live map[kube.ResourceKey]*unstructured.Unstructured
	waitSettled(g.t, 100*time.Millisecond, func() string {
		if live, err = g.cache.GetManagedLiveObjs(reports, func(r *cache.Resource) bool { return r.Info == g.application }); err != nil {
			return err.Error()
		}
		for i, report := range reports {
			stored, err := client.Resource(resourceOf(g.kinds[i])).Namespace(report.GetNamespace()).Get(g.t.Context(), report.GetName(), metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if cached := live[kube.GetResourceKey(report)]; cached == nil || cached.GetResourceVersion() != stored.GetResourceVersion() {
				return report.GetName() + " is not yet in the engine's cache as it is stored"
			}
		}
		return ""
	})
	return live
}

// differ notes what the engine finds different between manifests and the cluster.
func (g *gitopsOf) differ(step string, reports []*unstructured.Unstructured) {
	live := g.live(reports)
	found := gitops.Reconcile(reports, live, g.namespace, g.cache)
	applier, end, err := g.kubectl.ManageServerSideDiffDryRuns(g.config)
	if err != nil {
		g.t.Fatal(err)
	}
	defer end()
	for name, options := range map[string][]diff.Option{
		"three-way":        {},
		"structured merge": {diff.WithStructuredMergeDiff(true), diff.WithGVKParser(g.cache.GetGVKParser()), diff.WithManager(gitopsManager)},
		"server-side": {
			diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)),
			diff.WithGVKParser(g.cache.GetGVKParser()), diff.WithManager(gitopsManager),
		},
	} {
		result, err := diff.DiffArray(found.Target, found.Live, append(options, diff.WithLogr(logr.Discard()))...)
		if err != nil {
			g.note(g.application+": "+step+" "+name, "%v", err)
			continue
		}
		var said []string
		for i, one := range result.Diffs {
			said = append(said, fmt.Sprintf("%s modified %v\n%s", found.Target[i].GetName(), one.Modified, withoutRun(g.t, one.PredictedLive)))
		}
		slices.Sort(said)
		g.note(g.application+": "+step+" "+name, "%s", strings.Join(said, "\n"))
	}
	slices.Sort(g.lines)
}

// withoutRun returns an object as JSON without what differs from run to run.
func withoutRun(t *testing.T, object []byte) string {
	t.Helper()
	var o unstructured.Unstructured
	if err := json.Unmarshal(object, &o.Object); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	metadata, _, _ := unstructured.NestedMap(o.Object, "metadata")
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(metadata, name)
	}
	if metadata != nil {
		o.Object["metadata"] = metadata
	}
	data := testkit.Must(json.Marshal(o.Object))(t)
	return string(data)
}
