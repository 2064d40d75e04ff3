// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var (
	clusterPolicies    = schema.GroupVersionResource{Group: policy.KyvernoGroup, Version: "v1", Resource: "clusterpolicies"}
	validatingPolicies = schema.GroupVersionResource{Group: policy.CELGroup, Version: "v1", Resource: "validatingpolicies"}
	exceptions         = schema.GroupVersionResource{Group: policy.KyvernoGroup, Version: "v2", Resource: "policyexceptions"}
	kindNames          = map[schema.GroupVersionResource]string{clusterPolicies: "ClusterPolicy", validatingPolicies: "ValidatingPolicy", exceptions: "PolicyException"}
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// compiler makes policies that name their sources, and counts.
type compiler struct {
	mu       sync.Mutex
	compiled map[string]int
}

func (c *compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiled[object.GetName()]++
	p := fake{id: policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}}
	p.fingerprint = fmt.Sprint(object.Object["spec"])
	if problem, _, _ := unstructured.NestedString(object.Object, "spec", "problem"); problem != "" {
		p.problem = errors.New(problem)
	}
	for _, exception := range exceptions {
		if of, _, _ := unstructured.NestedString(exception.Object, "spec", "policy"); of == p.id.Name {
			p.fingerprint += " but " + exception.GetName()
		}
	}
	return p
}

func (c *compiler) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.compiled)
}

type fake struct {
	policy.Policy
	id          policy.Identity
	fingerprint string
	problem     error
}

func (f fake) Problem() error            { return f.problem }
func (f fake) Doubt() error              { return nil }
func (f fake) Identity() policy.Identity { return f.id }
func (f fake) Fingerprint() string       { return f.fingerprint }

// api is what a cluster serves.
type api struct {
	mu     sync.Mutex
	kinds  map[schema.GroupVersionResource]bool
	client *dynamicfake.FakeDynamicClient
}

func newAPI(kinds ...schema.GroupVersionResource) *api {
	lists := map[schema.GroupVersionResource]string{}
	for gvr, kind := range kindNames {
		lists[gvr] = kind + "List"
	}
	a := &api{kinds: map[schema.GroupVersionResource]bool{}, client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)}
	for _, kind := range kinds {
		a.kinds[kind] = true
	}
	return a
}

func (a *api) serve(gvr schema.GroupVersionResource, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kinds[gvr] = yes
}

func (a *api) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	groups := []*metav1.APIGroup{{Name: "", PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "v1", Version: "v1"}}}
	var lists []*metav1.APIResourceList
	for _, gvr := range []schema.GroupVersionResource{clusterPolicies, exceptions, validatingPolicies} {
		if !a.kinds[gvr] {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gvr.GroupVersion().String(), Version: gvr.Version}
		at := slices.IndexFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == gvr.Group })
		if at < 0 {
			groups = append(groups, &metav1.APIGroup{Name: gvr.Group, PreferredVersion: version})
			at = len(groups) - 1
		}
		groups[at].Versions = append(groups[at].Versions, version)
		lists = append(lists, &metav1.APIResourceList{GroupVersion: version.GroupVersion, APIResources: []metav1.APIResource{
			{Name: gvr.Resource, Kind: kindNames[gvr], Verbs: metav1.Verbs{"get", "list", "watch"}},
		}})
	}
	return groups, lists, nil
}

