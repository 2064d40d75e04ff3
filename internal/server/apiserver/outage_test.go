// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"net/http"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// absence is a database that can be away.
type absence struct {
	url         string
	kill, start func()
	// noticed says that the server needs a moment to notice. Requests of that moment
	// may wait for it, and writes may get 504 then.
	noticed bool
}

// TestSemantics14Outage: a database that is away gives 5xx with
// Retry-After, never 404 and never a short list, and all is well when it is back.
// It needs a database that can be away, so not SQLite.
func TestSemantics14Outage(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) absence{
		"postgres": func(t testing.TB) absence {
			database := testenv.NewPostgres(t)
			return absence{url: database.Database(t), kill: func() { database.Kill(t) }, start: func() { database.Start(t) }}
		},
		"etcd": func(t testing.TB) absence {
			database := newEtcd(t)
			return absence{url: database.url(), kill: database.stop, start: func() { database.start(t) }, noticed: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testOutage(t, open(t))
		})
	}
}

func testOutage(t *testing.T, database absence) {
	s := startServer(t, database.url)
	for _, name := range []string{"a", "b", "c"} {
		mustCreate(t, s.reports("ns"), report(name, 1))
	}
	page := mustList(t, s.reports("ns"), metav1.ListOptions{Limit: 1})
	stream := mustWatch(t, s.reports("ns"), metav1.ListOptions{ResourceVersion: page.GetResourceVersion()})

	database.kill()
	if database.noticed {
		waitUnready(t, s)
	}
	put := marshal(t, labelled(&page.Items[0], map[string]string{"x": "y"}))
	for name, r := range map[string]badRequest{
		"get":              {method: http.MethodGet, path: reportsPath("ns", "b")},
		"get of no object": {method: http.MethodGet, path: reportsPath("ns", "missing")},
		"list":             {method: http.MethodGet, path: reportsPath("ns", "")},
		"next page":        {method: http.MethodGet, path: reportsPath("ns", "") + "?limit=1&continue=" + url.QueryEscape(page.GetContinue())},
		"create":           {method: http.MethodPost, path: reportsPath("ns", ""), body: string(marshal(t, report("d", 1)))},
		"update":           {method: http.MethodPut, path: reportsPath("ns", "a"), body: string(put)},
		"patch":            {method: http.MethodPatch, path: reportsPath("ns", "a"), body: "{}", headers: []string{mergePatch}},
		"delete":           {method: http.MethodDelete, path: reportsPath("ns", "a")},
		"deletecollection": {method: http.MethodDelete, path: reportsPath("ns", "")},
	} {
		answer := s.do(t, r.method, r.path, []byte(r.body), r.headers...)
		if answer.StatusCode < 500 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s without a database: %s, Retry-After %q:\n%s", name, answer.Status, answer.Header.Get("Retry-After"), answer.body)
		}
		statusOf(t, answer)
	}
	if answer := s.do(t, http.MethodGet, "/readyz", nil); answer.StatusCode != http.StatusInternalServerError {
		t.Errorf("readyz without a database: %s", answer.Status)
	}
	s.do(t, http.MethodGet, "/livez", nil).want(t, http.StatusOK)

	database.start()
	testkit.Eventually(t, "the server is ready after the database came back", func() bool {
		return s.do(t, http.MethodGet, "/readyz", nil).StatusCode == http.StatusOK
	})
	if got := len(mustList(t, s.reports("ns"), metav1.ListOptions{}).Items); got != 3 {
		t.Errorf("%d reports after the outage, want 3", got)
	}
	mustCreate(t, s.reports("ns"), report("after", 1))
	wantEvents(t, stream, "ADDED after")
}

// waitUnready returns when the server says that it can't serve.
func waitUnready(t *testing.T, s *testServer) {
	t.Helper()
	testkit.Eventually(t, "the server is not ready without a database", func() bool {
		return s.do(t, http.MethodGet, "/readyz", nil).StatusCode == http.StatusInternalServerError
	})
}
