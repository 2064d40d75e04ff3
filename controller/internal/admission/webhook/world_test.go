// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

// controlPlane is the one control plane of all tests, which use names of their own.
var controlPlane = &uptest.Server{}

func TestMain(m *testing.M) {
	RegisterMetrics()
	os.Exit(uptest.Run(m, controlPlane))
}

// clusterConfig returns the way to the control plane.
func clusterConfig(tb testing.TB) *rest.Config {
	tb.Helper()
	config := testkit.Must(controlPlane.Config(nil))(tb)
	return rest.CopyConfig(config)
}

// cluster returns a client of the control plane.
func cluster(tb testing.TB) kubernetes.Interface {
	tb.Helper()
	return testkit.Must(kubernetes.NewForConfig(clusterConfig(tb)))(tb)
}

// eventually waits until check has no complaint.
func eventually(tb testing.TB, check func() error) {
	tb.Helper()
	testkit.Succeeds(tb, "there is no complaint", check)
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
func (p fakePolicy) Reported() bool              { return true }
func (p fakePolicy) Admission() policy.Admission { return p.admission }
func (p fakePolicy) Targets() []policy.Target    { return p.targets }

// enforcing is a policy that denies.
func enforcing(closed bool, targets ...policy.Target) fakePolicy {
	return fakePolicy{
		identity: policy.Identity{Kind: policy.ClusterPolicy, Name: "enforcing"}, background: true, targets: targets,
		admission: policy.Admission{Enabled: true, Enforces: true, Closed: closed, Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update}},
	}
}
