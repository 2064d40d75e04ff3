// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

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

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/home"
	"github.com/docket-project/docket/internal/standalone"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = time.Minute

// controlPlane is the one control plane of all tests, which use names of their own.
var controlPlane = &plane{}

type plane struct {
	once   sync.Once
	client kubernetes.Interface
	config *rest.Config
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
	if controlPlane.stop != nil {
		if err := controlPlane.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "docket up:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// cluster returns a client of the control plane.
func cluster(tb testing.TB) kubernetes.Interface {
	tb.Helper()
	controlPlane.once.Do(func() { controlPlane.client, controlPlane.err = controlPlane.start() })
	if controlPlane.err != nil {
		tb.Fatal(controlPlane.err)
	}
	return controlPlane.client
}

// output waits for the line that says that the server is ready.
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

func (s *plane) start() (kubernetes.Interface, error) {
	options, err := standalone.NewOptions()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "docket-webhook-test-")
	if err != nil {
		return nil, err
	}
	options.Dir, options.Listen = filepath.Join(dir, "state"), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := &output{ready: make(chan struct{})}, make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	s.stop = func() error {
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
	s.config = config
	return kubernetes.NewForConfig(config)
}

// eventually waits until check has no complaint.
func eventually(tb testing.TB, check func() error) {
	tb.Helper()
	var last error
	err := wait.PollUntilContextTimeout(tb.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("after %v: %v", patience, last)
	}
}

// background runs f until the test ends, or until the returned function is called, which returns
// what f does.
func background(t *testing.T, f func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}

// fakePolicy is a policy that does nothing.
type fakePolicy struct {
	policy.Policy
	identity   policy.Identity
	background bool
	admission  policy.Admission
	targets    []policy.Target
}

func (p fakePolicy) Identity() policy.Identity   { return p.identity }
func (p fakePolicy) Background() bool            { return p.background }
func (p fakePolicy) Admission() policy.Admission { return p.admission }
func (p fakePolicy) Targets() []policy.Target    { return p.targets }

// enforcing is a policy that denies.
func enforcing(closed bool, targets ...policy.Target) fakePolicy {
	return fakePolicy{
		identity: policy.Identity{Kind: policy.ClusterPolicy, Name: "enforcing"}, background: true, targets: targets,
		admission: policy.Admission{Enabled: true, Enforces: true, Closed: closed, Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update}},
	}
}
