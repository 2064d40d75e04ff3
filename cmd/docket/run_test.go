// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
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
		"help":            {[]string{"--help"}, exitOK, "{proxy-ca}"},
		"no command":      {nil, exitUsage, "docket run --"},
		"bad name":        {[]string{"--name=A", "--", "x"}, exitUsage, "--name"},
		"with dashes":     {[]string{"--dir=/nonexistent", "--", "x", "--help"}, exitFailure, "/nonexistent/kubeconfig"},
		"without dashes":  {[]string{"--dir=/nonexistent", "x", "--help"}, exitFailure, "/nonexistent/kubeconfig"},
		"several at once": {[]string{"--server-port=-1", "--flags=x", "x"}, exitUsage, "--flags"},
	} {
		var out bytes.Buffer
		command := newRun(process{out: &out, errOut: &out, lookupEnv: func(string) (string, bool) { return "", false }})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetOut(&out)
		command.SetErr(&out)
		if got := execute(t.Context(), command, append([]string{}, test.args...)); got != test.want || !strings.Contains(out.String(), test.text) {
			t.Errorf("%s: exit code %d and this text, want %d and %q in it:\n%s", name, got, test.want, test.text, out.String())
		}
	}
}
