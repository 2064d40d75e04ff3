// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// TestImportPaths: what the paths of the migration take, and what they refuse.
func TestImportPaths(t *testing.T) {
	t.Parallel()
	s := startServer(t, "sqlite://"+filepath.Join(t.TempDir(), "a.db"))
	for name, c := range map[string]struct {
		method, path, body string
		code               int
	}{
		"read":          {http.MethodGet, imports.Path, "", http.StatusMethodNotAllowed},
		"no JSON":       {http.MethodPost, imports.Path, "{", http.StatusBadRequest},
		"nothing":       {http.MethodPost, imports.Path, `{"mode":"fill"}`, http.StatusOK},
		"too large":     {http.MethodPost, imports.Path, `{"mode":"` + strings.Repeat("x", 33<<20) + `"}`, http.StatusRequestEntityTooLarge},
		"unknown hold":  {http.MethodPost, imports.HoldPath, `{"groups":["wgpolicyk8s.io"],"hold":"x"}`, http.StatusBadRequest},
		"unknown group": {http.MethodPost, imports.HoldPath, `{"groups":["x"],"hold":"wait"}`, http.StatusBadRequest},
		"bad floor":     {http.MethodPost, imports.FloorPath, `{"above":-1}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.do(t, c.method, c.path, []byte(c.body)).want(t, c.code)
		})
	}
	t.Run("anonymous", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{imports.Path, imports.HoldPath, imports.FloorPath, imports.DefinitionsPath} {
			request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.config.Host+path, strings.NewReader("{}")))(t)
			response, err := anonymousClient(t, s.Server).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %s, %v", path, response.Status, err)
			}
		}
	})
}

// TestImportOutcomes: each item has its own outcome.
func TestImportOutcomes(t *testing.T) {
	t.Parallel()
	s := startServer(t, "sqlite://"+filepath.Join(t.TempDir(), "a.db"))
	answer := s.do(t, http.MethodPost, imports.Path, []byte(`{"mode":"mirror","items":[
		{"group":"wgpolicyk8s.io","resource":"policyreports","version":7,"object":{"metadata":{"name":"a","namespace":"ns","uid":"u-1","generation":5,
			"creationTimestamp":"2020-01-02T03:04:05Z","finalizers":["a/b"],"deletionTimestamp":"2020-01-03T00:00:00Z"},"other":1}},
		{"group":"wgpolicyk8s.io","resource":"policyreports","object":{"metadata":{"name":"b"}}},
		{"group":"apps","resource":"deployments","object":{"metadata":{"name":"b"}}},
		{"group":"wgpolicyk8s.io","resource":"policyreports","object":{"metadata":{"name":"../b","namespace":"ns"}}},
		{"group":"wgpolicyk8s.io","resource":"policyreports","object":{"metadata":{"name":"b","namespace":"ns/other"}}},
		{"group":"wgpolicyk8s.io","resource":"policyreports","mode":"mirror","delete":{"name":"b","namespace":"a.b"}}]}`)).want(t, http.StatusOK)
	var response imports.Response
	testkit.NoError(t, json.Unmarshal(answer.body, &response))
	for i, want := range []imports.Result{imports.Created, imports.Failed, imports.Failed, imports.Failed, imports.Failed, imports.Failed} {
		if got := response.Outcomes[i]; got.Result != want || want == imports.Failed && got.Message == "" {
			t.Errorf("item %d: %+v, want %s", i, got, want)
		}
	}
	if len(response.Outcomes[0].Unknown) != 1 {
		t.Errorf("the unknown field was not told: %+v", response.Outcomes[0])
	}
	stored := testkit.Must(s.reports("ns").Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if stored.GetUID() != "u-1" || stored.GetGeneration() != 5 || stored.GetDeletionTimestamp() == nil ||
		stored.GetCreationTimestamp().UTC().Year() != 2020 || !strings.HasPrefix(stored.GetAnnotations()[imports.Annotation], "7,") {
		t.Errorf("stored: %v", stored.Object["metadata"])
	}
}

// TestDefinitions: a migration learns by which definitions the server judges objects.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	s := startServer(t, "sqlite://"+filepath.Join(t.TempDir(), "a.db"))
	define := func(definition []byte) (imports.Kind, error) {
		var object map[string]any
		testkit.NoError(t, utiljson.Unmarshal(definition, &object))
		return apiserver.MovableDefinition(object)
	}
	ask := func(body string) (kinds []imports.Kind) {
		t.Helper()
		var response imports.DefinitionsResponse
		testkit.NoError(t, json.Unmarshal(s.do(t, http.MethodPost, imports.DefinitionsPath, []byte(body)).want(t, http.StatusOK).body, &response))
		for _, definition := range response.Definitions {
			kinds = append(kinds, testkit.Must(define(definition))(t))
		}
		return kinds
	}
	if kinds := ask(`{"groups":["example.com"]}`); len(kinds) != 0 {
		t.Errorf("a group that is not served has %v", kinds)
	}
	for _, kind := range ask(`{"groups":["wgpolicyk8s.io","openreports.io"]}`) {
		object, unknown := testkit.Must2(kind.Decode([]byte(`{"metadata":{"name":"a"},"summary":{"pass":1},"other":1}`)))(t)
		if object.GetName() != "a" || len(unknown) != 1 || !slices.Equal(kind.Versions, []string{kind.Version}) {
			t.Errorf("%v: %v, unknown %v", kind, object, unknown)
		}
	}
	_, err := define([]byte(`{"spec":{"group":"example.com","names":{"kind":"A","plural":"as"},
		"versions":[{"name":"v1","storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`))
	if err == nil || !strings.Contains(err.Error(), "set served: true") {
		t.Errorf("objects are moved in a version that is not served: %v", err)
	}
}

// TestHold: requests wait on every replica, and go on, or elsewhere, when the hold
// ends. Guarantee M2.
func TestHold(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	one, other := startServer(t, url), startServer(t, url)
	hold := func(h imports.Hold) {
		t.Helper()
		one.do(t, http.MethodPost, imports.HoldPath, []byte(`{"groups":["wgpolicyk8s.io"],"hold":"`+string(h)+`"}`)).want(t, http.StatusOK)
	}
	hold(imports.HoldWait)
	// Discovery, other groups and the migration itself are not held.
	other.do(t, http.MethodGet, "/apis/wgpolicyk8s.io/v1alpha2", nil).want(t, http.StatusOK)
	other.do(t, http.MethodGet, "/apis/openreports.io/v1alpha1/reports", nil).want(t, http.StatusOK)
	one.do(t, http.MethodGet, reportsPath("ns", ""), nil, imports.HoldHeader+": true").want(t, http.StatusOK)
	codes := make(chan int, 1)
	go func() { codes <- one.do(t, http.MethodGet, reportsPath("ns", ""), nil).StatusCode }()
	hold(imports.NoHold)
	if code := <-codes; code != http.StatusOK {
		t.Errorf("a request that had to wait got %d", code)
	}

	hold(imports.HoldMoved)
	testkit.Eventually(t, "the other replica knows", func() bool {
		return other.do(t, http.MethodGet, reportsPath("ns", ""), nil).StatusCode == http.StatusTooManyRequests
	})
	answer := other.do(t, http.MethodGet, reportsPath("ns", ""), nil)
	if answer.Header.Get("Retry-After") == "" {
		t.Error("the answer doesn't say when to try again")
	}
	events := testkit.Must(other.reports("ns").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}))(t)
	defer events.Stop()
	if event := <-events.ResultChan(); event.Type != watch.Error || event.Object.(*metav1.Status).Code != http.StatusGone {
		t.Errorf("the watch said %+v", event)
	}
	hold(imports.NoHold)
	testkit.Eventually(t, "the other replica serves again", func() bool {
		return other.do(t, http.MethodGet, reportsPath("ns", ""), nil).StatusCode == http.StatusOK
	})
}

// TestFloor: revisions of another store, which are lower, end with 410.
func TestFloor(t *testing.T) {
	t.Parallel()
	s := startServer(t, "sqlite://"+filepath.Join(t.TempDir(), "a.db"))
	floor := func(body string) imports.FloorResponse {
		t.Helper()
		var response imports.FloorResponse
		testkit.NoError(t, json.Unmarshal(s.do(t, http.MethodPost, imports.FloorPath, []byte(body)).want(t, http.StatusOK).body, &response))
		return response
	}
	first := floor(`{"above":5000}`)
	if !first.Raised || first.Floor <= 5000 {
		t.Errorf("%+v", first)
	}
	if again := floor(`{"above":6000}`); again.Raised || again.Floor != first.Floor {
		t.Errorf("%+v became %+v", first, again)
	}
	events := testkit.Must(s.reports("ns").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5500"}))(t)
	defer events.Stop()
	if event := <-events.ResultChan(); event.Type != watch.Error || event.Object.(*metav1.Status).Code != http.StatusGone {
		t.Errorf("the watch said %+v", event)
	}
	if forced := floor(`{"force":true}`); !forced.Raised || forced.Floor <= first.Floor {
		t.Errorf("%+v became %+v", first, forced)
	}
}
