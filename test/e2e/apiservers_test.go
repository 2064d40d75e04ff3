// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// severalServers is a control plane with two kube-apiservers and two replicas of Docket, each of which asks one of
// them who may do what, and what quotas there are.
type severalServers struct {
	first, second *harness.Cluster
	// ways to the reports: through the kube-apiservers and, since these keep their connections to the first replica
	// that they have met, to the replicas themselves. Neighbours share only databases.
	ways []*rest.Config
}

// TestSeveralAPIServers: highly available control planes have several kube-apiservers on one etcd. It makes no
// difference which of them clients ask, nor which of them Docket asks.
func TestSeveralAPIServers(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	s := severalServers{first: harness.StartCluster(t)}
	s.second = s.first.AddAPIServer(t)
	database := testenv.Postgres(t).Database(t)
	one, other := s.first.Serve(t, "--database", database), s.second.Serve(t, "--database", database)
	s.first.Register(t, harness.NewBalancer(t, one, other).Port)
	s.second.WaitAvailable(t)
	s.ways = []*rest.Config{s.first.RESTConfig(t), s.second.RESTConfig(t), one.RESTConfig(), other.RESTConfig()}
	t.Run("watch", s.testWatch)
	t.Run("versions", s.testVersions)
	t.Run("quotas", s.testQuotas)
}

// reports returns the reports of a namespace by one of the ways, in turn.
func (s severalServers) reports(t *testing.T, way int, namespace string) reports {
	t.Helper()
	kind := testkit.Must(sample.KindOf("policyreports"))(t)
	return reportsAt(t, s.ways[way%len(s.ways)], kind, namespace)
}

// testWatch: what is written by one way is seen by the next, in a namespace that is new.
func (s severalServers) testWatch(t *testing.T) {
	for way := range s.ways {
		namespace := fmt.Sprintf("watched-%d", way)
		reader := s.reports(t, way+1, namespace)
		events := testkit.Must(reader.Watch(t.Context(), metav1.ListOptions{}))(t)
		defer events.Stop()
		s.first.EnsureNamespace(t, namespace)
		written := s.reports(t, way, namespace).create(t, "first")
		if err := reader.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete what was made by another way: %v", err)
		}
		for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
			select {
			case event := <-events.ResultChan():
				got, ok := event.Object.(metav1.Object)
				if !ok || event.Type != want || got.GetUID() != written.GetUID() {
					t.Fatalf("the watch got %s %v, want %s", event.Type, describe(event.Object), want)
				}
			case <-time.After(settleTimeout):
				t.Fatalf("the watch did not get %s", want)
			}
		}
	}
}

// testVersions: versions and tokens that came by one way mean the same by the next.
func (s severalServers) testVersions(t *testing.T) {
	s.first.EnsureNamespace(t, "versions")
	for i := range 5 {
		s.reports(t, i, "versions").create(t, fmt.Sprintf("report-%d", i))
	}
	for way := range s.ways {
		here, there := s.reports(t, way, "versions"), s.reports(t, way+1, "versions")
		page := testkit.Must(here.List(t.Context(), metav1.ListOptions{Limit: 3}))(t)
		rest, err := there.List(t.Context(), metav1.ListOptions{Limit: 3, Continue: page.GetContinue()})
		if err != nil || len(page.Items) != 3 || len(rest.Items) != 2 || rest.GetResourceVersion() != page.GetResourceVersion() {
			t.Errorf("pages by two ways: %v, then %v, %v", page, rest, err)
		}
		old, fresh := page.Items[0].DeepCopy(), page.Items[0].DeepCopy()
		fresh.SetLabels(map[string]string{"changed": fmt.Sprint(way)})
		if _, err := there.Update(t.Context(), fresh, metav1.UpdateOptions{}); err != nil {
			t.Errorf("update with a version of the other way: %v", err)
		}
		if _, err := here.Update(t.Context(), old, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("update with a version from before: got %v, want 409", err)
		}
	}
}

const (
	boundedNamespaces = 20
	allowedReports    = 3
)

// testQuotas: in many namespaces at once no more reports are made than their quotas allow, whichever way they come.
func (s severalServers) testQuotas(t *testing.T) {
	const counted = "count/policyreports.wgpolicyk8s.io"
	var group sync.WaitGroup
	for i := range boundedNamespaces {
		namespace := fmt.Sprintf("bounded-%d", i)
		s.first.EnsureNamespace(t, namespace)
		quotas := s.second.Client(t).CoreV1().ResourceQuotas(namespace)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "reports"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: *apiresource.NewQuantity(allowedReports, apiresource.DecimalSI)}},
		}
		testkit.Must(quotas.Create(t.Context(), quota, metav1.CreateOptions{}))(t)
		group.Go(func() {
			used := func(want int64) error {
				return wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, settleTimeout, true, func(ctx context.Context) (bool, error) {
					quota, err := quotas.Get(ctx, "reports", metav1.GetOptions{})
					if err != nil {
						return false, err
					}
					got, ok := quota.Status.Used[counted]
					return ok && got.Value() == want, nil
				})
			}
			if err := used(0); err != nil {
				t.Errorf("%s: the quota is not in force: %v", namespace, err)
				return
			}
			if made := s.createAtOnce(t, namespace); made != allowedReports {
				t.Errorf("%s: %d reports were made, want %d", namespace, made, allowedReports)
			}
			if err := used(allowedReports); err != nil {
				t.Errorf("%s: the quota does not count %d: %v", namespace, allowedReports, err)
			}
		})
	}
	group.Wait()
}

// createAtOnce makes four times as many reports as are allowed, by all ways, until each is made or refused, and returns
// how many were made.
func (s severalServers) createAtOnce(t *testing.T, namespace string) int64 {
	t.Helper()
	var made atomic.Int64
	var group sync.WaitGroup
	for i := range 4 * allowedReports {
		r := s.reports(t, i, namespace)
		group.Go(func() {
			err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, settleTimeout, true, func(ctx context.Context) (bool, error) {
				_, err := r.Create(ctx, r.object(fmt.Sprintf("report-%d", i)), metav1.CreateOptions{})
				if err == nil {
					made.Add(1)
				}
				// Many at once on one quota may be asked to come again.
				return err == nil || apierrors.IsForbidden(err), ignoreConflict(err)
			})
			if err != nil {
				t.Errorf("%s: report %d is neither made nor refused: %v", namespace, i, err)
			}
		})
	}
	group.Wait()
	return made.Load()
}

func ignoreConflict(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
