// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestConsoleForTeam: behind a proxy, the console sends each person's token to the cluster, and the kubeconfig's to
// nobody.
func TestConsoleForTeam(t *testing.T) {
	t.Parallel()
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")) // A broken connection shows.
	}))
	t.Cleanup(cluster.Close)
	path := writeKubeconfig(t)
	config := testkit.Must(clientcmd.LoadFromFile(path))(t)
	config.Clusters["c"].Server = cluster.URL
	config.AuthInfos["starter"] = &clientcmdapi.AuthInfo{Token: "starter"}
	config.Contexts["work"].AuthInfo = "starter"
	testkit.NoError(t, clientcmd.WriteToFile(*config, path))
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	// The name of a setting is the same in the environment.
	environment := map[string]string{"DOCKET_SIGN_IN": "token", "DOCKET_HOST": "localhost"}
	go func() {
		p := cli.Process{Out: writer, ErrOut: io.Discard, LookupEnv: func(name string) (string, bool) { v, ok := environment[name]; return v, ok }}
		ended <- cli.Execute(ctx, newRoot(p), []string{"console", "--kubeconfig", path})
		_ = writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	address := regexp.MustCompile(`^Listening on (127\.0\.0\.1:\d+) for the proxy .*\(--sign-in=token\)`).FindStringSubmatch(line)
	if err != nil || address == nil {
		t.Fatalf("the console printed %q, %v; exit code %d", line, err, <-ended)
	}
	get := func(path, token string) (int, string) {
		r := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address[1]+path, http.NoBody))(t)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body := testkit.Must(io.ReadAll(response.Body))(t)
		return response.StatusCode, string(body)
	}
	if code, body := get("/api/v1/namespaces", "alice"); code != http.StatusOK || body != "Bearer alice" {
		t.Errorf("with a token: %d, the cluster sees %q", code, body)
	}
	if code, body := get("/api/v1/namespaces", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", code, body)
	}
	// Only the person who started the console may know the rest.
	if _, body := get("/console.json", "alice"); !strings.HasPrefix(body, `{"cluster":"","context":"work","kubectl":["kubectl"],"signIn":"token","kinds":[`) {
		t.Errorf("the pages know %s", body)
	}
	cancel()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("an interrupted console exits with %d, want 0", code)
	}
}

func TestConsoleForTeamRefuses(t *testing.T) {
	t.Parallel()
	path := writeKubeconfig(t)
	for want, flags := range map[string][]string{
		"--sign-in":              {"--sign-in", "oidc"},
		"--host":                 {"--sign-in", "token"},
		"--open":                 {"--sign-in", "token", "--host", "a", "--open"},
		"--tls-cert-file":        {"--sign-in", "token", "--host", "a", "--listen", "0.0.0.0:0"},
		"--proxy-client-ca-file": {"--sign-in", "headers", "--host", "a", "--listen", "0.0.0.0:0", "--allow-non-loopback"},
		"--proxy-client-names":   {"--sign-in", "headers", "--host", "a", "--proxy-client-ca-file", "x", "--tls-cert-file", "x", "--tls-private-key-file", "x"},
		"no such file":           {"--sign-in", "token", "--host", "a", "--tls-cert-file", path + "-missing", "--tls-private-key-file", path},
	} {
		var out bytes.Buffer
		p := cli.Process{Out: &out, ErrOut: &out, LookupEnv: func(string) (string, bool) { return "", false }}
		code := cli.Execute(t.Context(), newRoot(p), append([]string{"console", "--kubeconfig", path}, flags...))
		if code == cli.ExitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit code %d, %q; want an error with %q", flags, code, out.String(), want)
		}
	}
}
