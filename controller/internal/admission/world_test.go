// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"os"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// shared is the one control plane of all tests: each has namespaces of its own names.
//
// TestMain ends it.
var shared = &uptest.Server{}

func TestMain(m *testing.M) { os.Exit(uptest.Run(m, shared)) }

// realAPI returns a client of the control plane.
func realAPI(tb testing.TB) dynamic.Interface {
	tb.Helper()
	config := testkit.Must(shared.Config(nil))(tb)
	return testkit.Must(dynamic.NewForConfig(config))(tb)
}

// connected is a server with the real API.
type connected struct {
	*unit
	api  dynamic.Interface
	stop func()
}

// newConnected runs a server until the test ends.
func newConnected(t *testing.T, policies ...policy.Policy) *connected {
	t.Helper()
	c := &connected{api: realAPI(t), unit: &unit{policies: &set{}}}
	c.policies.put(policies...)
	c.Server = newServer(t, c.api, c.policies, nil)
	c.handler = c.Handler()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(c.stop)
	testkit.Eventually(t, "the server is ready", func() bool { return c.Ready() == nil })
	return c
}

func (c *connected) create(t *testing.T, resource schema.GroupVersionResource, fields map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: fields}
	at := dynamic.ResourceInterface(c.api.Resource(resource))
	if object.GetNamespace() != "" {
		at = c.api.Resource(resource).Namespace(object.GetNamespace())
	}
	testkit.Must(at.Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

func (c *connected) namespace(t *testing.T, name string, labels map[string]any) {
	t.Helper()
	c.create(t, namespaceResource.GroupVersionResource, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels},
	})
}
