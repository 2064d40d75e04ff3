// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestShapedAnswers: a list as a Table or a PartialObjectMetadataList is, byte by byte, what the library makes of
// decoded reports. It still does that where the answer is to be indented.
func TestShapedAnswers(t *testing.T) {
	t.Parallel()
	for name, database := range enginesFor(t, "postgres", "sqlite") { // On etcd the library's storage decodes.
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			fillAllOddly(t, url)
			s := startServer(t, url)
			for k, kind := range registry.Kinds() {
				forms := shapedForms()
				for q, query := range shapedQueries(t, s, kind) {
					if k > 0 { // All kinds are one implementation: each query in another form.
						forms = shapedForms()[(k+q)%len(shapedForms()):][:1]
					}
					for _, accept := range forms {
						sameShape(t, s, kind, query, accept)
					}
				}
			}
		})
	}
}

func fillAllOddly(t *testing.T, database string) {
	t.Helper()
	onReports(t, database, func(reports *apiserver.Reports) {
		for _, kind := range registry.Kinds() {
			fillOddly(t, reports.Storage(), kind, 2*fewReports, fewResults) // More than a page of a list without a limit.
		}
	})
}

// shapedForms are what a client may accept.
func shapedForms() []string {
	var forms []string
	for _, kind := range []string{"Table", "PartialObjectMetadataList"} {
		for _, version := range []string{"v1", "v1beta1"} {
			forms = append(forms, fmt.Sprintf("application/json;as=%s;v=%s;g=meta.k8s.io", kind, version))
		}
	}
	return append(forms,
		"application/json;as=Other;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/json;as=Table;v=v2;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml",
	)
}

// shapedQueries are the options of lists.
func shapedQueries(t *testing.T, s *testServer, kind registry.Kind) []string {
	t.Helper()
	var first struct {
		Metadata struct {
			Continue        string `json:"continue"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	testkit.NoError(t, json.Unmarshal(s.do(t, http.MethodGet, listPath(kind)+"?limit=7", nil).want(t, http.StatusOK).body, &first))
	return []string{
		"", "limit=10", "limit=1000", "limit=10&continue=" + first.Metadata.Continue, "continue=" + first.Metadata.Continue,
		"resourceVersion=0", "resourceVersionMatch=Exact&resourceVersion=" + first.Metadata.ResourceVersion,
		"includeObject=None", "includeObject=Object&limit=50", "includeObject=Metadata", "includeObject=Other", "noHeaders=x",
		"labelSelector=third%3D1", "labelSelector=third%21%3D1&limit=20", "labelSelector=rare%3Dnone", "labelSelector=%3D%3D",
		"fieldSelector=metadata.name%3Dreport-0033", "fieldSelector=no%3Dx", "limit=x", "continue=x", "resourceVersion=99999999",
	}
}

func listPath(kind registry.Kind) string {
	return fmt.Sprintf("/apis/%s/%s", kind.GroupVersion(), kind.Resource)
}

// aDate is the age of a report that was just made, which may differ between two answers.
var aDate = regexp.MustCompile(`"(\d+m(\d+s)?|\d+s)"`)

func sameShape(t *testing.T, s *testServer, kind registry.Kind, query, accept string) {
	t.Helper()
	path := listPath(kind) + "?" + query
	got := s.do(t, http.MethodGet, path, nil, "Accept: "+accept)
	indented := s.do(t, http.MethodGet, path, nil, "Accept: "+strings.ReplaceAll(accept, "g=meta.k8s.io", "g=meta.k8s.io;pretty=1"))
	if got.StatusCode != indented.StatusCode || got.Header.Get("Content-Type") != indented.Header.Get("Content-Type") {
		t.Fatalf("%s as %s: %s %s, want %s %s", path, accept, got.Status, got.Header.Get("Content-Type"), indented.Status, indented.Header.Get("Content-Type"))
	}
	body, want := bytes.TrimSpace(got.body), bytes.TrimSpace(indented.body)
	if got.StatusCode != http.StatusOK && bytes.Equal(body, want) {
		return // The library indents some errors for all, or writes them as YAML.
	}
	var compact bytes.Buffer
	testkit.NoError(t, json.Compact(&compact, want))
	have, need := aDate.ReplaceAll(body, nil), aDate.ReplaceAll(compact.Bytes(), nil)
	for at := range max(len(have), len(need)) {
		if at >= min(len(have), len(need)) || have[at] != need[at] {
			t.Fatalf("%s as %s: %d bytes, want %d; from %d on:\n%.300s\nwant\n%.300s", path, accept, len(have), len(need), at, have[at:], need[at:])
		}
	}
}
