// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestEtcdHasNoResultRows: there is nothing to rebuild.
func TestEtcdHasNoResultRows(t *testing.T) {
	t.Parallel()
	options := apiserver.NewStorageOptions()
	options.Database = "etcd://localhost"
	_, err := apiserver.OpenReports(t.Context(), options)
	if err == nil || !strings.Contains(err.Error(), "etcd keeps reports without result rows") {
		t.Errorf("got %v", err)
	}
}

// TestEtcdFlags: what has no meaning with etcd is refused.
func TestEtcdFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		want  []string
	}{
		"nothing else": {},
		"no rows":      {flags: []string{"--result-rows=false"}},
		"rows":         {flags: []string{"--result-rows"}, want: []string{"--result-rows: "}},
		"a password":   {flags: []string{"--database-password-file=/x"}, want: []string{"--database-password-file: "}},
		"a cluster":    {flags: []string{"--cluster=a/b"}, want: []string{"--cluster: "}},
		"history": {
			flags: []string{"--watch-history=1h", "--watch-history-bytes=1Gi", "--watch-ring-bytes=32Mi", "--cache-bytes=32Mi"},
			want:  []string{"--cache-bytes: ", "--watch-history: ", "--watch-history-bytes: ", "--watch-ring-bytes: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := apiserver.NewStorageOptions()
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			options.AddFlags(flags)
			testkit.NoError(t, flags.Parse(append(test.flags, "--database=etcd://localhost")))
			errs := options.Validate()
			if len(errs) != len(test.want) {
				t.Fatalf("errors %v, want %d", errs, len(test.want))
			}
			for i, want := range test.want {
				if !strings.HasPrefix(errs[i].Error(), want) {
					t.Errorf("error %q does not begin with %q", errs[i], want)
				}
			}
		})
	}
}
