// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestMain registers the metrics, which don't count before.
func TestMain(m *testing.M) {
	RegisterMetrics()
	m.Run()
}

// api is the part of an API with EphemeralReports. It may refuse requests.
type api struct {
	*fake.FakeDynamicClient

	mu     sync.Mutex
	refuse func(clienttesting.Action) error
}

func newAPI() *api {
	a := &api{FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resourceOf(true): "EphemeralReportList", resourceOf(false): "ClusterEphemeralReportList",
	})}
	a.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.refuse != nil {
			if err := a.refuse(action); err != nil {
				return true, nil, err
			}
		}
		if create, ok := action.(clienttesting.CreateAction); ok && action.GetVerb() == "create" {
			object := create.GetObject().(*unstructured.Unstructured)
			if object.GetUID() == "" {
				object.SetUID(types.UID("report-" + object.GetName()))
			}
		}
		return false, nil, nil
	})
	return a
}

func (a *api) set(refuse func(clienttesting.Action) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse = refuse
}

// reports returns what there is: of each report, namespace, subject and policies.
func (a *api) reports(tb testing.TB) []string {
	tb.Helper()
	var found []string
	for _, namespaced := range []bool{false, true} {
		list := testkit.Must(a.Resource(resourceOf(namespaced)).List(context.WithoutCancel(tb.Context()), metav1.ListOptions{}))(tb)
		for i := range list.Items {
			items, err := decode(&list.Items[i], start)
			if err != nil {
				found = append(found, "malformed "+list.Items[i].GetName())
				continue
			}
			var names []string
			for _, item := range items {
				names = append(names, item.Policy.Name+fmt.Sprint(len(item.Results)))
			}
			found = append(found, items[0].Subject.Namespace+"/"+items[0].Subject.Name+" "+strings.Join(names, ","))
		}
	}
	slices.Sort(found)
	return found
}

