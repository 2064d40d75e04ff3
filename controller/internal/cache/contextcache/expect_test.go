// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// eventually waits until check returns nil.
func eventually(tb testing.TB, check func() error) {
	tb.Helper()
	testkit.Succeeds(tb, "there is no complaint", check)
}

// query asks with the time that an admission request may have on a slow machine.
func query(tb testing.TB, from policy.Entries, q policy.Query) (any, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	return from.Query(ctx, q)
}

// gets waits for a result.
func gets(tb testing.TB, from policy.Entries, q policy.Query, want any) {
	tb.Helper()
	eventually(tb, func() error {
		got, err := query(tb, from, q)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%+v: -want +got:\n%s", q, diff)
		}
		return nil
	})
}

// refuses waits for an error that has all words.
func refuses(tb testing.TB, from policy.Entries, q policy.Query, words ...string) {
	tb.Helper()
	eventually(tb, func() error {
		got, err := query(tb, from, q)
		if err == nil {
			return fmt.Errorf("%+v: no error but %v", q, got)
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				return fmt.Errorf("%q is not in: %w", word, err)
			}
		}
		return nil
	})
}

// shows waits until the condition Ready of an entry has a reason, and returns its status.
func (w *world) shows(tb testing.TB, gvr schema.GroupVersionResource, id policy.Entry, reason string, words ...string) *contextcache.Status {
	tb.Helper()
	result := &contextcache.Status{}
	eventually(tb, func() error {
		object, err := w.at(gvr, "").Get(tb.Context(), id.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		fields, _, err := unstructured.NestedMap(object.Object, "status")
		if err != nil {
			return err
		}
		status := &contextcache.Status{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, status); err != nil {
			return err
		}
		for _, c := range status.Conditions {
			if c.Type != contextcache.ConditionReady {
				continue
			}
			want := metav1.ConditionFalse
			if reason == contextcache.ReasonLoaded {
				want = metav1.ConditionTrue
			}
			for _, word := range words {
				if !strings.Contains(c.Message, word) {
					return fmt.Errorf("%q is not in the message of %+v", word, c)
				}
			}
			if c.Reason == reason && c.Status == want && c.ObservedGeneration == object.GetGeneration() {
				result = status
				return nil
			}
		}
		return fmt.Errorf("%s: want the reason %s, have the status %v", id.Name, reason, fields)
	})
	return result
}

// metric returns the sum of the samples of a metric of the world's caches whose labels have these values.
func (w *world) metric(tb testing.TB, name string, labels ...string) float64 {
	tb.Helper()
	families := testkit.Must(w.registry.Gather())(tb)
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "docket_controller_context_cache_"+name {
			continue
		}
		for _, sample := range family.GetMetric() {
			values := map[string]bool{}
			for _, label := range sample.GetLabel() {
				values[label.GetValue()] = true
			}
			matches := true
			for _, label := range labels {
				matches = matches && values[label]
			}
			if matches {
				sum += sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// grows waits until a metric of the world's caches is more than it was.
func (w *world) grows(tb testing.TB, before float64, name string, labels ...string) {
	tb.Helper()
	eventually(tb, func() error {
		if now := w.metric(tb, name, labels...); now <= before {
			return fmt.Errorf("%s%v: %v, and was %v before", name, labels, now, before)
		}
		return nil
	})
}

func isReady(tb testing.TB, cache *contextcache.Cache) {
	tb.Helper()
	eventually(tb, cache.Ready)
}
