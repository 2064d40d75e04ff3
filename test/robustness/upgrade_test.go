// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestUpgrade rolls two replicas on one PostgreSQL forward, back and forward again, under load. Lists with selectors
// are whole at any time, on servers of both versions, and watches miss nothing. Once the database may have the format
// that only the next version reads, this one no longer starts. Guarantee S13.
func TestUpgrade(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	testenv.Program(t, nextVersion) // It takes a while to build, which no server is to be away for.
	servers := []*server{newServer(t, url), newServer(t, url)}
	ctx, stop := context.WithCancel(t.Context())
	selectors := &selectorLoad{t: t, servers: servers, of: map[string]string{}}
	var group sync.WaitGroup
	group.Go(func() { selectors.run(ctx) })
	rolls := []string{nextVersion, nextVersion, currentVersion, currentVersion, nextVersion, nextVersion}
	run(t, servers, len(rolls), func(*rand.Rand) {
		s := servers[len(rolls)%len(servers)]
		s.kill()
		s.binary, rolls = rolls[0], rolls[1:]
		s.start()
		selectors.awaitSteps(30) // Both versions side by side.
	})
	stop()
	group.Wait()
	awaitComplete(t, url)
	for _, s := range servers {
		selectors.check(s)
	}
	testkit.NoDiff(t, cmp.Diff(stored(t, servers[0]), stored(t, servers[1])), "what the replicas list (-one +other)")
	t.Logf("%d lists with selectors, %d objects", selectors.steps, len(selectors.of))
	allowNextFormat(t, url)
	servers[0].kill()
	servers[0].start() // Of the next version.
	servers[1].kill()
	servers[1].refuses(currentVersion, "it has format 2, this version of Docket reads up to 1: upgrade Docket")
}

// allowNextFormat does what the first release does that writes format 2, once all that live read it.
func allowNextFormat(t *testing.T, url string) {
	t.Helper()
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	testkit.Must(conn.Exec(t.Context(), "UPDATE docket.revision SET min_reader = 2"))(t)
}

// scopes is how many subjects the reports of selectorLoad are about.
const scopes = 3

// selectorLoad creates reports, moves them between subjects, and lists those of each subject.
type selectorLoad struct {
	t       *testing.T
	servers []*server

	mu    sync.Mutex
	steps int
	// of says which subject each report is about, and which label it has.
	of map[string]string
}

func (l *selectorLoad) run(ctx context.Context) {
	r := rand.New(rand.NewPCG(4, 0))
	for ctx.Err() == nil {
		name, scope := fmt.Sprintf("selected-%02d", r.IntN(40)), fmt.Sprintf("uid-%d", r.IntN(scopes))
		l.write(l.servers[r.IntN(len(l.servers))], name, scope)
		l.check(l.servers[r.IntN(len(l.servers))])
		l.mu.Lock()
		l.steps++
		l.mu.Unlock()
	}
}

// awaitSteps waits for more lists.
func (l *selectorLoad) awaitSteps(n int) {
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.steps
	}
	for until := count() + n; count() < until && !l.t.Failed(); {
		<-time.After(20 * time.Millisecond)
	}
}

// again calls work until it succeeds: a server that is being replaced answers nobody.
func (l *selectorLoad) again(what string, work func(ctx context.Context) error) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := work(ctx)
		cancel()
		switch {
		case err == nil:
			return
		case time.Now().After(deadline):
			l.t.Errorf("%s: %v", what, err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (l *selectorLoad) write(s *server, name, scope string) {
	client := s.client.Resource(policyReports).Namespace("default")
	l.again("write "+name, func(ctx context.Context) error {
		object := report(name)
		object.SetLabels(map[string]string{"about": scope})
		object.Object["scope"] = map[string]any{"kind": "Pod", "name": "pod", "namespace": "default", "uid": scope}
		current, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, object, metav1.CreateOptions{})
			return err
		}
		if err == nil {
			object.SetResourceVersion(current.GetResourceVersion())
			_, err = client.Update(ctx, object, metav1.UpdateOptions{})
		}
		return err
	})
	l.of[name] = scope
}

// check lists the reports of each subject by field and by label.
func (l *selectorLoad) check(s *server) {
	for i := range scopes {
		scope := fmt.Sprintf("uid-%d", i)
		var want []string
		for _, name := range slices.Sorted(maps.Keys(l.of)) {
			if l.of[name] == scope {
				want = append(want, name)
			}
		}
		for _, options := range []metav1.ListOptions{{FieldSelector: "scope.uid=" + scope}, {LabelSelector: "about=" + scope}} {
			l.again("list", func(ctx context.Context) error {
				found, err := s.client.Resource(policyReports).Namespace("default").List(ctx, options)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, names(found)); diff != "" {
					l.t.Errorf("%s%s (-want +got):\n%s", options.FieldSelector, options.LabelSelector, diff)
				}
				return nil
			})
		}
	}
}

func names(list *unstructured.UnstructuredList) (names []string) {
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// stored returns all reports of a server, by name.
func stored(t *testing.T, s *server) map[string]unstructured.Unstructured {
	t.Helper()
	var client dynamic.ResourceInterface = s.client.Resource(policyReports)
	list := testkit.Must(client.List(t.Context(), metav1.ListOptions{}))(t)
	found := map[string]unstructured.Unstructured{}
	for _, item := range list.Items {
		found[item.GetNamespace()+"/"+item.GetName()] = item
	}
	return found
}

// awaitComplete waits until nothing of the older version is left in the index, and its format is no longer kept.
func awaitComplete(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn := testkit.Must(pgx.Connect(ctx, url))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	const question = `SELECT (SELECT bool_and(complete >= highest) FROM docket.total) AND NOT EXISTS (
		SELECT FROM docket.object WHERE derived < (SELECT max(highest) FROM docket.total)) AND (SELECT min_reader FROM docket.revision) = $1`
	for done := false; !done; {
		testkit.NoError(t, conn.QueryRow(ctx, question, engine.WritesFormat).Scan(&done))
		<-time.After(100 * time.Millisecond)
	}
}
