// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestMain lets the test binary stand in for the command, for what needs a process: signals and
// exit codes. It ends the server that tests may have started.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUN_DOCKET_CONTROLLER") != "" {
		main()
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "docket up:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// answer is the outcome of a command.
type answer struct {
	code     int
	out, err string
}

// command runs a command in this process; input is its standard input.
func command(t *testing.T, input string, args ...string) answer {
	t.Helper()
	return commandWith(t, nil, input, args...)
}

func commandWith(t *testing.T, environment map[string]string, input string, args ...string) answer {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Execute(t.Context(), newRoot(cli.Process{
		In: strings.NewReader(input), Out: &out, ErrOut: &errOut,
		LookupEnv: func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		},
	}), args)
	return answer{code, out.String(), errOut.String()}
}

// writeFiles makes files in a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestHelpAndUsage(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"p.yaml": labelPolicy, "config.yaml": "output: tabel\n"})
	policy, resource := "--policy="+dir+"/p.yaml", "--resource="+dir+"/p.yaml"
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want int
		text string
	}{
		"help":                  {args: []string{"--help"}, text: "docket-controller scan --policy"},
		"nothing":               {text: "Available Commands"},
		"help of scan":          {args: []string{"scan", "--help"}, text: "Exit codes:"},
		"variables":             {args: []string{"scan", "--help"}, text: "DOCKET_WORKERS"},
		"version":               {args: []string{"version"}, text: "engine of Kyverno"},
		"version flag":          {args: []string{"--version"}, text: "engine of Kyverno"},
		"completion":            {args: []string{"completion", "bash"}, text: "__start_docket-controller"},
		"values of a flag":      {args: []string{"__complete", "scan", "--lookup", "c"}, text: "cluster\n:4"},
		"unknown command":       {args: []string{"scann"}, want: program.ExitTrouble, text: "scann"},
		"unknown flag":          {args: []string{"scan", "--polcy=x"}, want: program.ExitTrouble, text: "--polcy"},
		"flag of many":          {args: []string{"scan", "--policies=x"}, want: program.ExitTrouble, text: "did you mean --policy?"},
		"flag of Trivy":         {args: []string{"scan", "--severity=HIGH,CRITICAL"}, want: program.ExitTrouble, text: "did you mean --fail-on?"},
		"code of Trivy":         {args: []string{"scan", "--exit-code=1"}, want: program.ExitTrouble, text: "did you mean --fail-on?"},
		"what a shell expands":  {args: []string{"scan", "--policy", "a.yaml", "b.yaml"}, want: program.ExitTrouble, text: "name the folder"},
		"no policy":             {args: []string{"scan", resource}, want: program.ExitTrouble, text: "--policy: is required"},
		"no resource":           {args: []string{"scan", policy}, want: program.ExitTrouble, text: "--resource: is required"},
		"look-ups elsewhere":    {args: []string{"scan", policy, resource, "--lookup=x"}, want: program.ExitTrouble, text: `--lookup: "x" is none of`},
		"look-ups of nothing":   {args: []string{"scan", policy, "--lookup=files", "--kubeconfig=x"}, want: program.ExitTrouble, text: "--lookup=files needs --resource"},
		"look-ups nowhere":      {args: []string{"scan", policy, resource, "--lookup=cluster"}, want: program.ExitTrouble, text: "--lookup=cluster needs --kubeconfig"},
		"exceptions of nothing": {args: []string{"scan", "--kubeconfig=x", "--exception=x"}, want: program.ExitTrouble, text: "--exception needs --policy"},
		"context of nothing":    {args: []string{"scan", policy, resource, "--context=x"}, want: program.ExitTrouble, text: "--context needs"},
		"several namespaces":    {args: []string{"scan", policy, resource, "--namespace=a,b"}, want: program.ExitTrouble, text: "--namespace"},
		"namespaces of nothing": {args: []string{"scan", policy, resource, "--create-namespaces"}, want: program.ExitTrouble, text: "needs --to"},
		"shorthands":            {args: []string{"scan", "-p", dir + "/p.yaml", "-r", dir + "/p.yaml", "-o", "xml"}, want: program.ExitTrouble, text: `--output: "xml"`},
		"bad output":            {args: []string{"scan", policy, resource, "--output=xml"}, want: program.ExitTrouble, text: `--output: "xml"`},
		"bad API":               {args: []string{"scan", policy, resource, "--reports-api=x"}, want: program.ExitTrouble, text: "--reports-api"},
		"negative workers":      {args: []string{"scan", policy, resource, "--workers=-1"}, want: program.ExitTrouble, text: "--workers"},
		"several mistakes":      {args: []string{"scan", "--output=xml"}, want: program.ExitTrouble, text: "--output"},
		"environment":           {args: []string{"scan", policy, resource}, env: map[string]string{"DOCKET_OUTPUT": "xml"}, want: program.ExitTrouble, text: `--output: "xml"`},
		"file of settings":      {args: []string{"scan", policy, resource, "--config=" + dir + "/config.yaml"}, want: program.ExitTrouble, text: `"tabel"`},
		"no such kubeconfig":    {args: []string{"scan", policy, "--kubeconfig=/nonexistent"}, want: program.ExitTrouble, text: "--kubeconfig"},
		"no such server":        {args: []string{"scan", policy, resource, "--to=/nonexistent"}, want: program.ExitTrouble, text: "--to"},
		"no such policy":        {args: []string{"scan", "--policy=/nonexistent", resource}, want: program.ExitTrouble, text: "--policy: stat /nonexistent"},
		"no such resource":      {args: []string{"scan", policy, "--resource=/nonexistent"}, want: program.ExitTrouble, text: "--resource: stat /nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := commandWith(t, test.env, "", test.args...)
			if got.code != test.want || !strings.Contains(got.out+got.err, test.text) {
				t.Errorf("exit code %d, want %d, and %q in the text:\n%s%s", got.code, test.want, test.text, got.out, got.err)
			}
		})
	}
}

