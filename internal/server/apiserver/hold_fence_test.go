// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/storetest"
)

// TestHoldBindsReplicasThatDoNotKnowIt: the database refuses what a replica writes that did not hear of a hold, or
// let a request in before it. Guarantee M2.
func TestHoldBindsReplicasThatDoNotKnowIt(t *testing.T) {
	t.Parallel()
	reports := storetest.Start(t, store.Options{Engine: enginetest.NewModel(clock.RealClock{}.Now)})
	early, late := newHolds(reports, nil, registry.Groups), newHolds(reports, nil, registry.Groups)
	group := registry.Groups()[0]
	resource := reports.Resource(store.ResourceConfig{
		GroupResource: schema.GroupResource{Group: group, Resource: "policyreports"}, Prefix: "/" + group + "/policyreports",
		Codec:       unstructured.UnstructuredJSONScheme,
		NewFunc:     func() runtime.Object { return &unstructured.Unstructured{} },
		NewListFunc: func() runtime.Object { return &unstructured.UnstructuredList{} },
	})
	learn := func() {
		t.Helper()
		testkit.Must(late.load(t.Context()))(t)
	}
	// admit lets a request in at the late replica.
	admit := func() *http.Request {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		guarded, free := late.guard(request, group)
		if !free {
			t.Fatal("the request has to wait")
		}
		return guarded
	}
	write := func(request *http.Request, name string) error {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "PolicyReport"}}
		object.SetName(name)
		return resource.Create(request.Context(), "/"+group+"/policyreports/ns/"+name, object, &unstructured.Unstructured{}, 0)
	}
	hold := func(hold imports.Hold) {
		t.Helper()
		testkit.NoError(t, early.set(t.Context(), imports.HoldRequest{Groups: []string{group}, Hold: hold}))
	}
	learn()
	underWay := admit()
	testkit.NoError(t, write(underWay, "before"))
	hold(imports.HoldWait)
	for name, request := range map[string]*http.Request{"under-way": underWay, "later": admit()} {
		if err := write(request, name); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: %v, want 503", name, err)
		}
	}
	imported := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	if err := write(imported, "imported"); err != nil {
		t.Errorf("what the migration itself writes: %v", err)
	}
	hold(imports.NoHold)
	learn()
	if err := write(admit(), "after"); err != nil {
		t.Errorf("after the hold: %v", err)
	}
}