// write creates or replaces an object with a spec.
func (a *api) write(t *testing.T, gvr schema.GroupVersionResource, name string, spec map[string]any, annotations ...string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": map[string]any{"at": time.Now().String()}}}
	o.SetAPIVersion(gvr.GroupVersion().String())
	o.SetKind(kindNames[gvr])
	o.SetName(name)
	o.SetUID(types.UID(gvr.Resource + "/" + name))
	for _, annotation := range annotations {
		o.SetAnnotations(map[string]string{annotation: "yes"})
	}
	at := a.client.Resource(gvr)
	_, err := at.Update(t.Context(), o, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = at.Create(t.Context(), o, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (a *api) remove(t *testing.T, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	testkit.NoError(t, a.client.Resource(gvr).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// running is a set at work until the test ends.
type running struct {
	*Set
	compiler *compiler
	told     atomic.Int64
}

func (a *api) run(t *testing.T, changes ...func(*Config)) *running {
	t.Helper()
	watcher := served.NewWatcher(served.Config{Discovery: a, Interval: 20 * time.Millisecond})
	r := &running{compiler: &compiler{compiled: map[string]int{}}}
	config := Config{Client: a.client, Served: watcher, Compiler: r.compiler}
	for _, change := range changes {
		change(&config)
	}
	set := testkit.Must(New(config))(t)
	r.Set = set
	set.Subscribe(func() { r.told.Add(1) })
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() { watcher.Run(ctx) })
	parts.Go(func() {
		if err := set.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		parts.Wait()
	})
	return r
}

// want waits until the policies have these fingerprints, and returns them.
func (r *running) want(t *testing.T, want ...string) *Snapshot {
	t.Helper()
	var diff string
	testkit.Settles(t, func() string {
		snapshot := r.Current()
		if snapshot == nil {
			return r.Ready().Error()
		}
		var got []string
		for _, item := range snapshot.Items {
			got = append(got, item.Policy.Identity().String()+" "+item.Policy.Fingerprint())
		}
		if diff = cmp.Diff(want, got); diff == "" && !r.Idle() {
			diff = "not idle"
		}
		return diff
	})
	return r.Current()
}

func rule(name string) map[string]any { return map[string]any{"rule": name} }

// TestUnchangedItemsAreTheSame: a change of one policy, or an exception of one, makes only that
// one another one, and what says nothing makes no snapshot.
func TestUnchangedItemsAreTheSame(t *testing.T) {
	t.Parallel()
	a := newAPI(clusterPolicies, validatingPolicies, exceptions)
	a.write(t, clusterPolicies, "a", rule("1"))
	a.write(t, clusterPolicies, "b", rule("1"))
	a.write(t, validatingPolicies, "c", rule("1"))
	r := a.run(t)
	first := r.want(t, "ClusterPolicy/a map[rule:1]", "ClusterPolicy/b map[rule:1]", "ValidatingPolicy/c map[rule:1]")
	testkit.NoDiff(t, cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, r.compiler.counts()), "compiled")
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
	a.write(t, clusterPolicies, "b", rule("1")) // Only its status changes.
	a.write(t, clusterPolicies, "a", rule("2"))
	second := r.want(t, "ClusterPolicy/a map[rule:2]", "ClusterPolicy/b map[rule:1]", "ValidatingPolicy/c map[rule:1]")
	if first.Items[0] == second.Items[0] || first.Items[1] != second.Items[1] || first.Items[2] != second.Items[2] {
		t.Error("another policy than that which has changed is another one")
	}
	a.write(t, exceptions, "e", map[string]any{"policy": "b"})
	third := r.want(t, "ClusterPolicy/a map[rule:2]", "ClusterPolicy/b map[rule:1] but e", "ValidatingPolicy/c map[rule:1]")
	if second.Items[0] != third.Items[0] || second.Items[1] == third.Items[1] || second.Items[2] != third.Items[2] {
		t.Error("an exception has made another policy another one")
	}
	told, before := r.told.Load(), r.compiler.counts()["c"]
	a.write(t, exceptions, "f", map[string]any{"policy": "none"})
	testkit.Settles(t, func() string {
		if r.compiler.counts()["c"] == before || !r.Idle() {
			return "the exception is not seen"
		}
		return ""
	})
	if r.Current() != third || r.told.Load() != told {
		t.Error("an exception of nothing has made another snapshot")
	}
	a.write(t, clusterPolicies, "b", rule("1"), "category")
	testkit.Settles(t, func() string {
		if r.Current().Items[1] == third.Items[1] {
			return "a changed annotation is not seen"
		}
		return ""
	})
	if item := r.Current().Find(policy.Identity{Kind: "ClusterPolicy", Name: "a"}); item != third.Items[0] {
		t.Errorf("found %v", item)
	}
	a.remove(t, exceptions, "e")
	a.remove(t, clusterPolicies, "a")
	r.want(t, "ClusterPolicy/b map[rule:1]", "ValidatingPolicy/c map[rule:1]")
}

// TestExpiryCompiles: an exception ends by time alone.
func TestExpiryCompiles(t *testing.T) {
	t.Parallel()
	a, start := newAPI(clusterPolicies, exceptions), time.Unix(1_000_000, 0)
	a.write(t, clusterPolicies, "a", rule("1"))
	a.write(t, exceptions, "e", map[string]any{"policy": "a", "expiresAt": start.Add(time.Hour).Format(time.RFC3339)})
	now := clocktesting.NewFakeClock(start)
	r := a.run(t, func(c *Config) { c.Clock = now })
	r.want(t, "ClusterPolicy/a map[rule:1] but e")
	now.Step(time.Hour - tick)
	r.want(t, "ClusterPolicy/a map[rule:1] but e")
	now.Step(tick)
	r.want(t, "ClusterPolicy/a map[rule:1]")
}

// TestKindsComeAndGo: policies of a kind go with it.
func TestKindsComeAndGo(t *testing.T) {
	t.Parallel()
	a := newAPI(clusterPolicies)
	a.write(t, clusterPolicies, "a", rule("1"))
	a.write(t, validatingPolicies, "c", rule("1"))
	r := a.run(t)
	r.want(t, "ClusterPolicy/a map[rule:1]")
	for range 2 {
		a.serve(validatingPolicies, true)
		r.want(t, "ClusterPolicy/a map[rule:1]", "ValidatingPolicy/c map[rule:1]")
		if n := len(r.Sources()); n != 2 {
			t.Errorf("%d kinds are watched", n)
		}
		a.serve(validatingPolicies, false)
		r.want(t, "ClusterPolicy/a map[rule:1]")
	}
	a.serve(clusterPolicies, false)
	r.want(t)
}

// TestRefusedKindIsMissing: the others are known, and the snapshot says which is not.
func TestRefusedKindIsMissing(t *testing.T) {
	t.Parallel()
	a := newAPI(clusterPolicies, validatingPolicies)
	a.write(t, clusterPolicies, "a", rule("1"))
	a.write(t, validatingPolicies, "c", rule("1"))
	var allowed atomic.Bool
	a.client.PrependReactor("list", "validatingpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !allowed.Load(), nil, apierrors.NewForbidden(validatingPolicies.GroupResource(), "", nil)
	})
	r := a.run(t)
	snapshot := r.want(t, "ClusterPolicy/a map[rule:1]")
	missing := map[schema.GroupKind]bool{{Group: policy.CELGroup, Kind: "ValidatingPolicy"}: true}
	if diff := cmp.Diff(missing, snapshot.Missing); diff != "" {
		t.Error(diff)
	}
	allowed.Store(true)
	if snapshot = r.want(t, "ClusterPolicy/a map[rule:1]", "ValidatingPolicy/c map[rule:1]"); len(snapshot.Missing) != 0 {
		t.Errorf("still missing: %v", snapshot.Missing)
	}
}

// TestNothingWithoutAllExceptions: as long as a kind may still be listed there are no policies, and
// what is waited for is said.
func TestNothingWithoutAllExceptions(t *testing.T) {
	t.Parallel()
	a := newAPI(clusterPolicies, exceptions)
	a.write(t, clusterPolicies, "a", rule("1"))
	a.write(t, exceptions, "e", map[string]any{"policy": "a"})
	var up atomic.Bool
	a.client.PrependReactor("list", "policyexceptions", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !up.Load(), nil, apierrors.NewServiceUnavailable("away")
	})
	r := a.run(t)
	testkit.Settles(t, func() string {
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "policyexceptions") {
			return fmt.Sprint("it waits for ", err)
		}
		return ""
	})
	if r.Current() != nil || r.Idle() {
		t.Error("there are policies without their exceptions")
	}
	up.Store(true)
	r.want(t, "ClusterPolicy/a map[rule:1] but e")
}

// TestConfigErrors: each field that is missing is named.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := New(Config{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Client", "Served", "Compiler"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is missing in %q", field, err)
		}
	}
}
