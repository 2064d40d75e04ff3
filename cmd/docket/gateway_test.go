// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/cli"
)

// TestGatewayCommand: errors name their flag and have the exit code of wrong use, and
// the help teaches.
func TestGatewayCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	for name, test := range map[string]struct {
		args     []string
		want     int
		wantText string
	}{
		"help":              {[]string{"--help"}, cli.ExitOK, "docket gateway --context staging"},
		"unknown profile":   {[]string{"--dir", dir, "--profile=all"}, cli.ExitUsage, "--profile"},
		"impersonate all":   {[]string{"--dir", dir, "--profile=impersonate", "--impersonate-groups=*"}, cli.ExitUsage, "list each group"},
		"no such cluster":   {[]string{"--dir", dir, "--listen=127.0.0.1:0", "--kubeconfig=/nonexistent"}, cli.ExitFailure, "--kubeconfig"},
		"not this machine":  {[]string{"--dir", dir + "2", "--listen=0.0.0.0:0"}, cli.ExitFailure, "--allow-non-loopback"},
		"bad manifest file": {[]string{"--dir", dir, "--apiservice=/nonexistent.yaml"}, cli.ExitUsage, "/nonexistent.yaml"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := docket(ctx, t, append([]string{"gateway"}, test.args...)...)
		output, _ := command.CombinedOutput()
		cancel()
		if command.ProcessState.ExitCode() != test.want || !strings.Contains(string(output), test.wantText) {
			t.Errorf("%s: want exit code %d and %q in:\n%s", name, test.want, test.wantText, output)
		}
	}
}
