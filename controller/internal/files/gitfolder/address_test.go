// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gitfolder_test

import (
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/files/gitfolder"
)

// TestAddresses: the forms that kustomize documents for remote targets.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gitfolder.Address{
		"https://github.com/kubernetes-sigs/kustomize//examples/multibases/dev/?timeout=120&ref=v3.3.1": {Repository: "https://github.com/kubernetes-sigs/kustomize", Folder: "examples/multibases/dev", Ref: "v3.3.1", Timeout: 2 * time.Minute},
		"github.com/kubernetes-sigs/kustomize//examples?timeout=30s":                                    {Repository: "https://github.com/kubernetes-sigs/kustomize", Folder: "examples", Timeout: 30 * time.Second},
		"https://host/o/r.git":                         {Repository: "https://host/o/r.git"},
		"https://host/o/r.git/a/b?ref=release/1.2":     {Repository: "https://host/o/r.git", Folder: "a/b", Ref: "release/1.2"},
		"https://host/o/r.git//a/b?version=v1":         {Repository: "https://host/o/r.git", Folder: "a/b", Ref: "v1"},
		"https://host/o/r//?submodules=false":          {Repository: "https://host/o/r"},
		"git::https://host/o/r?ref=v1":                 {Repository: "https://host/o/r", Ref: "v1"},
		"git::https://host/o/r//a":                     {Repository: "https://host/o/r", Folder: "a"},
		"git@github.com:o/r.git//a/./b/":               {Repository: "git@github.com:o/r.git", Folder: "a/b"},
		"git@github.com:o/r":                           {Repository: "git@github.com:o/r"},
		"ssh://git@host:2222/o/r.git//a":               {Repository: "ssh://git@host:2222/o/r.git", Folder: "a"},
		"ssh://git@host/o/r":                           {Repository: "ssh://git@host/o/r"},
		"file:///srv/r//a?ref=v1":                      {Repository: "file:///srv/r", Folder: "a", Ref: "v1"},
		"file:///srv/r":                                {Repository: "file:///srv/r"},
		"https://dev.azure.com/o/p/_git/r//a?ref=v1.0": {Repository: "https://dev.azure.com/o/p/_git/r", Folder: "a", Ref: "v1.0"},
	} {
		if want.Timeout == 0 {
			want.Timeout = 2 * time.Minute
		}
		if got, found, err := gitfolder.Parse(text); err != nil || !found || got != want {
			t.Errorf("%s: %+v, %v, %v; want %+v", text, got, found, err, want)
		}
	}
	for _, text := range []string{"policies/", "./github.com/o/r//a", "a//b", "https://host/policies.yaml", "https://host/raw/x.yaml?ref=main", "http://host/x.yaml", "-", "a@b"} {
		if _, found, err := gitfolder.Parse(text); found || err != nil {
			t.Errorf("%s: is taken for a repository: %v", text, err)
		}
	}
}

// TestRefused: addresses that git must not get.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://host/o/r//a":                      "a repository at http:// is refused; use https://",
		"git://host/o/r//a":                       "git:// is refused",
		"ext::sh -c true//a.git":                  "",
		"git::ext::sh":                            "git:: must be followed by",
		"git::policies":                           "git:: must be followed by",
		"git::-u://x/y":                           "is not a valid URL",
		"https://me:secret@host/o/r//a":           "a user or password is refused",
		"https://secret@host/o/r.git":             "a user or password is refused",
		"ssh://git:secret@host/o/r":               "a user or password is refused",
		"ssh://-oProxyCommand=secret/o/r":         "no valid host",
		"file://host/o/r":                         "an absolute path",
		"git::https://host/":                      "has no path",
		"https://host/o/r//../a":                  "must be in the repository",
		"https://host/o/r//a?ref=--upload-pack=x": "?ref= must be the name",
		"https://host/o/r//a?ref=a:b":             "?ref= must be the name",
		"https://host/o/r//a?ref=%2Ba":            "?ref= must be the name",
		"https://host/o/r//a?ref=a%0Ab":           "?ref= must be the name",
		"https://host/o/r//a?depth=1":             "?depth= is not known",
		"https://host/o/r//a?timeout=soon":        "?timeout= must be",
		"https://host/o/r//a?timeout=-1":          "?timeout= must be",
		"https://host/o/r//a?submodules=true":     "submodules are not read",
		"https://host/o/r//a?ref=%zz":             "is not valid",
		"https://host/o/\x01r//a":                 "control characters",
	} {
		_, found, err := gitfolder.Parse(text)
		switch {
		case want == "" && (found || err != nil):
			t.Errorf("%s: %v, %v", text, found, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
