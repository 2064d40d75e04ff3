// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/apiserver"
	"github.com/docket-project/docket/internal/registry"
)

// TestFill reads what was filled as a server reads it.
func TestFill(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "filled.db")
	if err := run(t.Context(), url, "default", content{objects: 200, namespaces: 10, unique: 50}); err != nil {
		t.Fatal(err)
	}
	options := apiserver.NewStorageOptions()
	options.Database = url
	opened, err := apiserver.OpenReports(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}()
	kind, err := registry.KindOf(wgpolicy.Resource("policyreports"))
	if err != nil {
		t.Fatal(err)
	}
	list := kind.NewList()
	err = opened.Storage()[kind.GroupResource()].Storage.Storage.GetList(t.Context(), "/wgpolicyk8s.io/policyreports/team-003/",
		storage.ListOptions{Predicate: storage.Everything, Recursive: true}, list)
	if err != nil {
		t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 20 {
		t.Fatalf("a namespace has %d reports, want 20", len(items))
	}
	for _, item := range items {
		found, ok := report.Of(item)
		if !ok || len(found.GetResults()) != 17 {
			t.Fatalf("%v is no report of 17 results", item)
		}
	}
}
