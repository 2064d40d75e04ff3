// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/home"
	"github.com/docket-project/docket/internal/standalone"
)

// shared is the one control plane of all tests: each has namespaces of its own names.
//
//nolint:gochecknoglobals // TestMain ends it.
var shared = &controlPlane{}

type controlPlane struct {
	once   sync.Once
	client dynamic.Interface
	err    error
	stop   func() error
}

// TestMain ends the control plane if a test has started it.
func TestMain(m *testing.M) {
	quiet := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(quiet)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := quiet.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
	RegisterMetrics()
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "docket up:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// realAPI returns a client of the control plane.
func realAPI(tb testing.TB) dynamic.Interface {
	tb.Helper()
	shared.once.Do(func() { shared.client, shared.err = shared.start() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.client
}

// output waits for the line that says that the control plane is ready.
type output struct {
	once  sync.Once
	ready chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "Docket is ready at") {
		o.once.Do(func() { close(o.ready) })
	}
	return len(p), nil
}

func (c *controlPlane) start() (dynamic.Interface, error) {
	options, err := standalone.NewOptions()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "docket-admission-test-")
	if err != nil {
		return nil, err
	}
	options.Dir, options.Listen = filepath.Join(dir, "state"), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := &output{ready: make(chan struct{})}, make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	c.stop = func() error {
		cancel()
		return errors.Join(<-ended, os.RemoveAll(dir))
	}
	select {
	case <-out.ready:
	case err := <-ended:
		ended <- err
		return nil, fmt.Errorf("docket up ended: %w", err)
	case <-time.After(patience):
		return nil, fmt.Errorf("docket up is not ready after %v", patience)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(options.Dir, home.KubeconfigFile))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return dynamic.NewForConfig(config)
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
	eventually(t, "the server is ready", func() bool { return c.Ready() == nil })
	return c
}

func (c *connected) create(t *testing.T, resource schema.GroupVersionResource, fields map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: fields}
	at := dynamic.ResourceInterface(c.api.Resource(resource))
	if object.GetNamespace() != "" {
		at = c.api.Resource(resource).Namespace(object.GetNamespace())
	}
	if _, err := at.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *connected) namespace(t *testing.T, name string, labels map[string]any) {
	t.Helper()
	c.create(t, namespaceResource.GroupVersionResource, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels},
	})
}
