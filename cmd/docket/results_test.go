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
	"slices"
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

// TestResultsComplete: shells get what the kubeconfig and the cluster have, and nothing where nobody answers.
func TestResultsComplete(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/api/v1/namespaces": `{"apiVersion":"v1","kind":"NamespaceList","items":[{"metadata":{"name":"payments"}},{"metadata":{"name":"shop"}}]}`,
		"/apis/results.docket.dev/v1alpha1/namespaces/shop/localresultqueries": `{"apiVersion":"results.docket.dev/v1alpha1","kind":"LocalResultQuery",
			"status":{"groups":[{"by":{"policy":"require-labels"},"results":3},{"by":{"policy":"no-root"},"results":1}]}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answer, ok := answers[r.URL.Path]; ok {
			fmt.Fprint(w, answer)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"here","clusters":[{"name":"c","cluster":{"server":%q}}],
		"contexts":[{"name":"there","context":{"cluster":"c"}},{"name":"here","context":{"cluster":"c"}}]}`, server.URL)
	testkit.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	for arguments, want := range map[string]string{
		"results list --context":         "here there",
		"results diff --context":         "here there",
		"console --context":              "here there",
		"results why -n":                 "payments shop",
		"results list -n shop --policy":  "require-labels no-root",
		"results list -n other --policy": "",
		"results why --all-namespaces":   "", // It has no such flag.
	} {
		words := append(strings.Fields(arguments), "")
		last := len(words) - 2
		words = slices.Insert(words, last, "--kubeconfig", kubeconfig)
		_, out, _ := called(t, time.Now(), append([]string{"__complete"}, words...)...)
		var got []string
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ":") {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

// TestResultsUnavailable: where the cluster has nobody to ask, the answer names what to look at.
func TestResultsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "service unavailable", http.StatusServiceUnavailable) // As kube-aggregator says it.
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	testkit.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	for _, arguments := range []string{"list", "list --sort severity", "list --source trivy", "top", "top namespaces -A", "why Pod/x", "why po/x", "diff a b"} {
		code, _, errOut := called(t, time.Now(), strings.Fields("results "+arguments+" --kubeconfig "+kubeconfig)...)
		if code != cli.ExitFailure || !strings.Contains(errOut, "kubectl get apiservices -l app.kubernetes.io/name=docket") {
			t.Errorf("%s: code %d, %s", arguments, code, errOut)
		}
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
