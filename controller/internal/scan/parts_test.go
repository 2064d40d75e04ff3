// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
)

func testPod(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "5", "labels": {"a": "b"}, "annotations": {"c": "d"}},
		"spec": {"nodeName": "x", "priority": 7, "containers": [{"name": "main", "image": "i"}]}, "status": {"phase": "Running"}}`)); err != nil {
		tb.Fatal(err)
	}
	return o
}

// TestPackHash: what changes it, and what doesn't.
func TestPackHash(t *testing.T) {
	t.Parallel()
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				t.Error(err)
			}
		}
	}
	for name, test := range map[string]struct {
		change          func(*unstructured.Unstructured)
		content, status bool
	}{
		"nothing":          {func(*unstructured.Unstructured) {}, false, false},
		"label":            {set("x", "metadata", "labels", "a"), true, false},
		"annotation":       {set("x", "metadata", "annotations", "a"), true, false},
		"spec":             {set(int64(8), "spec", "priority"), true, false},
		"new field":        {set("x", "data", "a"), true, false},
		"status":           {set("Failed", "status", "phase"), false, true},
		"node":             {set("y", "spec", "nodeName"), false, false},
		"resource version": {set("6", "metadata", "resourceVersion"), false, false},
		"finalizers":       {set([]any{"a"}, "metadata", "finalizers"), false, false},
		"managed fields":   {set([]any{map[string]any{"manager": "a"}}, "metadata", "managedFields"), false, false},
		"last applied":     {set("{}", "metadata", "annotations", lastApplied), false, false},
	} {
		before, err := pack(testPod(t))
		if err != nil {
			t.Fatal(err)
		}
		changed := testPod(t)
		test.change(changed)
		after, err := pack(changed)
		if err != nil {
			t.Fatal(err)
		}
		if content, status := after.content != before.content, after.status != before.status; content != test.content || status != test.status {
			t.Errorf("%s: content differs %v, status differs %v", name, content, status)
		}
	}
}

// TestPackRoundTrip: policies see the object, but for what is never kept.
func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	want, object := testPod(t), testPod(t)
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a"}})
	object.SetAnnotations(map[string]string{"c": "d", lastApplied: "{}"})
	p, err := pack(object)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.unpack()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Error(diff)
	}
}

// fakeDiscovery answers one question.
type fakeDiscovery struct {
	discovery.DiscoveryInterface
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
	err    error
}

func (f *fakeDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return f.groups, f.lists, f.err
}

func group(name string, versions ...string) *metav1.APIGroup {
	g := &metav1.APIGroup{Name: name}
	for _, version := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: schema.GroupVersion{Group: name, Version: version}.String(), Version: version})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

func serving(version string, kinds ...string) *metav1.APIResourceList {
	plurals := map[string]string{"Scaler": "scalers", "Old": "olds", "Event": "events", "Pod": "pods", "Review": "reviews"}
	list := &metav1.APIResourceList{GroupVersion: version}
	for _, kind := range kinds {
		verbs := metav1.Verbs{"get", "list", "watch"}
		if kind == "Review" {
			verbs = metav1.Verbs{"create"}
		}
		list.APIResources = append(list.APIResources,
			metav1.APIResource{Name: plurals[kind], Kind: kind, Verbs: verbs},
			metav1.APIResource{Name: plurals[kind] + "/status", Kind: kind, Verbs: metav1.Verbs{"get"}})
	}
	return list
}

func names(list []resource) []string {
	var result []string
	for _, r := range list {
		result = append(result, r.GroupVersion().String()+" "+r.Resource)
	}
	return result
}

// TestCatalogMatching: wildcards mean preferred versions, and a version that is named is meant.
func TestCatalogMatching(t *testing.T) {
	t.Parallel()
	client := &fakeDiscovery{
		groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v2", "v1")},
		lists:  []*metav1.APIResourceList{serving("v1", "Pod", "Event", "Review"), serving("scale/v2", "Scaler"), serving("scale/v1", "Scaler", "Old")},
	}
	served, err := discover(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	excluded := policy.NewExclusion(schema.GroupResource{Group: "none", Resource: "pods"})
	for name, test := range map[string]struct {
		target policy.Target
		want   []string
	}{
		"all":                {policy.Target{Group: "*", Version: "*", Kind: "*"}, []string{"v1 pods", "scale/v2 scalers", "scale/v1 olds"}},
		"preferred":          {policy.Target{Group: "*", Version: "*", Kind: "Scaler"}, []string{"scale/v2 scalers"}},
		"named version":      {policy.Target{Group: "scale", Version: "v1", Kind: "Scaler"}, []string{"scale/v1 scalers"}},
		"all of a version":   {policy.Target{Group: "scale", Version: "v1", Resource: "*"}, []string{"scale/v1 olds", "scale/v1 scalers"}},
		"never":              {policy.Target{Group: "*", Version: "*", Kind: "Event"}, nil},
		"not listable":       {policy.Target{Group: "*", Version: "*", Kind: "Review"}, nil},
		"subresource":        {policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "status"}, nil},
		"unknown":            {policy.Target{Group: "*", Version: "*", Kind: "Widget"}, nil},
		"group of exclusion": {policy.Target{Version: "*", Kind: "Pod"}, []string{"v1 pods"}},
	} {
		if diff := cmp.Diff(test.want, names(served.matching(test.target, excluded))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := served.matching(policy.Target{Version: "*", Kind: "Pod"}, policy.NewExclusion(schema.GroupResource{Group: "*", Resource: "pods"})); len(got) != 0 {
		t.Errorf("excluded: %v", names(got))
	}
}

// TestCatalogKeepsWhatDoesNotAnswer: a group that fails has the kinds that it had, one that is
// gone has none, and an API that doesn't answer at all is an error.
func TestCatalogKeepsWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	client := &fakeDiscovery{
		groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v2"), group("gone", "v1")},
		lists:  []*metav1.APIResourceList{serving("v1", "Pod"), serving("scale/v2", "Scaler"), serving("gone/v1", "Old")},
	}
	before, err := discover(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := schema.GroupVersion{Group: "scale", Version: "v2"}
	partial := &fakeDiscovery{
		groups: client.groups[:2], lists: client.lists[:1],
		err: &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{failed: errors.New("away")}},
	}
	after, err := discover(partial, before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1 pods", "scale/v2 scalers"}, names(after.preferred)); diff != "" {
		t.Error(diff)
	}
	if !after.groupFailed("scale") || after.groupFailed("") {
		t.Errorf("failed: %v", after.failed)
	}
	first, err := discover(partial, nil)
	if err != nil || !first.groupFailed("scale") || len(first.preferred) != 1 {
		t.Errorf("at the start: %v, %v", first, err)
	}
	for _, bad := range []*fakeDiscovery{{err: errors.New("refused")}, {}} {
		if got, err := discover(bad, before); err == nil {
			t.Errorf("no answer: %v", got)
		}
	}
}

// TestUnknownResultsStay: what could not be listed is what Settle keeps.
func TestUnknownResultsStay(t *testing.T) {
	t.Parallel()
	rest := &unknown{
		policyKinds:  map[string]bool{"Policy": true},
		subjectKinds: map[schema.GroupKind]bool{{Kind: "Secret"}: true},
		groups:       map[string]bool{"scale": true},
		known:        map[schema.GroupKind]bool{{Group: "scale", Kind: "Scaler"}: true},
	}
	for name, test := range map[string]struct {
		policyKind string
		subject    policy.Reference
		want       bool
	}{
		"known":                      {"ClusterPolicy", policy.Reference{APIVersion: "v1", Kind: "Pod"}, false},
		"policy not listed":          {"Policy", policy.Reference{APIVersion: "v1", Kind: "Pod"}, true},
		"subject not listed":         {"ClusterPolicy", policy.Reference{APIVersion: "v1", Kind: "Secret"}, true},
		"another group":              {"ClusterPolicy", policy.Reference{APIVersion: "a/v1", Kind: "Secret"}, false},
		"group that did not answer":  {"ClusterPolicy", policy.Reference{APIVersion: "scale/v1", Kind: "Other"}, true},
		"known before it failed":     {"ClusterPolicy", policy.Reference{APIVersion: "scale/v1", Kind: "Scaler"}, false},
		"version that can't be read": {"ClusterPolicy", policy.Reference{APIVersion: "a/b/c", Kind: "Pod"}, false},
	} {
		if got := rest.has(policy.Identity{Kind: test.policyKind, Name: "p"}, test.subject); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if rest.String() == "" || (&unknown{}).String() != "" {
		t.Errorf("%q, %q", rest, &unknown{})
	}
}

// TestShelfNoise: what says nothing to a policy is no change of it.
func TestShelfNoise(t *testing.T) {
	t.Parallel()
	changes := 0
	s := newShelves(func() { changes++ })[0]
	s.source = newSource(resource{}, nil, nil, func(error) {})
	object := func(rule, status, version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rule": rule}, "status": map[string]any{"ready": status}}}
		o.SetName("p")
		o.SetResourceVersion(version)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: version}})
		return o
	}
	for i, step := range []struct {
		object *unstructured.Unstructured
		want   int
	}{{object("a", "no", "1"), 1}, {object("a", "yes", "2"), 1}, {object("b", "yes", "3"), 2}} {
		if err := s.Update(step.object); err != nil || changes != step.want {
			t.Errorf("step %d: %d changes, %v", i, changes, err)
		}
	}
	kept := s.list()[0]
	if err := s.Replace([]any{object("b", "again", "4")}, ""); err != nil || changes != 2 || s.list()[0] != kept {
		t.Errorf("list of the same: %d changes, %v", changes, err)
	}
	if err := s.Replace(nil, ""); err != nil || changes != 3 || len(s.list()) != 0 {
		t.Errorf("empty list: %d changes, %v", changes, err)
	}
}

// TestEventsAreBounded: failures are gathered, and told once in a pause.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	var f failures
	start := time.Unix(1000, 0)
	const pause = time.Minute
	at := func(after time.Duration) int {
		count, _, _ := f.take(start.Add(after), pause)
		return count
	}
	for i := range 5 {
		f.add(policy.Reference{Name: string(rune('a' + i))}, start)
	}
	if n := at(time.Second); n != 0 {
		t.Errorf("%d at once", n)
	}
	if n := at(eventGather); n != 5 {
		t.Errorf("%d after the time to gather", n)
	}
	f.add(policy.Reference{Name: "z"}, start.Add(eventGather))
	if n := at(3 * eventGather); n != 0 {
		t.Errorf("%d before the pause is over", n)
	}
	if n := at(eventGather + pause); n != 1 {
		t.Errorf("%d after the pause", n)
	}
	if n := at(time.Hour); n != 0 {
		t.Errorf("%d without a failure", n)
	}
}

// TestConfigErrors: each field that is wrong is named.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Workers: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Client", "Discovery", "Compiler", "Results", "Workers"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is missing in %q", field, err)
		}
	}
}

// TestContextClock: what waits for time doesn't outlive the context.
func TestContextClock(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := contextClock{WithTicker: clock.RealClock{}, ctx: ctx}
	<-c.After(time.Millisecond)
	forever := c.After(1000 * time.Hour)
	select {
	case <-forever:
		t.Error("no time has passed")
	default:
	}
	cancel()
	<-forever
}

// TestSourceDecides: a refusal decides at once, passing trouble after a while, and silence after
// a longer one.
func TestSourceDecides(t *testing.T) {
	t.Parallel()
	gr := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		wait time.Duration
		want bool
	}{
		"at the start":        {nil, 0, false},
		"forbidden":           {apierrors.NewForbidden(gr, "", errors.New("no")), 0, true},
		"gone":                {apierrors.NewNotFound(gr, ""), 0, true},
		"refused connections": {syscall.ECONNREFUSED, patience - time.Second, false},
		"for long":            {syscall.ECONNREFUSED, patience, true},
		"silence":             {nil, patience, false},
		"silence for long":    {nil, patienceWithSilence, true},
		"expired list":        {apierrors.NewResourceExpired("old"), patience, false},
	} {
		fake, changes := clocktesting.NewFakeClock(time.Unix(1000, 0)), 0
		s := newSource(resource{}, nil, fake, func(error) { changes++ })
		s.since = fake.Now()
		s.note(t.Context(), operationList, test.err)
		fake.Step(test.wait)
		if got := s.decided(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		s.setListed()
		s.note(t.Context(), operationWatch, errors.New("away"))
		fake.Step(time.Hour)
		if listed, err := s.state(); !listed || err == nil || !s.decided() {
			t.Errorf("%s: a list is forgotten", name)
		}
	}
}
