// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestEtcdAway: while etcd, or Kine, is away /readyz says so, and an open watch goes on when it is back.
func TestEtcdAway(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for name, start := range etcdAPIs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := start(t)
			server := harness.Up(t, "--database", etcd.Database)
			client := dynamicClient(t, server).Resource(followedReports).Namespace("default")
			events := testkit.Must(client.Watch(t.Context(), metav1.ListOptions{}))(t)
			defer events.Stop()
			kubectl := server.Kubectl(t, "default")
			kubectl.RunInput(t, smallReport, "create", "-f", "-")
			wantEvent(t, events, watch.Added)

			etcd.Kill(t)
			waitUntil(t, "/readyz fails", func() bool {
				result := kubectl.Try(t, "", "get", "--raw", "/readyz?verbose")
				return result.Code != 0 && strings.Contains(result.Stderr, "[-]docket-store failed")
			})
			etcd.Start(t)
			waitUntil(t, "/readyz is good", func() bool { return kubectl.Try(t, "", "get", "--raw", "/readyz").Code == 0 })
			waitUntil(t, "the report is deleted", func() bool { return kubectl.Try(t, "", "delete", "polr", "first").Code == 0 })
			wantEvent(t, events, watch.Deleted)
		})
	}
}

// wantEvent waits for the next event of a watch.
func wantEvent(t *testing.T, events watch.Interface, want watch.EventType) {
	t.Helper()
	select {
	case event, open := <-events.ResultChan():
		if !open || event.Type != want {
			t.Fatalf("the watch got %s %v (open: %t), want %s", event.Type, describe(event.Object), open, want)
		}
	case <-time.After(etcdPatience):
		t.Fatalf("the watch did not get %s", want)
	}
}

// revision of etcd at which a report was written.
func revision(t *testing.T, object *unstructured.Unstructured) int64 {
	t.Helper()
	return testkit.Must(strconv.ParseInt(object.GetResourceVersion(), 10, 64))(t)
}

const (
	// compactionPatience is for three intervals, and not enough for Kine to do it by itself.
	compactionPatience = 4 * time.Minute
	// keptByKine revisions are never compacted unless --compact-min-retain says otherwise.
	keptByKine = 1000
	changes    = 100 // more than that
)

// TestEtcdHistory: the server lets etcd and Kine drop history, an open watch doesn't suffer, and a client with an
// older version is asked to list again. All of them wait for the same minutes.
func TestEtcdHistory(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	histories := map[string]*history{}
	for name, start := range etcdAPIs() {
		histories[name] = newHistory(t, start(t))
	}
	for name, h := range histories {
		t.Run(name, h.check)
	}
}

// history is a server with a report that was changed more often than Kine ever remembers.
type history struct {
	etcd    *harness.EtcdAPI
	server  *harness.Server
	old     *unstructured.Unstructured
	current *unstructured.Unstructured
	events  watch.Interface // after all changes
}

func newHistory(t *testing.T, etcd *harness.EtcdAPI) *history {
	t.Helper()
	h := &history{etcd: etcd, server: harness.Up(t, "--database", etcd.Database+"?compaction_interval=1m")}
	h.old = testkit.Must(h.client(t).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": followedReports.GroupVersion().String(), "kind": "PolicyReport", "metadata": map[string]any{"name": "first"},
	}}, metav1.CreateOptions{}))(t)
	h.current = h.old.DeepCopy()
	for turn := range keptByKine + changes {
		h.update(t, turn)
	}
	h.events = testkit.Must(h.client(t).Watch(t.Context(), metav1.ListOptions{ResourceVersion: h.current.GetResourceVersion()}))(t)
	t.Cleanup(h.events.Stop)
	return h
}

func (h *history) client(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	return dynamicClient(t, h.server).Resource(followedReports).Namespace("default")
}

func (h *history) update(t *testing.T, turn int) {
	t.Helper()
	h.current.SetLabels(map[string]string{"turn": strconv.Itoa(turn)})
	h.current = testkit.Must(h.client(t).Update(t.Context(), h.current, metav1.UpdateOptions{}))(t)
}

func (h *history) check(t *testing.T) {
	waitCompacted(t, h.etcd, revision(t, h.old))
	h.update(t, keptByKine+changes)
	wantEvent(t, h.events, watch.Modified)

	h.server.Stop(t)
	h.server.Start(t) // Its watch cache remembered more.
	now, err := h.client(t).Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || now.GetResourceVersion() != h.current.GetResourceVersion() {
		t.Fatalf("after the compaction: %v, %v, want version %s", now, err, h.current.GetResourceVersion())
	}
	late, err := h.client(t).Watch(t.Context(), metav1.ListOptions{ResourceVersion: h.old.GetResourceVersion()})
	if err == nil {
		defer late.Stop()
		event := <-late.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before: %v, want 410", err)
	}
}

// waitCompacted waits until a revision can't be read any more.
func waitCompacted(t *testing.T, etcd *harness.EtcdAPI, revision int64) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.URL()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	err = wait.PollUntilContextTimeout(t.Context(), time.Second, compactionPatience, true, func(ctx context.Context) (bool, error) {
		_, err := client.Get(ctx, "/docket/", clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithLimit(1))
		if errors.Is(err, rpctypes.ErrCompacted) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("revision %d is not compacted: %v", revision, err)
	}
}
