// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/cli"
)

// TestRunCommandLine: what follows the command's name is the command's own, and a
// missing or impossible option is a mistake of the caller.
func TestRunCommandLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want int
		text string
	}{
		"help":            {[]string{"--help"}, cli.ExitOK, "{proxy-ca}"},
		"no command":      {nil, cli.ExitUsage, "docket run --"},
		"bad name":        {[]string{"--name=A", "--", "x"}, cli.ExitUsage, "--name"},
		"with dashes":     {[]string{"--dir=/nonexistent", "--", "x", "--help"}, cli.ExitFailure, "/nonexistent/kubeconfig"},
		"without dashes":  {[]string{"--dir=/nonexistent", "x", "--help"}, cli.ExitFailure, "/nonexistent/kubeconfig"},
		"several at once": {[]string{"--name=A", "--timeout=-1s", "x"}, cli.ExitUsage, "--timeout"},
	} {
		var out bytes.Buffer
		command := newRun(cli.Process{Out: &out, ErrOut: &out, LookupEnv: func(string) (string, bool) { return "", false }})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetOut(&out)
		command.SetErr(&out)
		if got := cli.Execute(t.Context(), command, append([]string{}, test.args...)); got != test.want || !strings.Contains(out.String(), test.text) {
			t.Errorf("%s: exit code %d and this text, want %d and %q in it:\n%s", name, got, test.want, test.text, out.String())
		}
	}
}
