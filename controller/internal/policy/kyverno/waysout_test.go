// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var update = flag.Bool("update", false, "write the table of ways out")

// TestWaysOut: the page on images says of each way out who may use it, with whose credentials, to which addresses, and
// what the code bounds.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../../../docs/controller/images.md", "<!-- ways out: written by TestWaysOut -->\n", "<!-- end of ways out -->"
	content := testkit.Must(os.ReadFile(page))(t)
	before, rest, found := strings.Cut(string(content), begin)
	got, after, also := strings.Cut(rest, end)
	if !found || !also {
		t.Fatalf("%s has no place for the table", page)
	}
	want := waysOut()
	if *update {
		testkit.NoError(t, os.WriteFile(page, []byte(before+begin+want+end+after), 0o644))
	} else if got != want {
		t.Errorf("%s: go test ./internal/policy/kyverno -run WaysOut -update writes\n%s", page, want)
	}
}

func waysOut() string {
	const publicOnly = "public ones, and `--registry-allow-ranges`; HTTPS"
	images := fmt.Sprintf("manifest %s, blob %s, token %s", mebibytes(registry.MaxManifest), mebibytes(registry.MaxBlob), mebibytes(registry.MaxToken))
	rows := [][]string{
		{"who reads", "what", "with whose credentials", "at which addresses", "one answer"},
		{"---", "---", "---", "---", "---"},
		{"policies of the cluster", "the cluster's API: everything that it may read", "the controller's", "the cluster's", mebibytes(reach.Scope{}.MaxAnswer())},
		{"namespaced policies", "the cluster's API: objects in their namespace", "the controller's", "the cluster's", mebibytes(reach.Scope{Namespace: "team"}.MaxAnswer())},
		{"policies of the cluster, entries of the context cache", "services", "those in the policy or entry", "all except loopback, link-local and metadata; `--context-cache-allow-ranges`, `--context-cache-block-ranges`", mebibytes(call.DefaultMaxResponse)},
		{"policies of the cluster", "registries that images name", "the controller's, the pod's, or those in the policy", "the same", images},
		{"namespaced policies", "registries that images name", "none, the pod's, or those of Secrets in their namespace", publicOnly, images},
		{"registries", "redirects", "none on another host", publicOnly, "as for the first request"},
	}
	var out strings.Builder
	for _, row := range rows {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return out.String()
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