// TestProcess: exit codes and output of a real process.
func TestProcess(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy, "bad.yaml": badPod, "good.yaml": goodPod})
	for resource, want := range map[string]int{"good.yaml": cli.ExitOK, "bad.yaml": filescan.ExitFindings, "absent.yaml": program.ExitTrouble} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		output, err := controller(ctx, t, "scan", "--policy="+dir+"/policy.yaml", "--resource="+dir+"/"+resource).CombinedOutput()
		cancel()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d:\n%s", resource, code, want, output)
		}
	}
}

// TestSignal: the first signal ends a command that waits for its input, in order.
func TestSignal(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"policy.yaml": endlessPolicy(), "good.yaml": goodPod})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process := controller(ctx, t, "scan", "--policy="+dir+"/policy.yaml", "--resource=-")
	input := testkit.Must(process.StdinPipe())(t)
	errOut := testkit.Must(process.StderrPipe())(t)
	testkit.NoError(t, process.Start())
	// The pipe takes more than its buffer only once the process reads, which is after it has
	// begun to listen for signals.
	testkit.Must(io.WriteString(input, strings.Repeat("# comment\n", 1<<16)+manyPods(20_000)))(t)
	testkit.NoError(t, input.Close())
	testkit.NoError(t, process.Process.Signal(syscall.SIGTERM))
	text := testkit.Must(io.ReadAll(errOut))(t)
	_ = process.Wait()
	const ofTermination = 143
	if code := process.ProcessState.ExitCode(); code != ofTermination || !strings.Contains(string(text), "Error: interrupted\n") || strings.Contains(string(text), "cancel") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// controller is the command as a process.
func controller(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = []string{"TEST_RUN_DOCKET_CONTROLLER=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR")}
	return command
}
