// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// TestMain lets the test binary stand in for the command, for what needs a process:
// signals and exit codes.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUN_DOCKET") != "" {
		main()
	}
	os.Exit(uptest.Run(m, &shared))
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	state := func(name string) string { return "--dir=" + filepath.Join(t.TempDir(), name) }
	tests := map[string]struct {
		args     []string
		env      map[string]string
		want     int
		wantText string
	}{
		"help":                    {args: []string{"--help"}, want: cli.ExitOK, wantText: "docket up --demo"},
		"nothing":                 {want: cli.ExitOK, wantText: "Available Commands"},
		"help of a command":       {args: []string{"serve", "--help"}, want: cli.ExitOK, wantText: " more flags, of the Kubernetes library for API servers: `docket help --all serve`."},
		"commands of a command":   {args: []string{"conformance", "--help"}, want: cli.ExitOK, wantText: "\nCommands:\n  docket conformance list"},
		"no such kubeconfig":      {args: []string{"results", "list", "--kubeconfig=testdata/nope", "--context=nope"}, want: cli.ExitUsage, wantText: "--kubeconfig: "},
		"all flags of a command":  {args: []string{"help", "--all", "serve"}, want: cli.ExitOK, wantText: "--authentication-kubeconfig"},
		"version":                 {args: []string{"version"}, want: cli.ExitOK, wantText: "Kubernetes library v1."},
		"version flag":            {args: []string{"--version"}, want: cli.ExitOK, wantText: "Kubernetes library v1."},
		"completion":              {args: []string{"completion", "bash"}, want: cli.ExitOK, wantText: "__start_docket"},
		"unknown command":         {args: []string{"upp"}, want: cli.ExitUsage, wantText: "did you mean `docket up`?"},
		"unlike any command":      {args: []string{"frobnicate"}, want: cli.ExitUsage, wantText: "`docket --help` shows"},
		"unknown flag":            {args: []string{"up", "--lisen=x"}, want: cli.ExitUsage, wantText: "--lisen; did you mean --listen?"},
		"unlike any flag":         {args: []string{"up", "--frobnicate"}, want: cli.ExitUsage, wantText: "--frobnicate"},
		"argument":                {args: []string{"serve", "x"}, want: cli.ExitUsage, wantText: `no argument "x"`},
		"no database":             {args: []string{"serve"}, want: cli.ExitUsage, wantText: "--database: is required"},
		"several mistakes":        {args: []string{"serve", "--watch-history=1s", "--api-groups=x", "--cache-bytes=1"}, want: cli.ExitUsage, wantText: "--cache-bytes"},
		"bad value":               {args: []string{"up", "--watch-history=soon"}, want: cli.ExitUsage, wantText: "--watch-history"},
		"bad bytes":               {args: []string{"up", "--cache-bytes=many"}, want: cli.ExitUsage, wantText: "64Mi"},
		"bad environment":         {args: []string{"up"}, env: map[string]string{"DOCKET_WATCH_HISTORY": "soon"}, want: cli.ExitUsage, wantText: "DOCKET_WATCH_HISTORY"},
		"help of what is not":     {args: []string{"help", "upp"}, want: cli.ExitUsage, wantText: "has no command \"upp\"; did you mean `docket up`?"},
		"help of what is":         {args: []string{"help", "migrate", "crds"}, want: cli.ExitOK, wantText: "docket migrate crds"},
		"help below":              {args: []string{"help", "migrate", "crdz"}, want: cli.ExitUsage, wantText: "did you mean `docket migrate crds`?"},
		"verbosity":               {args: []string{"up", "-v", "x"}, want: cli.ExitUsage, wantText: "--v: \"x\" is not a whole number"},
		"value of a gate":         {args: []string{"up", "--feature-gates=Foo=maybe"}, want: cli.ExitUsage, wantText: "--feature-gates: \"Foo=maybe\": each value must be true or false"},
		"no such file":            {args: []string{"up", "--config=/nonexistent.yaml"}, want: cli.ExitUsage, wantText: "/nonexistent.yaml"},
		"open to others":          {args: []string{"up", state("1"), "--listen=0.0.0.0:0"}, want: cli.ExitFailure, wantText: "--allow-non-loopback"},
		"no port":                 {args: []string{"up", state("2"), "--listen=localhost"}, want: cli.ExitFailure, wantText: "--listen"},
		"not in a cluster":        {args: []string{"serve", "--database=sqlite:///x.db", "--secure-port=0"}, want: cli.ExitFailure, wantText: "--kubeconfig"},
		"database of no kind":     {args: []string{"up", state("3"), "--listen=127.0.0.1:0", "--database=mysql://x"}, want: cli.ExitUsage, wantText: "--database"},
		"password is not shown":   {args: []string{"up", state("4"), "--listen=127.0.0.1:0", "--database=mysql://u:hunter2@x"}, want: cli.ExitUsage, wantText: "mysql"},
		"unknown feature gate":    {args: []string{"up", "--feature-gates=Nonsense=true"}, want: cli.ExitUsage, wantText: "Nonsense"},
		"migrate without a place": {args: []string{"migrate", "results"}, want: cli.ExitUsage, wantText: "--database: is required"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := docket(ctx, t, test.args...)
			for key, value := range test.env {
				command.Env = append(command.Env, key+"="+value)
			}
			output, _ := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != test.want || !strings.Contains(string(output), test.wantText) {
				t.Errorf("exit code %d and this text, want %d and %q in it:\n%s", got, test.want, test.wantText, output)
			}
			if strings.Contains(string(output), "hunter2") {
				t.Errorf("the password is shown:\n%s", output)
			}
		})
	}
}