// sender returns one that runs until what is returned, or the end of the test, ends it.
func (a *api) sender(t *testing.T, capacity int) (*Sender, func()) {
	t.Helper()
	s := NewSender(SenderConfig{Client: a, Capacity: capacity})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// TestSend: what is said about a subject at about the same time is one report, and what is said last
// by a policy counts.
func TestSend(t *testing.T) {
	t.Parallel()
	a := newAPI()
	s, _ := a.sender(t, 0)
	later := item("a", "default", "x", fails("r"), fails("s"))
	later.Time = start.Add(time.Second)
	s.Send([]Item{item("a", "default", "x"), item("b", "default", "x", fails("r"))})
	s.Send([]Item{later})
	s.Send([]Item{item("a", "default", "x", fails("r"))}) // It was overtaken.
	s.Send([]Item{item("a", "", "y")})
	s.Send(nil)
	testkit.Eventually(t, "all is written", func() bool { return len(a.reports(t)) == 2 })
	if got := a.reports(t); got[0] != "/y a0" || got[1] != "default/x a2,b1" {
		t.Errorf("written is %q", got)
	}
}

// TestWhatCanNotBeWritten is dropped for one reason or another, and never stops the rest.
func TestWhatCanNotBeWritten(t *testing.T) { // It reads metrics that others count.
	namespaces := schema.GroupResource{Resource: "namespaces"}
	kind := schema.GroupKind{Group: "reports.kyverno.io", Kind: "EphemeralReport"}
	terminating := apierrors.NewForbidden(resourceOf(true).GroupResource(), "x", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err    error
		reason string
	}{
		"gone":        {apierrors.NewNotFound(namespaces, "bad"), dropNamespace},
		"terminating": {terminating, dropNamespace},
		"not served":  {apierrors.NewGenericServerResponse(404, "create", resourceOf(true).GroupResource(), "", "", 0, true), dropNotServed},
		"invalid":     {apierrors.NewInvalid(kind, "x", nil), dropRefused},
		"too large":   {apierrors.NewRequestEntityTooLargeError("no"), dropRefused},
	} {
		a := newAPI()
		a.set(func(action clienttesting.Action) error {
			if action.GetVerb() == "create" && action.GetNamespace() == "bad" {
				return test.err
			}
			return nil
		})
		before := count(t, dropped.WithLabelValues(test.reason))
		s, stop := a.sender(t, 0)
		s.Send([]Item{item("a", "bad", "x")})
		s.Send([]Item{item("a", "default", "y")})
		testkit.Eventually(t, "the other one is written", func() bool { return len(a.reports(t)) == 1 })
		stop()
		if got := count(t, dropped.WithLabelValues(test.reason)) - before; got != 1 {
			t.Errorf("%s: %v are dropped", name, got)
		}
	}
}

func count(t *testing.T, metric metrics.CounterMetric) float64 {
	t.Helper()
	return testkit.Must(testutil.GetCounterMetricValue(metric))(t)
}

// TestOutage: everything waits, up to a bound, and is written later.
func TestOutage(t *testing.T) { // It reads metrics that others count.
	a := newAPI()
	tried := make(chan struct{}, 1)
	a.set(func(action clienttesting.Action) error {
		if action.GetVerb() != "create" {
			return nil
		}
		select {
		case tried <- struct{}{}:
		default:
		}
		return apierrors.NewServiceUnavailable("away")
	})
	before := count(t, dropped.WithLabelValues(dropOverflow))
	s, _ := a.sender(t, 10)
	for i := range 30 {
		s.Send([]Item{item("a", "default", fmt.Sprintf("x%02d", i))})
	}
	<-tried
	s.Send([]Item{item("b", "default", "x29")})
	testkit.Eventually(t, "it was tried twice", func() bool {
		select {
		case <-tried:
			return true
		default:
			return false
		}
	})
	a.set(nil)
	testkit.Eventually(t, "what is left is written", func() bool { return len(a.reports(t)) == 10 })
	got := a.reports(t)
	if got[0] != "default/x20 a0" || got[9] != "default/x29 a0,b0" {
		t.Errorf("written is %q", got)
	}
	if got := count(t, dropped.WithLabelValues(dropOverflow)) - before; got != 20 {
		t.Errorf("%v are dropped", got)
	}
}

// TestEndOfSender: the queue is written at the end; later results, and those that can't be written then, are
// dropped.
func TestEndOfSender(t *testing.T) { // It reads metrics that others count.
	synctest.Test(t, testEndOfSender)
}

func testEndOfSender(t *testing.T) {
	a := newAPI()
	s, stop := a.sender(t, 0)
	for i := range 100 {
		s.Send([]Item{item("a", "default", fmt.Sprint(i))})
	}
	stop()
	if got := len(a.reports(t)); got != 100 {
		t.Errorf("%d of 100 are written", got)
	}
	before := count(t, dropped.WithLabelValues(dropShutdown))
	s.Send([]Item{item("a", "default", "late")})
	a = newAPI()
	a.set(func(action clienttesting.Action) error {
		if action.GetVerb() == "create" {
			return apierrors.NewServiceUnavailable("away")
		}
		return nil
	})
	s, stop = a.sender(t, 0)
	s.Send([]Item{item("a", "default", "x")})
	begin := time.Now()
	stop()
	if took := time.Since(begin); took > lastSend {
		t.Errorf("the end took %v", took)
	}
	if got := count(t, dropped.WithLabelValues(dropShutdown)) - before; got != 2 {
		t.Errorf("%v are dropped", got)
	}
}

// TestQueueIsBoundedInBytes whatever policies have to say.
func TestQueueIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	q := newQueue(1000, 100_000)
	big := fails("r")
	big.Message = strings.Repeat("x", 10_000)
	for i := range 100 {
		q.put([]Item{item("a", "default", fmt.Sprint(i), big)}, start)
	}
	if q.bytes > 100_000 || q.order.Len() < 8 || q.order.Len() > 10 {
		t.Errorf("%d subjects of %d bytes", q.order.Len(), q.bytes)
	}
	if w := q.take(); w.subject == "uid-of-0" {
		t.Error("the oldest is kept")
	}
	for q.take() != nil {
	}
	if q.bytes != 0 || len(q.elements) != 0 {
		t.Errorf("an empty queue has %d bytes and %d elements", q.bytes, len(q.elements))
	}
}
