// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/testenv"
)

// TestSemantics14Outage: a database that is away gives 5xx with
// Retry-After, never 404 and never a short list, and all is well when it is back.
// It needs a database that can be away: PostgreSQL.
func TestSemantics14Outage(t *testing.T) {
	t.Parallel()
	database := testenv.NewPostgres(t)
	s := startServer(t, database.Database(t))
	for _, name := range []string{"a", "b", "c"} {
		mustCreate(t, s.reports("ns"), report(name, 1))
	}
	page := mustList(t, s.reports("ns"), metav1.ListOptions{Limit: 1})
	stream := mustWatch(t, s.reports("ns"), metav1.ListOptions{ResourceVersion: page.GetResourceVersion()})

	database.Kill(t)
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

	database.Start(t)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return s.do(t, http.MethodGet, "/readyz", nil).StatusCode == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("not ready after the database came back: %v", err)
	}
	if got := len(mustList(t, s.reports("ns"), metav1.ListOptions{}).Items); got != 3 {
		t.Errorf("%d reports after the outage, want 3", got)
	}
	mustCreate(t, s.reports("ns"), report("after", 1))
	wantEvents(t, stream, "ADDED after")
}
