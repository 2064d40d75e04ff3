// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const (
		goGood     = "// Copyright 2026 The Docket Authors.\n// SPDX-License-Identifier: Apache-2.0\n\npackage x\n"
		scriptGood = "# Copyright 2026 The Docket Authors.\n# SPDX-License-Identifier: Apache-2.0\ntrue\n"
	)
	root := fstest.MapFS{}
	for path, content := range map[string]string{
		"good.go":            goGood,
		"generated.go":       "//go:build !x\n// +build !x\n\n" + goGood,
		"late.go":            "package x\n" + goGood,
		"none.go":            "package x\n",
		"deep/er/none.go":    "package x\n",
		"good.sh":            "#!/bin/sh\n" + scriptGood,
		"none.sh":            "#!/bin/sh\ntrue\n",
		"named-like-nothing": "#!/usr/bin/env bash\ntrue\n",
		"Makefile":           scriptGood,
		"sub/Makefile":       "all:\n",
		"README.md":          "text\n",
		"testdata/none.go":   "package x\n",
		".git/none.go":       "package x\n",
		"bin/none.sh":        "#!/bin/sh\n",
	} {
		root[path] = &fstest.MapFile{Data: []byte(content)}
	}
	got := testkit.Must(check(root))(t)
	want := []string{"deep/er/none.go", "late.go", "named-like-nothing", "none.go", "none.sh", "sub/Makefile"}
	testkit.NoDiff(t, cmp.Diff(want, got), "files without a header (-want +got)")
}
