// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package apiserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

const (
	acceptTable    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// BenchmarkLists asks a server's handlers, without a connection, for 5,000 reports of 1 to 200 results: as kubectl
// does, in pages, and at once.
func BenchmarkLists(b *testing.B) {
	const reports = 5000
	server := startServer(b, "sqlite://"+filepath.Join(b.TempDir(), "docket.db")+"?synchronous=normal")
	fillVaried(b, server.Generic.Handler, reports)
	for _, form := range []struct{ name, accept, query string }{
		{"json", "application/json", ""},
		{"table", acceptTable, "includeObject=Metadata"},
		{"table-none", acceptTable, "includeObject=None"},
		{"metadata", acceptMetadata, ""},
	} {
		for _, size := range []struct {
			name         string
			limit, pages int
		}{{"500", 500, 1}, {"5000-paged", 500, reports / 500}, {"5000", 0, 1}} {
			b.Run(form.name+"/"+size.name, func(b *testing.B) {
				measure(b, func() {
					if pages := readPages(b, server.Generic.Handler, form.accept, form.query, size.limit, size.pages); pages != size.pages {
						b.Fatalf("%d pages, want %d", pages, size.pages)
					}
				})
			})
		}
	}
}

// fillVaried creates reports as a producer does, so that they have managed fields. As in a cluster most are small.
func fillVaried(b *testing.B, handler http.Handler, n int) {
	kind := testkit.Must(sample.KindOf("PolicyReport"))(b)
	results := []int{1, 12, 3, 6, 30, 5, 1, 20, 4, 9, 200, 2, 14, 6, 3, 8, 22, 5, 1, 60, 4, 7, 17, 2, 10, 40, 6, 5, 26, 3, 6, 6}
	cluster := sample.Cluster{Seed: 3, Now: time.Now()}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			report := cluster.Report(kind, i, results[i%len(results)])
			report.SetName(fmt.Sprintf("report-%05d", i))
			report.SetNamespace("a")
			write(b, handler, http.MethodPost, reportsPath("a", ""), encode(b, report.Object))
			return nil
		})
	}
	testkit.NoError(b, group.Wait())
}

// readPages reads the first pages of a list, and returns how many there were.
func readPages(b *testing.B, handler http.Handler, accept, query string, limit, pages int) int {
	values := testkit.Must(url.ParseQuery(query))(b)
	if limit > 0 {
		values.Set("limit", fmt.Sprint(limit))
	}
	for read := 1; ; read++ {
		request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/apis/wgpolicyk8s.io/v1alpha2/policyreports?"+values.Encode(), nil)
		request.Header.Set("Accept", accept)
		request.Header.Set("Authorization", "Bearer "+testToken)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK {
			b.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
		if read == pages {
			return read
		}
		_, rest, _ := bytes.Cut(recorder.Body.Bytes(), []byte(`"continue":"`))
		token, _, _ := bytes.Cut(rest, []byte(`"`))
		if len(token) == 0 {
			return read
		}
		values.Set("continue", string(token))
	}
}
