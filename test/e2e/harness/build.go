// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// Docket returns the path of the docket binary, built from this work tree.
func Docket(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "docket")
}

// Load returns the path of the load command.
func Load(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "load")
}

// kubernetesProgram returns the path of one of Kubernetes' programs, at the version that DOCKET_KUBERNETES names, such
// as 1.36, or else at the one that tests usually run on.
func kubernetesProgram(t testing.TB, program string) string {
	t.Helper()
	if version := os.Getenv("DOCKET_KUBERNETES"); version != "" {
		program += "-" + version
	}
	return testenv.Program(t, program)
}

// KubernetesVersion is the version of kubectl and of the control plane, such as v1.36.3.
func KubernetesVersion(t testing.TB) string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), kubernetesProgram(t, "kube-apiserver"), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(printed)), "Kubernetes ")
}

// folders are where modules are and binaries go.
type folders struct{ root, here, bin string }

func findFolders(ctx context.Context) (folders, error) {
	root, rootErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket")
	here, hereErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket/test/e2e")
	return folders{root, here, filepath.Join(root, "bin")}, errors.Join(rootErr, hereErr)
}

func goList(ctx context.Context, dir string, arguments ...string) (string, error) {
	return runGo(ctx, dir, append([]string{"list"}, arguments...)...)
}

// runGo returns what the go command prints.
func runGo(ctx context.Context, dir string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(output)), nil
}

// SampleAPIServer returns the path of Kubernetes' sample server: an unmodified server on RecommendedOptions. It needs
// an etcd, and serves wardle.example.com.
func SampleAPIServer(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "sample-apiserver")
}

// MetricsServer returns the path of metrics-server: an unmodified server without a storage that serves metrics.k8s.io.
func MetricsServer(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "metrics-server")
}

// StartOAuth2Proxy starts oauth2-proxy as a sidecar of the console with these arguments,
// except for the addresses in them. It returns where it listens, and ends with the test.
func StartOAuth2Proxy(t testing.TB, provider *Provider, console *Console, arguments []string) string {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
	own := map[string]string{"--http-address": address, "--upstream": "http://" + console.address, "--oidc-issuer-url": provider.Issuer, "--trusted-proxy-ip": "127.0.0.1"}
	p := &process{path: testenv.Program(t, "oauth2-proxy"), env: []string{
		"OAUTH2_PROXY_CLIENT_ID=" + provider.ClientID, "OAUTH2_PROXY_CLIENT_SECRET=" + provider.ClientSecret,
		"OAUTH2_PROXY_COOKIE_SECRET=" + randomToken()[:16], "OAUTH2_PROXY_PROVIDER_CA_FILES=" + provider.authority.file,
	}}
	for _, argument := range arguments {
		name, _, _ := strings.Cut(argument, "=")
		if value, ok := own[name]; ok {
			argument = name + "=" + value
			delete(own, name)
		}
		p.arguments = append(p.arguments, argument)
	}
	if len(own) > 0 {
		t.Fatalf("oauth2-proxy is not given %v", own)
	}
	testkit.NoError(t, p.start(t.Context(), func(ctx context.Context, _ *output) bool { return answers(ctx, "http://"+address+"/ping") }))
	t.Cleanup(func() {
		if err := p.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		p.log(t)
	})
	return address
}
