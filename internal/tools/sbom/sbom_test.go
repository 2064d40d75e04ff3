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

	"github.com/docket-project/docket/internal/kit/testkit"
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
	testkit.NoDiff(t, cmp.Diff(wantUses, got.Dependencies[0].DependsOn), "dependencies (-want +got)")
	want := metadata{Timestamp: "2026-11-21T00:00:00Z", Component: component{
		Type: "application", Name: "example.org/Docket", Version: "v1.0.0",
		Reference: "pkg:golang/example.org/docket@v1.0.0", PURL: "pkg:golang/example.org/docket@v1.0.0",
		Hashes:     []hash{{"SHA-256", "01" + strings.Repeat("00", 31)}},
		Properties: []property{{"go:build:GOOS", "linux"}},
	}}
	testkit.NoDiff(t, cmp.Diff(want, got.Metadata), "metadata (-want +got)")
	testkit.NoDiff(t, cmp.Diff([]property{{"go:sum", "h1:z"}}, got.Components[1].Properties), "properties (-want +got)")
	if other := describe(info, [32]byte{2}); other.SerialNumber == got.SerialNumber {
		t.Error("two binaries have the same number")
	}
}

// TestRun describes the binary of this test.
func TestRun(t *testing.T) {
	t.Parallel()
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		testkit.NoError(t, run([]string{os.Args[0]}, out))
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs differ")
	}
	var got document
	testkit.NoError(t, json.Unmarshal(first.Bytes(), &got))
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
