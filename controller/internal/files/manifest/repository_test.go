// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/gitfolder"
	"github.com/docket-project/docket/controller/internal/files/manifest"
)

// TestRepositories: a folder of a repository is read like one of this machine, once, and is removed; what is said of it
// names the repository.
func TestRepositories(t *testing.T) {
	t.Parallel()
	var folder string
	checkouts := 0
	loader := &manifest.Loader{Checkout: func(address gitfolder.Address) (string, func() error, error) {
		checkouts++
		if address.Folder != "a" {
			return "", nil, errors.New("no such folder")
		}
		folder = write(t, map[string]string{"x/one.yaml": object("a") + "---\n" + object("b"), "values.yaml": "x: 1\n"})
		return folder, func() error { return os.RemoveAll(folder) }, nil
	}}
	const address = "https://host/o/r//a?ref=v1"
	set, err := loader.Load(address, address)
	if err != nil || checkouts != 1 {
		t.Fatal(err, checkouts)
	}
	got := append(names(set, ""), set.LeftOut...)
	want := []string{
		"ConfigMap a from https://host/o/r//a/x/one.yaml?ref=v1: document 1", "ConfigMap b from https://host/o/r//a/x/one.yaml?ref=v1: document 2",
		"https://host/o/r//a/values.yaml?ref=v1: is not a Kubernetes object: apiVersion is missing or not a string",
	}
	if !slices.Equal(got, want) || set.Objects[1].Place != (manifest.Place{}) {
		t.Errorf("%q, want %q; %+v", got, want, set.Objects[1].Place)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Error("the folder is left")
	}
	if _, err := loader.Load("git@host:o/r//b"); err == nil || err.Error() != "git@host:o/r//b: no such folder" {
		t.Error(err)
	}
	if _, err := (&manifest.Loader{}).Load(address); err == nil || !strings.Contains(err.Error(), "repositories are not read here") {
		t.Error(err)
	}
}
