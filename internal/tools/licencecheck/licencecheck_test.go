// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const mit = `MIT License

Permission is hereby granted, free of charge, to any person obtaining
a copy … THE SOFTWARE IS PROVIDED "AS IS", …`

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"Apache License\n  Version 2.0, January 2004", "Apache-2.0"},
		{mit, "MIT"},
		{"Redistribution and use in source and binary forms … retain this list\nof conditions", "BSD"},
		{"Mozilla Public License, version 2.0\n … GNU General Public License, Version 2.0 is a Secondary License", "MPL-2.0"},
		{"Permission to use, copy, modify, and/or distribute … with or without fee is hereby granted", "ISC"},
		{"All of the code has been dedicated to the public domain by the authors.", "public domain"},
		{"GNU GENERAL PUBLIC LICENSE\nVersion 3 … redistribution and use in source and binary forms, this list of conditions", ""},
		{"Business Source License 1.1\nChange License: Apache License, Version 2.0", ""},
		{"Commons Clause License Condition v1.0 … Apache License\nVersion 2.0", ""},
		{mit + "The Software shall be used for Good, not Evil.", ""},
		{"Redistribution and use in source and binary forms … this list of conditions … complete\nsource code for the DB software", ""},
		{"Creative Commons NonCommercial … except works dedicated to the public domain", ""},
		{"All rights reserved.", ""},
		{"", ""},
	} {
		if got := classify(test.text); got != test.want {
			t.Errorf("classify(%.40q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestLicenceOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // of the error if it begins with !
	}{
		{"one", map[string]string{"LICENSE": mit, "main.go": "package main"}, "MIT"},
		{"two of a kind", map[string]string{"LICENSE": mit, "LICENSE-other.txt": mit}, "MIT"},
		{"two", map[string]string{"COPYING": mit, "License.md": "Apache License Version 2.0"}, "MIT and Apache-2.0"},
		{"none", map[string]string{"README": mit}, "!no licence file"},
		{"one that is unknown", map[string]string{"LICENSE": mit, "LICENCE.txt": "Pay me."}, "!not a licence known here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range test.files {
				testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			got, err := licenceOf(dir)
			if want, isError := strings.CutPrefix(test.want, "!"); isError {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, %v, want the error %q", got, err, want)
				}
			} else if err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestRunFindsTheModulesOfThisTest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	testkit.NoError(t, run(t.Context(), []string{"--list", "github.com/google/go-cmp/cmp"}, &out))
	if !strings.HasPrefix(out.String(), "github.com/google/go-cmp ") || !strings.Contains(out.String(), " BSD\n") {
		t.Errorf("got %q", out.String())
	}
	for _, arguments := range [][]string{nil, {"--list"}} {
		if err := run(t.Context(), arguments, &out); err == nil {
			t.Errorf("no error without packages, for %q", arguments)
		}
	}
}
