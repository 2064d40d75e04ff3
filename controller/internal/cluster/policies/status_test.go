// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

// maintain runs MaintainStatus until the returned function is called.
func (r *running) maintain(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.MaintainStatus(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// status waits until a field of a policy's status has a value.
func (a *api) status(t *testing.T, gvr schema.GroupVersionResource, name, want string) {
	t.Helper()
	testkit.Settles(t, func() string {
		object, err := a.client.Resource(gvr).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		ready, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditionStatus", "ready")
		var got string
		for _, condition := range conditionsIn(object, conditionsPath(gvr.Group)) {
			got += fmt.Sprintf("%s %s %s %s %v", condition.Type, condition.Status, condition.Reason, condition.Message, ready)
		}
		if got != want {
			return fmt.Sprintf("status %q, want %q", got, want)
		}
		return ""
	})
}

// TestStatus: each policy says whether it is evaluated, and why not. A leader that starts repeats no writes; failed
// ones are retried.
func TestStatus(t *testing.T) {
	t.Parallel()
	a := newAPI(clusterPolicies, validatingPolicies)
	var patches atomic.Int64
	var refuse atomic.Bool
	refuse.Store(true)
	a.client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" {
			t.Errorf("patches %q", action.GetSubresource())
		}
		if refuse.Load() {
			return true, nil, errors.New("refused")
		}
		patches.Add(1)
		return false, nil, nil
	})
	a.write(t, clusterPolicies, "good", rule("1"))
	a.write(t, clusterPolicies, "bad", map[string]any{"problem": "no rule"})
	a.write(t, validatingPolicies, "cel", rule("1"))
	r := a.run(t)
	r.want(t, "ClusterPolicy/bad map[problem:no rule]", "ClusterPolicy/good map[rule:1]", "ValidatingPolicy/cel map[rule:1]")
	end := r.maintain(t)
	refuse.Store(false)
	a.write(t, clusterPolicies, "late", rule("1")) // A change is another reason to look.
	for _, name := range []string{"good", "late"} {
		a.status(t, clusterPolicies, name, "Ready True Succeeded Ready <nil>")
	}
	a.status(t, clusterPolicies, "bad", "Ready False Failed no rule <nil>")
	a.status(t, validatingPolicies, "cel", "Ready True Succeeded Ready true")
	a.write(t, validatingPolicies, "cel", map[string]any{"problem": "no type"})
	a.status(t, validatingPolicies, "cel", "Ready False Failed no type false")
	end()
	before := patches.Load()
	end = r.maintain(t)
	a.write(t, clusterPolicies, "last", rule("1"))
	a.status(t, clusterPolicies, "last", "Ready True Succeeded Ready <nil>")
	end()
	if got := patches.Load() - before; got != 1 {
		t.Errorf("the next leader has written %d times, want once", got)
	}
}
