// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	reportskyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// informer is one of client-go for one kind, and what it told its handler.
type informer struct {
	name  string
	kind  sample.Kind
	cache cache.SharedIndexInformer

	mu     sync.Mutex // guards events
	events []string
}

// sources are the three sorts of clients that informers read with.
func sources() map[string]func(*testing.T, *rest.Config, schema.GroupVersionResource) (*cache.ListWatch, runtime.Object) {
	return map[string]func(*testing.T, *rest.Config, schema.GroupVersionResource) (*cache.ListWatch, runtime.Object){
		"typed": typedSource, "dynamic": dynamicSource, "metadata": metadataSource,
	}
}

func typedSource(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) (*cache.ListWatch, runtime.Object) {
	t.Helper()
	kinds := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(wgpolicy.AddToScheme, openreports.AddToScheme, reportskyverno.AddToScheme)
	testkit.NoError(t, builder.AddToScheme(kinds))
	version := resource.GroupVersion()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(kinds).WithoutConversion()
	client := testkit.Must(rest.RESTClientFor(config))(t)
	object := testkit.Must(kinds.New(version.WithKind(kindOf(t, resource).Kind)))(t)
	return cache.NewListWatchFromClient(client, resource.Resource, "", fields.Everything()), object
}

func dynamicSource(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) (*cache.ListWatch, runtime.Object) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	r := client.Resource(resource)
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		WatchFuncWithContext: r.Watch,
	}, &unstructured.Unstructured{}
}

func metadataSource(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) (*cache.ListWatch, runtime.Object) {
	t.Helper()
	client := testkit.Must(metadata.NewForConfig(config))(t)
	r := client.Resource(resource)
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return r.Watch(ctx, o) },
	}, &metav1.PartialObjectMetadata{}
}

// listFirst is a ListWatch for informers that don't begin with a watch.
type listFirst struct{ *cache.ListWatch }

func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

func kindOf(t *testing.T, resource schema.GroupVersionResource) sample.Kind {
	t.Helper()
	return testkit.Must(sample.KindOf(resource.Resource))(t)
}

// beginnings notes how informers ask for the existing objects.
type beginnings struct {
	http.RoundTripper

	mu   sync.Mutex // guards seen
	seen []string
}

// RoundTrip implements http.RoundTripper.
func (b *beginnings) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	how := "list"
	switch {
	case query.Get("sendInitialEvents") == "true":
		how = "watch-list"
	case query.Get("watch") == "true":
		how = "watch"
	}
	b.mu.Lock()
	if !slices.Contains(b.seen, how) {
		b.seen = append(b.seen, how)
		slices.Sort(b.seen)
	}
	b.mu.Unlock()
	return b.RoundTripper.RoundTrip(r)
}

// startInformers starts for each kind an informer of each sort, once with a watch that
// begins with the existing objects and once with a list. They end with the test.
func startInformers(t *testing.T, config *rest.Config, kinds []sample.Kind) []*informer {
	t.Helper()
	var informers []*informer
	for sort, source := range sources() {
		for _, begin := range []string{"watch-list", "list"} {
			noted := &beginnings{}
			config := rest.CopyConfig(config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				noted.RoundTripper = next
				return noted
			})
			for _, kind := range kinds {
				lw, object := source(t, config, resourceOf(kind))
				var lister cache.ListerWatcher = listFirst{lw}
				if begin == "watch-list" {
					lister = lw
				}
				informers = append(informers, startInformerOf(t, fmt.Sprintf("%s %s %s", sort, begin, kind.Kind), kind, lister, object))
			}
			want := map[string][]string{"watch-list": {"watch-list"}, "list": {"list", "watch"}}[begin]
			waitSettled(t, 100*time.Millisecond, func() string {
				noted.mu.Lock()
				defer noted.mu.Unlock()
				if slices.Equal(noted.seen, want) {
					return ""
				}
				return fmt.Sprintf("informers that begin with a %s sent %v, want %v", begin, noted.seen, want)
			})
		}
	}
	return informers
}