// docket is the command as a process, with a home folder of its own.
func docket(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = []string{"TEST_RUN_DOCKET=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR")}
	return command
}

// TestSignals: the first signal ends `docket up` in order, and it says where the
// reports are; a kubeconfig that was there before works again after a restart.
func TestSignals(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state with space")
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t)) // Nobody else gets it between two lives.
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := docket(ctx, t, "up", "--dir", state, "--listen", address)
		out := newLines(t)
		command.Stdout, command.Stderr = out, os.Stderr
		testkit.NoError(t, command.Start())
		out.wait(t, "Docket is ready")
		if export := out.wait(t, "export KUBECONFIG="); !strings.Contains(export, "'"+state+"/kubeconfig'") {
			t.Errorf("the path is not quoted: %s", export)
		}
		askVersion(t, filepath.Join(state, "kubeconfig"))
		testkit.NoError(t, command.Process.Signal(syscall.SIGTERM))
		if err := command.Wait(); err != nil {
			t.Errorf("docket up ended with %v", err)
		}
		out.wait(t, "Docket has stopped")
		cancel()
	}
}

// TestInterruptedWait: a signal to a command that waits is said in a word, and is in the exit code.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := docket(ctx, t, "up", "--dir", filepath.Join(t.TempDir(), "state"), "--listen", "127.0.0.1:0", "--database", "postgres://me:hunter2@127.0.0.1:1/x")
	out := newLines(t)
	command.Stdout, command.Stderr = out, out
	testkit.NoError(t, command.Start())
	out.wait(t, "Warning: --database")
	if line := out.wait(t, "Waiting for the database"); strings.TrimSpace(line) != "Waiting for the database postgres://me:xxxxx@127.0.0.1:1/x: connection refused; giving up in 20s" {
		t.Errorf("it says %s", line)
	}
	testkit.NoError(t, command.Process.Signal(syscall.SIGINT))
	if line := out.wait(t, "Error:"); strings.TrimSpace(line) != "Error: interrupted" {
		t.Errorf("it ends with %s", line)
	}
	const ofInterrupt = 130
	if err := command.Wait(); command.ProcessState.ExitCode() != ofInterrupt {
		t.Errorf("docket up ended with %v, want exit code %d", err, ofInterrupt)
	}
}

func askVersion(t *testing.T, kubeconfig string) {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)
	client := testkit.Must(rest.HTTPClientFor(config))(t)
	defer client.CloseIdleConnections()
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/apis/wgpolicyk8s.io/v1alpha2/policyreports", nil))(t)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("list reports with the kubeconfig: %s %v", response.Status, err)
	}
}

// lines is an output that tests wait on.
type lines struct {
	text chan string
	rest bytes.Buffer
}

func newLines(t *testing.T) *lines {
	t.Helper()
	return &lines{text: make(chan string, 1000)}
}

// Write implements io.Writer for one goroutine.
func (l *lines) Write(p []byte) (int, error) {
	l.rest.Write(p)
	for bytes.ContainsRune(l.rest.Bytes(), '\n') {
		line, err := l.rest.ReadString('\n')
		if err != nil {
			return 0, err
		}
		l.text <- line
	}
	return len(p), nil
}

func (l *lines) wait(t *testing.T, part string) string {
	t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case line := <-l.text:
			if strings.Contains(line, part) {
				return line
			}
		case <-timer.C:
			t.Fatalf("no line with %q came", part)
		}
	}
}
