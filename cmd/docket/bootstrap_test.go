// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// called runs the command in this process, at the given time.
func called(t *testing.T, now time.Time, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRoot(cli.Process{
		Out: &stdout, ErrOut: &stderr, Started: now,
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	code = cli.Execute(t.Context(), root, args)
	return code, stdout.String(), stderr.String()
}

// TestBootstrap: a certificate, and the List that goes with it.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	ca, secret := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "secret.yaml")
	code, out, errOut := called(t, now, "bootstrap", "certificate", "--ca-file", ca, "--out", secret)
	if code != cli.ExitOK || out != "" || !strings.Contains(errOut, "2027-11-01") {
		t.Fatalf("make a certificate: code %d, %q, %q", code, out, errOut)
	}
	for _, path := range []string{ca, secret} {
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s: %v %v, want mode 0600", path, info.Mode(), err)
		}
	}
	if content, err := os.ReadFile(secret); err != nil || !strings.Contains(string(content), "tls.key: ") {
		t.Errorf("the Secret: %v\n%s", err, content)
	}
	first := testkit.Must(os.ReadFile(ca))(t)

	code, list, errOut := called(t, now, "bootstrap", "--ca-file", ca)
	if code != cli.ExitOK || errOut != "" || strings.Count(list, "caBundle: ") != 4 || !strings.HasPrefix(list, "apiVersion: v1\nitems:\n") {
		t.Errorf("the List: code %d, %q\n%.200s", code, errOut, list)
	}

	// Again: to standard output, and the first authority stays.
	code, out, errOut = called(t, now.Add(time.Hour), "bootstrap", "certificate", "--ca-file", ca)
	if code != cli.ExitOK || !strings.Contains(out, "kind: Secret") || !strings.Contains(errOut, "2") {
		t.Errorf("make another: code %d, %q\n%.200s", code, errOut, out)
	}
	if both, err := os.ReadFile(ca); err != nil || !bytes.HasPrefix(both, first) || bytes.Count(both, []byte("BEGIN")) != 2 {
		t.Errorf("the file of authorities: %v\n%s", err, both)
	}
	code, _, errOut = called(t, now.AddDate(2, 0, 0), "bootstrap", "--ca-file", ca)
	if code != cli.ExitUsage || !strings.Contains(errOut, "--ca-file: ") || !strings.Contains(errOut, "is expired") {
		t.Errorf("after the end of both: code %d, %q", code, errOut)
	}
}

func TestBootstrapCalls(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "tls.key")
	testkit.NoError(t, os.WriteFile(key, []byte("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"), 0o600))
	folder := t.TempDir()
	const widgets = "--custom-resources=../../internal/server/apiserver/testdata/widgets.yaml"
	for name, test := range map[string]struct {
		args          []string
		code          int
		out, errOut   string // parts of them
		absent, first string // absent from out, beginning of out
	}{
		"without an authority": {args: []string{}, out: "v1alpha1.openreports.io", errOut: "Warning: no caBundle"},
		"one group":            {args: []string{"wgpolicyk8s.io"}, out: "v1alpha2.wgpolicyk8s.io", absent: "openreports.io", errOut: "Warning"},
		"results":              {args: []string{"results.docket.dev"}, out: "v1alpha1.results.docket.dev", absent: "wgpolicyk8s.io", errOut: "Warning"},
		"JSON":                 {args: []string{"-o", "json"}, first: "{\n", errOut: "Warning"},
		"elsewhere":            {args: []string{"--namespace", "reports", "--service=archive", "--create-namespace", "--https-port=8443"}, out: "name: archive", absent: "docket-system", errOut: "Warning"},
		"definitions":          {args: []string{widgets}, out: "name: v1beta1.example.com", errOut: "Warning"},
		"one of definitions":   {args: []string{widgets, "example.com"}, out: "name: v1.example.com", absent: "wgpolicyk8s.io", errOut: "Warning"},
		"without theirs":       {args: []string{widgets, "wgpolicyk8s.io"}, out: "v1alpha2.wgpolicyk8s.io", absent: "example.com", errOut: "Warning"},
		"theirs, and unknown":  {args: []string{widgets, "apps"}, code: cli.ExitUsage, errOut: `"apps" is not known: choose from example.com, openreports.io`},
		"no definition":        {args: []string{"--custom-resources", key}, code: cli.ExitUsage, errOut: "--custom-resources: "},
		"no definitions":       {args: []string{"--custom-resources", folder}, code: cli.ExitUsage, errOut: "there is no file *.yaml"},
		"unknown group":        {args: []string{"apps"}, code: cli.ExitUsage, errOut: `"apps" is not known: choose from openreports.io`},
		"unknown format":       {args: []string{"-o", "xml"}, code: cli.ExitUsage, errOut: "--output: "},
		"several mistakes":     {args: []string{"--namespace=A", "--https-port=0"}, code: cli.ExitUsage, errOut: "--https-port: "},
		"no such file":         {args: []string{"--ca-file", "/nonexistent"}, code: cli.ExitUsage, errOut: "--ca-file: open /nonexistent"},
		"a private key":        {args: []string{"--ca-file", key}, code: cli.ExitUsage, errOut: "private key"},
		"no file named":        {args: []string{"certificate"}, code: cli.ExitUsage, errOut: "--ca-file: is required"},
		"key for authorities":  {args: []string{"certificate", "--ca-file", key}, code: cli.ExitUsage, errOut: "private key"},
		"folder for a file":    {args: []string{"certificate", "--ca-file", folder}, code: cli.ExitUsage, errOut: "--ca-file: "},
		"short life":           {args: []string{"certificate", "--ca-file", key + "x", "--valid-for=1h"}, code: cli.ExitUsage, errOut: "--valid-for: "},
		"nowhere to write":     {args: []string{"certificate", "--ca-file", "/nonexistent/ca.crt"}, code: cli.ExitFailure, errOut: "--ca-file: "},
		"group of certificate": {args: []string{"certificate", "wgpolicyk8s.io"}, code: cli.ExitUsage, errOut: "no argument"},
	} {
		code, out, errOut := called(t, time.Now(), append([]string{"bootstrap"}, test.args...)...)
		if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(errOut, test.errOut) || !strings.HasPrefix(out, test.first) {
			t.Errorf("%s: code %d, want %d\n%s\n%.300s", name, code, test.code, errOut, out)
		}
		if test.absent != "" && strings.Contains(out, test.absent) {
			t.Errorf("%s: %s is in the List", name, test.absent)
		}
		if code != cli.ExitOK && out != "" {
			t.Errorf("%s: printed something in spite of the error:\n%.300s", name, out)
		}
	}
	if _, err := os.Stat(key + "x"); err == nil {
		t.Error("a wrong call wrote a file")
	}
}

func TestBootstrapCompletion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"groups":        {[]string{""}, "certificate\tMake a serving certificate and print it as a Secret\nopenreports.io\nreports.kyverno.io\nresults.docket.dev\nwgpolicyk8s.io\n:4\n"},
		"further group": {[]string{"wgpolicyk8s.io", ""}, "openreports.io\nreports.kyverno.io\nresults.docket.dev\n:4\n"},
		"formats":       {[]string{"-o", ""}, "yaml\njson\n:4\n"},
	} {
		code, out, errOut := called(t, time.Now(), append([]string{"__complete", "bootstrap"}, test.args...)...)
		if code != cli.ExitOK || out != test.want {
			t.Errorf("%s: code %d, got %q, want %q\n%s", name, code, out, test.want, errOut)
		}
	}
}