func startInformerOf(t *testing.T, name string, kind sample.Kind, lw cache.ListerWatcher, object runtime.Object) *informer {
	t.Helper()
	i := &informer{name: name, kind: kind, cache: cache.NewSharedIndexInformer(lw, object, 0, cache.Indexers{})}
	testkit.Must(i.cache.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { i.note("added", object) },
		UpdateFunc: func(_, object any) { i.note("updated", object) },
		DeleteFunc: func(object any) { i.note("deleted", object) },
	}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { i.cache.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	if !cache.WaitForCacheSync(t.Context().Done(), i.cache.HasSynced) {
		t.Fatalf("informer %s does not sync", name)
	}
	return i
}

func (i *informer) note(what string, object any) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		what, object = what+" unseen", missed.Obj
	}
	m, err := meta.Accessor(object)
	if err != nil {
		what = err.Error()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.events = append(i.events, fmt.Sprintf("%s %s step=%s generation=%d", what, m.GetName(), m.GetLabels()["step"], m.GetGeneration()))
}

func (i *informer) told() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.events)
}

// stored is the resource version of each object in the cache.
func (i *informer) stored() map[string]string {
	versions := map[string]string{}
	for _, object := range i.cache.GetStore().List() {
		m, err := meta.Accessor(object)
		if err != nil {
			versions[err.Error()] = ""
			continue
		}
		versions[m.GetNamespace()+"/"+m.GetName()] = m.GetResourceVersion()
	}
	return versions
}

// runInformers changes objects of all kinds while informers of all sorts follow, and
// returns what those told.
func runInformers(t *testing.T, p *programCluster) []string {
	informers := startInformers(t, p.config, sample.Kinds())
	for _, kind := range sample.Kinds() {
		changeReports(t, newReports(t, p.cluster, kind, p.namespace))
	}
	var lines []string
	for _, i := range informers {
		waitSettled(t, 100*time.Millisecond, func() string {
			if told := i.told(); len(told) == 0 || !strings.HasPrefix(told[len(told)-1], "added last ") {
				return fmt.Sprintf("informer %s has not seen the last object: %q", i.name, told)
			}
			return ""
		})
		list := testkit.Must(newReports(t, p.cluster, i.kind, "").List(t.Context(), metav1.ListOptions{}))(t)
		wantStored(t, i.name, i.stored(), list)
		lines = append(lines, i.name+": "+strings.Join(i.told(), ", "))
	}
	for _, kind := range sample.Kinds() { // Those without a namespace would be there for the next program.
		testkit.NoError(t, newReports(t, p.cluster, kind, p.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	slices.Sort(lines)
	return lines
}

// changeReports does to reports what informers have to notice.
func changeReports(t *testing.T, r reports) {
	t.Helper()
	r.create(t, "a")
	r.create(t, "b")
	b := testkit.Must(r.Get(t.Context(), "b", metav1.GetOptions{}))(t)
	setLabel(b, "step", "1")
	testkit.Must(r.Update(t.Context(), b, metav1.UpdateOptions{}))(t)
	testkit.Must(r.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"step":"2"}}}`), metav1.PatchOptions{}))(t)
	testkit.NoError(t, r.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	r.create(t, "a")
	testkit.NoError(t, r.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "step=1"}))
	r.create(t, "last")
}

// wantStored compares a cache with a list.
func wantStored(t *testing.T, name string, stored map[string]string, list *unstructured.UnstructuredList) {
	t.Helper()
	if problem := storedProblem(stored, list); problem != "" {
		t.Errorf("the cache of %s: %s", name, problem)
	}
}

func storedProblem(stored map[string]string, list *unstructured.UnstructuredList) string {
	if len(stored) != len(list.Items) {
		return fmt.Sprintf("%d objects, %d in the list", len(stored), len(list.Items))
	}
	for i := range list.Items {
		key := list.Items[i].GetNamespace() + "/" + list.Items[i].GetName()
		if stored[key] != list.Items[i].GetResourceVersion() {
			return fmt.Sprintf("%s has resource version %q, %q in the list", key, stored[key], list.Items[i].GetResourceVersion())
		}
	}
	return ""
}
