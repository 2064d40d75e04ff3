// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testenv"
)

const (
	writers   = 6
	watchers  = 3
	keys      = 10
	endMarker = "zz-end"
)

var policyReports = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}

// kills is how often something is killed under load.
func kills() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// TestKillServer kills the only server of a database under load.
func TestKillServer(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "")
		run(t, []*server{s}, kills(), func(*rand.Rand) { s.kill(); s.start() })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, testenv.Postgres(t).Database(t))
		run(t, []*server{s}, kills(), func(*rand.Rand) { s.kill(); s.start() })
	})
}

// TestKillReplicas kills either of two servers on one PostgreSQL; clients
// write to one and watch the other.
func TestKillReplicas(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	servers := []*server{newServer(t, url), newServer(t, url)}
	run(t, servers, kills(), func(r *rand.Rand) {
		s := servers[r.IntN(len(servers))]
		s.kill()
		s.start()
	})
}

// TestKillPostgres kills the database server; the API server stays up and
// comes back to it.
func TestKillPostgres(t *testing.T) {
	t.Parallel()
	database := testenv.NewPostgres(t)
	s := newServer(t, database.Database(t))
	run(t, []*server{s}, kills(), func(*rand.Rand) { database.Kill(t); database.Start(t) })
}

// load writes through servers and watches them, and remembers the
// answers.
type load struct {
	t       *testing.T
	servers []*server

	mu    sync.Mutex
	acked map[string]string // resource version → name
}

// run drives servers while disturb is called a number of times, and checks then.
func run(t *testing.T, servers []*server, times int, disturb func(*rand.Rand)) {
	t.Helper()
	l := &load{t: t, servers: servers, acked: map[string]string{}}
	r := rand.New(rand.NewPCG(1, 0))
	begin := l.create(t.Context(), servers[0], "begin").GetResourceVersion()

	writeCtx, stopWriting := context.WithCancel(t.Context())
	defer stopWriting()
	watchCtx, stopWatching := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stopWatching()
	var writing, watching sync.WaitGroup
	for i := range writers {
		writing.Go(func() { l.write(writeCtx, i) })
	}
	seen := make([][]event, watchers)
	for i := range watchers {
		watching.Go(func() { seen[i] = l.watch(watchCtx, i, begin) })
	}
	for range times {
		sleep(writeCtx, r, 800*time.Millisecond)
		disturb(r)
	}
	stopWriting()
	writing.Wait()
	l.create(t.Context(), servers[0], endMarker)
	watching.Wait()
	// What a new watch of all history shows is what there is.
	history := l.watch(watchCtx, watchers, begin)
	l.check(history, seen)
}

func report(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"summary": map[string]any{"pass": int64(1)},
		"results": []any{map[string]any{"policy": "p", "rule": "r", "result": "pass", "message": "fine"}},
	}}
	object.SetAPIVersion(policyReports.GroupVersion().String())
	object.SetKind("PolicyReport")
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

// create writes a report, again and again until the server takes it.
func (l *load) create(ctx context.Context, s *server, name string) *unstructured.Unstructured {
	l.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		created, err := s.client.Resource(policyReports).Namespace("default").Create(ctx, report(name), metav1.CreateOptions{})
		if err == nil {
			return created
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("create %s: %v", name, err)
		}
	}
}

// write changes the reports of one writer until ctx ends. A change that was
// begun is waited for: its answer counts.
func (l *load) write(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(2, uint64(number)))
	for ctx.Err() == nil {
		client := l.client(r).Namespace("default")
		name := fmt.Sprintf("writer%d-%d", number, r.IntN(keys))
		opCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		var written *unstructured.Unstructured
		var err error
		switch r.IntN(5) {
		case 0, 1:
			written, err = client.Create(opCtx, report(name), metav1.CreateOptions{})
		case 2:
			// The answer to a delete doesn't tell its resource version.
			_ = client.Delete(opCtx, name, metav1.DeleteOptions{})
		default:
			if written, err = client.Get(opCtx, name, metav1.GetOptions{}); err == nil {
				written.SetLabels(map[string]string{"n": fmt.Sprint(r.Uint64())})
				written, err = client.Update(opCtx, written, metav1.UpdateOptions{})
			}
		}
		cancel()
		if err != nil || written == nil {
			sleep(ctx, r, 20*time.Millisecond)
			continue
		}
		l.mu.Lock()
		l.acked[written.GetResourceVersion()] = name
		l.mu.Unlock()
	}
}

func (l *load) client(r *rand.Rand) dynamic.NamespaceableResourceInterface {
	return l.servers[r.IntN(len(l.servers))].client.Resource(policyReports)
}

type event struct {
	Type            watch.EventType
	Name            string
	ResourceVersion string
}

// watch returns the events after a resource version up to the end marker,
// over as many connections as it takes.
func (l *load) watch(ctx context.Context, number int, from string) []event {
	r := rand.New(rand.NewPCG(3, uint64(number)))
	var seen []event
	for ctx.Err() == nil {
		stream, err := l.client(r).Watch(ctx, metav1.ListOptions{ResourceVersion: from, AllowWatchBookmarks: true})
		if err != nil {
			sleep(ctx, r, 50*time.Millisecond)
			continue
		}
		for e := range stream.ResultChan() {
			object, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == watch.Error {
				if status, ok := e.Object.(*metav1.Status); ok && status.Reason == metav1.StatusReasonExpired {
					l.t.Errorf("watcher %d: history is gone: %s", number, status.Message)
					stream.Stop()
					return seen
				}
				break
			}
			from = object.GetResourceVersion()
			if e.Type == watch.Bookmark {
				continue
			}
			if object.GetName() == endMarker {
				stream.Stop()
				return seen
			}
			seen = append(seen, event{e.Type, object.GetName(), from})
		}
		stream.Stop()
	}
	l.t.Errorf("watcher %d never saw the end; its last resource version is %s", number, from)
	return seen
}

func (l *load) check(history []event, seen [][]event) {
	l.t.Helper()
	byVersion := map[string]string{}
	for _, e := range history {
		byVersion[e.ResourceVersion] = e.Name
	}
	for version, name := range l.acked {
		if byVersion[version] != name {
			l.t.Errorf("S2: the acknowledged write of %s at %s is not in history (there is %q)", name, version, byVersion[version])
		}
	}
	for i := range seen {
		if diff := cmp.Diff(history, seen[i]); diff != "" {
			l.t.Errorf("S3: watcher %d (-history +seen):\n%s", i, diff)
		}
	}
	l.t.Logf("%d writes acknowledged, %d events", len(l.acked), len(history))
}
