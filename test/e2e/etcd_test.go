// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// etcdAPIs are the programs with the API of etcd, by name. Each call starts one with
// nothing in it.
func etcdAPIs() map[string]func(testing.TB) *harness.EtcdAPI {
	return map[string]func(testing.TB) *harness.EtcdAPI{
		"etcd": harness.StartEtcd,
		"kine on sqlite": func(t testing.TB) *harness.EtcdAPI {
			return harness.StartKine(t, "sqlite://"+filepath.Join(t.TempDir(), "kine.db")+"?_journal=WAL&_busy_timeout=30000&_txlock=immediate")
		},
		"kine on postgres": func(t testing.TB) *harness.EtcdAPI {
			return harness.StartKine(t, testenv.Postgres(t).Database(t))
		},
	}
}

// TestEtcdWithKubectl does what people do with kubectl, to a kind with namespaces and
// to one without; in make test to the first.
func TestEtcdWithKubectl(t *testing.T) {
	t.Parallel()
	for name, start := range etcdAPIs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := harness.Up(t, "--database", start(t).Database)
			for _, kind := range sample.Kinds()[:2] {
				t.Run(kind.Kind, func(t *testing.T) {
					if !kind.Namespaced {
						testkit.Full(t)
					}
					testKind(t, server, kind)
				})
			}
		})
	}
}

const (
	// acknowledgedWrites are as many before, while and after etcd is killed.
	acknowledgedWrites = 100
	etcdPatience       = 2 * time.Minute
)

// TestEtcdKilled kills etcd, or Kine, while reports are written through one replica
// and an informer follows on another. What was acknowledged is there afterwards, for
// both, and after a restart of the replica.
func TestEtcdKilled(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for name, start := range etcdAPIs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := start(t)
			writer := harness.Up(t, "--database", etcd.Database)
			watcher := harness.Up(t, "--database", etcd.Database)
			informer := startInformer(t, watcher)

			acknowledged := mustCreateReports(t, writer, "before")
			type outcome struct {
				names []string
				err   error
			}
			during := make(chan outcome, 1)
			client, flowing := dynamicClient(t, writer), make(chan struct{})
			begun := sync.OnceFunc(func() { close(flowing) })
			go func() {
				defer begun()
				names, err := createReports(t.Context(), client, "during", begun)
				during <- outcome{names, err}
			}()
			<-flowing
			etcd.Kill(t)
			etcd.Start(t)
			through := <-during
			if through.err != nil {
				t.Fatal(through.err)
			}
			acknowledged = append(acknowledged, through.names...)
			acknowledged = append(acknowledged, mustCreateReports(t, writer, "after")...)

			writer.Stop(t)
			writer.Start(t)
			stored := listReports(t, writer)
			if lost := missing(acknowledged, stored); len(lost) > 0 {
				t.Errorf("%d reports were acknowledged and are lost: %v", len(lost), lost)
			}
			var seen []string
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, etcdPatience, true, func(context.Context) (bool, error) {
				seen = seen[:0]
				for _, key := range informer.ListKeys() {
					_, report, _ := strings.Cut(key, "/")
					seen = append(seen, report)
				}
				sort.Strings(seen)
				return cmp.Equal(stored, seen), nil
			})
			if err != nil {
				t.Errorf("the informer on the other replica: %v (-stored +seen):\n%s", err, cmp.Diff(stored, seen))
			}
		})
	}
}

// TestKineDatabaseAway: Kine runs and its database does not. Clients are asked to
// retry, and get the reports that they wrote when it is back.
func TestKineDatabaseAway(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	database := testenv.NewPostgres(t)
	server := harness.Up(t, "--database", harness.StartKine(t, database.Database(t)).Database)
	acknowledged := mustCreateReports(t, server, "before")
	config := clientConfig(t, server)
	client := testkit.Must(rest.HTTPClientFor(config))(t)
	defer client.CloseIdleConnections()

	database.Kill(t)
	const path = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/default/policyreports"
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, path + "/" + acknowledged[0]},
		{http.MethodGet, path + "/missing"},
		{http.MethodGet, path},
		{http.MethodDelete, path + "/" + acknowledged[0]},
	} {
		request := testkit.Must(http.NewRequestWithContext(t.Context(), r.method, config.Host+r.path, http.NoBody))(t)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s without a database: %s, want 503 with Retry-After", r.method, r.path, answer.Status)
		}
	}

	database.Start(t)
	mustCreateReports(t, server, "after")
	if lost := missing(acknowledged, listReports(t, server)); len(lost) > 0 {
		t.Errorf("%d reports were acknowledged and are lost: %v", len(lost), lost)
	}
}

var followedReports = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}

func clientConfig(t testing.TB, server *harness.Server) *rest.Config {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", server.Kubeconfig()))(t)
	config.QPS = -1
	return config
}

func dynamicClient(t testing.TB, server *harness.Server) dynamic.Interface {
	t.Helper()
	return testkit.Must(dynamic.NewForConfig(clientConfig(t, server)))(t)
}

// startInformer returns the store of an informer that has synced. It ends with the
// test.
func startInformer(t testing.TB, server *harness.Server) cache.Store {
	t.Helper()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient(t, server), 0)
	informer := factory.ForResource(followedReports).Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	return informer.GetStore()
}

func mustCreateReports(t testing.TB, server *harness.Server, prefix string) []string {
	t.Helper()
	return testkit.Must(createReports(t.Context(), dynamicClient(t, server), prefix, func() {}))(t)
}

// createReports creates reports until so many are acknowledged, and returns their
// names. Failures don't count: what they stand for may be stored or not. created is
// called after each.
func createReports(ctx context.Context, client dynamic.Interface, prefix string, created func()) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	var acknowledged []string
	for i := 0; len(acknowledged) < acknowledgedWrites; i++ {
		report := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": followedReports.GroupVersion().String(), "kind": "PolicyReport",
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", prefix, i)},
		}}
		_, err := client.Resource(followedReports).Namespace("default").Create(ctx, report, metav1.CreateOptions{})
		switch {
		case err == nil:
			acknowledged = append(acknowledged, report.GetName())
			created()
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%d of %d reports were acknowledged within %s: %w", len(acknowledged), acknowledgedWrites, etcdPatience, err)
		}
	}
	return acknowledged, nil
}

// listReports returns the names of all reports, sorted.
func listReports(t testing.TB, server *harness.Server) []string {
	t.Helper()
	list := testkit.Must(dynamicClient(t, server).Resource(followedReports).List(t.Context(), metav1.ListOptions{}))(t)
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	sort.Strings(names)
	return names
}

func missing(want, got []string) []string {
	have := map[string]bool{}
	for _, name := range got {
		have[name] = true
	}
	var lost []string
	for _, name := range want {
		if !have[name] {
			lost = append(lost, name)
		}
	}
	return lost
}
