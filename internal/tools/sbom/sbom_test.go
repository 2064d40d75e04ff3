// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.org/Docket", Version: "v1.0.0"},
		Deps: []*debug.Module{
			{Path: "example.org/z", Version: "v0.1.0", Sum: "h1:z"},
			{Path: "example.org/a", Version: "v0.2.0", Replace: &debug.Module{Path: "example.org/b", Version: "v0.3.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.time", Value: "2026-11-21T00:00:00Z"}, {Key: "-tags", Value: "x"}},
	}
	got := describe(info, [32]byte{1})
	wantUses := []string{"pkg:golang/example.org/b@v0.3.0", "pkg:golang/example.org/z@v0.1.0", "pkg:golang/stdlib@go1.26.8"}
	if diff := cmp.Diff(wantUses, got.Dependencies[0].DependsOn); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	want := metadata{Timestamp: "2026-11-21T00:00:00Z", Component: component{
		Type: "application", Name: "example.org/Docket", Version: "v1.0.0",
		Reference: "pkg:golang/example.org/docket@v1.0.0", PURL: "pkg:golang/example.org/docket@v1.0.0",
		Hashes:     []hash{{"SHA-256", "01" + strings.Repeat("00", 31)}},
		Properties: []property{{"go:build:GOOS", "linux"}},
	}}
	if diff := cmp.Diff(want, got.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]property{{"go:sum", "h1:z"}}, got.Components[1].Properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if other := describe(info, [32]byte{2}); other.SerialNumber == got.SerialNumber {
		t.Error("two binaries have the same number")
	}
}

// TestRun describes the binary of this test.
func TestRun(t *testing.T) {
	t.Parallel()
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{os.Args[0]}, out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs differ")
	}
	var got document
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.BOMFormat != "CycloneDX" || len(got.Components) == 0 {
		t.Errorf("document: %+v", got)
	}
	if err := run([]string{"main.go"}, &first); err == nil {
		t.Error("a text file has a bill of materials")
	}
	if err := run(nil, &first); err == nil {
		t.Error("no error without a path")
	}
}
