// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestDatabaseGoesDuringAList: a list of which a part was sent when the database goes does not end well: the client
// gets an error, not fewer reports.
func TestDatabaseGoesDuringAList(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			if !http2 {
				testkit.Full(t)
			}
			t.Parallel()
			database := testenv.NewPostgres(t)
			url := database.Database(t)
			fillDatabase(t, url)
			s := startServer(t, url)
			list := s.startList(t, http2)
			database.Kill(t)
			body, err := io.ReadAll(list)
			if err == nil || json.Valid(body) {
				t.Errorf("a list of %d bytes ended with %v", len(body), err)
			}
			database.Start(t)
			s.waitReady(t)
			whole, err := io.ReadAll(s.startList(t, http2))
			var reports struct{ Items []json.RawMessage }
			if err != nil || json.Unmarshal(whole, &reports) != nil || len(reports.Items) != longList {
				t.Errorf("when the database is back: %d reports, %v", len(reports.Items), err)
			}
			if len(whole) <= len(body) {
				t.Errorf("the list that was cut off had %d bytes, a whole one %d", len(body), len(whole))
			}
		})
	}
}

// A list of longList reports with up to longReport results has 22 MB: more than wait between server and client, where
// a stream of HTTP/2 may be 4 MB ahead, and the buffers of both systems.
const (
	longList   = 1500
	longReport = 80
)

func fillDatabase(t *testing.T, url string) {
	t.Helper()
	onReports(t, url, func(reports *apiserver.Reports) {
		for _, kind := range registry.Kinds() {
			if kind.Resource == policyReports.Resource {
				fillOddly(t, reports.Storage(), kind, longList, longReport)
			}
		}
	})
}

// startList asks for all policy reports and returns their list when it has begun.
func (s *testServer) startList(t *testing.T, http2 bool) io.Reader {
	t.Helper()
	config := rest.CopyConfig(s.config)
	if !http2 {
		config.NextProtos = []string{"http/1.1"}
	}
	client := testkit.Must(rest.HTTPClientFor(config))(t)
	t.Cleanup(client.CloseIdleConnections)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.config.Host+"/apis/wgpolicyk8s.io/v1alpha2/policyreports", nil))(t)
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || (response.ProtoMajor == 2) != http2 { // HTTP/2.
		t.Fatalf("%s: %s", response.Proto, response.Status)
	}
	return response.Body
}
