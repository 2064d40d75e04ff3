// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestSortedResults(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var query v1alpha1.ResultQuery
		if err := json.NewDecoder(r.Body).Decode(&query); err != nil || !strings.HasSuffix(r.URL.Path, "/v1alpha1/resultqueries") {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		if query.Spec.Results == nil {
			query.Status.Groups = []v1alpha1.ResultGroup{{Results: 1235}}
		} else {
			query.Status.More = true
			query.Status.Results = []v1alpha1.OrderedResult{{Namespace: "shop", Name: "a-b", Result: v1alpha1.Result{Result: "fail", Policy: query.Spec.Results.OrderBy}}}
		}
		query.APIVersion, query.Kind = v1alpha1.SchemeGroupVersion.String(), "ResultQuery"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(query); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	testkit.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	code, out, notes := called(t, time.Now(), "results", "list", "--kubeconfig", kubeconfig, "-A", "--sort", "severity,desc", "--limit", "1")
	if code != cli.ExitOK {
		t.Fatalf("code %d: %s", code, notes)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "shop ") || !strings.Contains(lines[1], "severity") {
		t.Errorf("got\n%s", out)
	}
	if want := "These are the first 1 by severity; 1234 more are left out"; !strings.Contains(notes, want) {
		t.Errorf("got the note %q, want %q", notes, want)
	}
}

func TestSortErrors(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"--sort colour":               `--sort: "colour" is no order: choose from timestamp`,
		"--sort policy,up":            `--sort: "up" is no direction`,
		"--sort policy --limit 1001":  "--limit: 1001 is not from 0 to 1000",
		"--sort policy --limit -1":    "--limit: -1 is not",
		"--sort policy --severity no": "--severity",
	} {
		code, _, errOut := called(t, time.Now(), append([]string{"results", "list"}, strings.Fields(arguments)...)...)
		if code != cli.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: code %d, %s; want one with %s", arguments, code, errOut, want)
		}
	}
}
