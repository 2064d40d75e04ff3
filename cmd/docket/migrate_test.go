// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/definition"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestMigrateNothing: a source that is missing or empty is an error, and nothing is made in its place.
func TestMigrateNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := func(name string) string { return "sqlite://" + filepath.Join(folder, name) }
	storage := apiserver.NewStorageOptions()
	storage.Database = url("empty.db")
	empty := testkit.Must(apiserver.OpenReports(t.Context(), storage))(t)
	testkit.NoError(t, empty.Close())
	for _, test := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"no file", "--from: open " + folder + "/missing.db: there is no such database", cli.ExitUsage, []string{"database", "--from", url("missing.db"), "--database", url("empty.db")}},
		{"no cluster", `--from: open ` + folder + `/empty.db: there is no such database: it has no cluster "east"`, cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--from-cluster=east", "--database", url("copy.db")}},
		{"no reports", "--from: the source has no objects", cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--database", url("other.db")}},
		{"no reports, and that is right", "0 objects at the source, 0 at the destination", cli.ExitOK, []string{"database", "--from", url("empty.db"), "--database", url("other.db"), "--allow-empty"}},
		{"nothing to compare with", "--database: open " + folder + "/missing.db", cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--database", url("missing.db"), "--verify", "--allow-empty"}},
		{"no folder", "--from: open " + folder + "/none/missing.db: there is no such database", cli.ExitUsage, []string{"database", "--from", url("none/missing.db"), "--database", url("empty.db")}},
		{"no rows in etcd", "--database: etcd keeps reports without result rows", cli.ExitFailure, []string{"results", "--database", "etcd://localhost"}},
		{"no rows", "--database: open " + folder + "/missing.db", cli.ExitUsage, []string{"results", "--database", url("missing.db")}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := docket(ctx, t, append([]string{"migrate"}, test.args...)...)
		output, _ := command.CombinedOutput() // The exit code is looked at.
		cancel()
		if code := command.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
			t.Errorf("%s: exit code %d, want %d, and %q in:\n%s", test.name, code, test.code, test.want, output)
		}
	}
	for _, name := range []string{"missing.db", "copy.db"} {
		if _, err := os.Stat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
}

// TestMigrateDefinitions: objects of further definitions are copied from one database to another, with the definitions.
func TestMigrateDefinitions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open := func(name string, definitions ...*apiextensionsv1.CustomResourceDefinition) *apiserver.Reports {
		t.Helper()
		storage := apiserver.NewStorageOptions()
		storage.Database = "sqlite://" + filepath.Join(folder, name)
		return testkit.Must(apiserver.OpenReports(t.Context(), storage, definitions...))(t)
	}
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	from := open("from.db", testkit.Must(definition.Read("../../internal/server/apiserver/testdata/widgets.yaml"))(t)...)
	kind := from.Storage()[widgets].Kind
	object, _ := testkit.Must2(kind.Decode([]byte(`{"metadata":{"name":"a","namespace":"ns","uid":"u","generation":3,
		"creationTimestamp":"2020-01-02T03:04:05Z"},"spec":{"size":2},"status":{"ready":true}}`)))(t)
	testkit.NoError(t, from.Storage().Create(t.Context(), kind, object))
	testkit.NoError(t, from.Close())

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, more := range []string{"", "--verify"} {
		args := []string{"migrate", "database", "--from", "sqlite://" + filepath.Join(folder, "from.db"), "--database", "sqlite://" + filepath.Join(folder, "to.db")}
		if more != "" {
			args = append(args, more)
		}
		output, err := docket(ctx, t, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "1 objects at the source, 1 at the destination, 1 with the same content") {
			t.Fatalf("%v: %s", err, output)
		}
	}
	to := open("to.db")
	copied := testkit.Must(to.Storage().Get(t.Context(), kind, "ns", "a"))(t)
	copied.SetResourceVersion("")
	testkit.NoDiff(t, cmp.Diff(testkit.Must(json.Marshal(object))(t), testkit.Must(json.Marshal(copied))(t)), "copied (-source +destination)")
	testkit.NoError(t, to.Close())
}
