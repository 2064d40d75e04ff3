// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestInterruptedWrite says what was written, and that it is not all.
func TestInterruptedWrite(t *testing.T) {
	t.Parallel()
	var reports atomic.Int32
	last := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		isReport := strings.HasSuffix(r.URL.Path, "/policyreports") && r.Method == http.MethodPost
		number := int32(0)
		if isReport {
			number = reports.Add(1)
		}
		switch {
		case r.Method == http.MethodGet:
			fmt.Fprint(w, `{"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}`)
		case strings.HasSuffix(r.URL.Path, "/namespaces"):
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "x"}}`)
		case number == 1:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x", "uid": "1", "resourceVersion": "1"}}`)
		default:
			if number == 3 {
				close(last)
			}
			_, _ = io.Copy(io.Discard, r.Body) // The end of a request is noticed behind its body.
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["x"], config.Contexts["x"], config.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "x"}, "x"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	testkit.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy, "pods.yaml": pod("a", "p", "") + "---\n" + pod("b", "p", "") + "---\n" + pod("c", "p", "")})

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process := controller(ctx, t, "scan", "-p", dir+"/policy.yaml", "-r", dir+"/pods.yaml", "--to", kubeconfig, "--create-namespaces")
	errOut := testkit.Must(process.StderrPipe())(t)
	testkit.NoError(t, process.Start())
	testkit.Receive(t, "the third report", last)
	testkit.NoError(t, process.Process.Signal(syscall.SIGINT))
	text := string(testkit.Must(io.ReadAll(errOut))(t))
	_ = process.Wait()
	const interrupted = 130
	// The answer to the first one may be under way.
	counts := regexp.MustCompile(`reports: (0 created, 0 updated, 0 deleted, 3|1 created, 0 updated, 0 deleted, 2) sent without an answer; namespaces created: a, b, c\n`)
	if !counts.MatchString(text) || !strings.Contains(text, "Error: interrupted: the reports are incomplete, run it again\n") {
		t.Errorf("%s", text)
	}
	if code := process.ProcessState.ExitCode(); code != interrupted {
		t.Errorf("exit code %d, want %d", code, interrupted)
	}
}
