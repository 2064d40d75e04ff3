// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/uptest"
)

var server uptest.Server

func TestMain(m *testing.M) { os.Exit(uptest.Run(m, &server)) }

// kubeconfig returns that of a server with 30 reports in namespaces and 3 without one.
func kubeconfig(t *testing.T) string {
	t.Helper()
	testkit.Must(server.Config(writeReports))(t)
	return filepath.Join(server.Dir(), statedir.KubeconfigFile)
}

func writeReports(ctx context.Context, config *rest.Config) error {
	namespaces, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	reports, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for name, number := range map[string]int{"PolicyReport": 30, "ClusterPolicyReport": 3} {
		kind, err := sample.KindOf(name)
		if err != nil {
			return err
		}
		group, err := schema.ParseGroupVersion(kind.APIVersion)
		if err != nil {
			return err
		}
		for i := range number {
			report := sample.Cluster{Seed: 1, Now: time.Now()}.Report(kind, i, 17)
			if kind.Namespaced {
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: report.GetNamespace()}}
				if _, err := namespaces.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
					return err
				}
			}
			resource := reports.Resource(group.WithResource(kind.Resource)).Namespace(report.GetNamespace())
			if _, err := resource.Create(ctx, report, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestTimes: every request is answered as the counters say.
func TestTimes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--kubeconfig", kubeconfig(t), "--rounds", "2", "--limit", "20"}, &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if !strings.HasPrefix(out.String(), "510 results in ") {
		t.Errorf("30 reports of 17 results:\n%s", &out)
	}
	rows := regexp.MustCompile(`(?m)^\| .* \| \d+ \| [0-9.]+ ms \| [0-9.]+ ms \| [0-9.]+ ms \|$`).FindAllString(out.String(), -1)
	if want := 8 + 5 + 5 + 11 + 10; len(rows) != want {
		t.Errorf("%d requests were measured, not %d:\n%s", len(rows), want, &out)
	}
}

// TestSubjects: what flags name is asked about, and some tables only.
func TestSubjects(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{
		"--kubeconfig", kubeconfig(t), "--rounds", "1", "--only", "summaries,pages", "--policy", "p-x", "--kind", "K", "--namespace", "no-such",
	}, &out); err == nil || !strings.Contains(out.String(), "| policies of namespace no-such | the list is empty |") {
		t.Errorf("a namespace without summaries: %v\n%s", err, &out)
	}
	for _, row := range []string{"| of policy p-x | 0 | ", "| about kind K | 0 | ", "| that fail in namespace no-such | 0 | "} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("there is no row %q:\n%s", row, &out)
		}
	}
	if strings.Contains(out.String(), "newest") {
		t.Errorf("too many tables:\n%s", &out)
	}
}

// TestWrongAnswers: the requests go on after one that fails, and the run fails.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	summary := `{"items": [{"metadata": {"namespace": "n"}, "policy": "p", "total": 3, "fail": 3}]}`
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := `{"items": [{"result": "pass", "policy": "p"}, {"result": "pass", "policy": "p"}, {"result": "pass", "policy": "p"}]}`
		switch _, resource, _ := strings.Cut(r.URL.Path, "v1alpha1/"); {
		case strings.HasSuffix(resource, "policysummaries"):
			body = summary
		case resource == "namespacesummaries":
			w.WriteHeader(http.StatusAccepted)
		case resource == "clustersummaries":
			http.Error(w, "made to fail", http.StatusInternalServerError)
			return
		case strings.HasSuffix(resource, "queries"):
			body = `{"status": {"groups": [{"results": 2}], "results": [{}]}}`
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(fake.Close)
	var out bytes.Buffer
	err := run(t.Context(), []string{"--kubeconfig", kubeconfigOf(t, fake), "--rounds", "1"}, &out)
	if err == nil {
		t.Error("no request failed")
	}
	for _, row := range []string{
		"| all results | 3 | ", "| that fail | result / is not selected |", "| about kind Deployment | the page has 3 results in place of 2 |",
		"| namespaces | status 202 in place of 200 or 201 |", "| clusters | an error on the server", "| policies of the cluster | 1 | ",
		"| failures by severity and source | the groups have 2 results in place of 3 |", "| the 20 newest failures | there are 1 results in place of 3 |",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("there is no row %q:\n%s", row, &out)
		}
	}
}

// TestOthersWrite: a run fails if the server's revision has changed, though all answers are right.
func TestOthersWrite(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"metadata": {"resourceVersion": "%d"}, "items": [{"metadata": {"namespace": "n"}, "policy": "p", "total": 3}]}`, answers.Add(1))
	}))
	t.Cleanup(fake.Close)
	var out bytes.Buffer
	err := run(t.Context(), []string{"--kubeconfig", kubeconfigOf(t, fake), "--rounds", "1", "--only", "summaries"}, &out)
	if err == nil || !strings.Contains(err.Error(), "somebody else wrote") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// kubeconfigOf returns one for a server that lets everybody in.
func kubeconfigOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := api.NewConfig()
	config.Clusters["c"], config.Contexts["c"], config.CurrentContext = &api.Cluster{Server: server.URL}, &api.Context{Cluster: "c"}, "c"
	testkit.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"--rounds=0"}, {"--limit=0"}, {"--only=x"}, {"x"}} {
		if err := run(t.Context(), arguments, io.Discard); err == nil || !strings.Contains(err.Error(), "use ") && !strings.Contains(err.Error(), "--help") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if err := run(t.Context(), []string{"--help"}, io.Discard); err != nil {
		t.Errorf("--help: %v", err)
	}
}
