// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/console"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/results/resultsapi"
)

func writeKubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "http://127.0.0.1:1"}
	config.Contexts["work"] = &clientcmdapi.Context{Cluster: "c", Namespace: "shop"}
	config.Contexts["other"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "work"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	testkit.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// TestConsole: the link that the command prints opens the console, which knows the context, until the command is
// interrupted.
func TestConsole(t *testing.T) {
	t.Parallel()
	path := writeKubeconfig(t)
	for context, want := range map[string]console.Info{
		"":      {Cluster: "http://127.0.0.1:1", Context: "work", Namespace: "shop", Kubectl: []string{"kubectl", "--kubeconfig", path}},
		"other": {Cluster: "http://127.0.0.1:1", Context: "other", Namespace: "default", Kubectl: []string{"kubectl", "--kubeconfig", path, "--context", "other"}},
	} {
		var got console.Info
		link, end := startConsole(t, "--kubeconfig", path, "--context", context)
		jar := testkit.Must(cookiejar.New(nil))(t)
		browser := &http.Client{Jar: jar}
		fetch(t, browser, link)
		testkit.NoError(t, json.Unmarshal(fetch(t, browser, link[:strings.Index(link, "/sign-in")]+"/console.json"), &got))
		want.Kinds = resultsapi.Kinds(registry.Groups(), testkit.Must(mapping.Load())(t).Kinds()...)
		testkit.NoDiff(t, cmp.Diff(want, got), "--context=%s (-want +got)", context)
		if code := end(); code != cli.ExitOK {
			t.Errorf("an interrupted console exits with %d, want 0", code)
		}
	}
}

// TestOpenedLinkIsPrivate: what the list of processes shows of --open has no token, and what has it is for its owner
// only, until the link is used or the console ends.
//
// It sets variables of the environment.
func TestOpenedLinkIsPrivate(t *testing.T) {
	home, tools := t.TempDir(), t.TempDir()
	const note = "#!/bin/sh\necho \"$@\" > \"$HOME/seen.new\" && mv \"$HOME/seen.new\" \"$HOME/seen\"\n"
	for _, name := range []string{"xdg-open", "open"} {
		testkit.NoError(t, os.WriteFile(filepath.Join(tools, name), []byte(note), 0o755))
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	for _, use := range []bool{true, false} {
		_ = os.Remove(filepath.Join(home, "seen"))
		link, end := startConsole(t, "--kubeconfig", writeKubeconfig(t), "--open")
		var seen string
		testkit.Succeeds(t, "a browser is started", func() error {
			data, err := os.ReadFile(filepath.Join(home, "seen"))
			seen = strings.TrimSpace(string(data))
			return err
		})
		_, token, _ := strings.Cut(link, "token=")
		page, isFile := strings.CutPrefix(seen, "file://"+home)
		if strings.Contains(seen, token) || !isFile || strings.Contains(page, "/.") {
			t.Errorf("the browser is started with %q", seen)
		}
		page = home + page
		for path, want := range map[string]os.FileMode{page: 0o600, filepath.Dir(page): os.ModeDir | 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v; want %s", path, info.Mode(), err, want)
			}
		}
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), html.EscapeString(link)) {
			t.Errorf("the page %q does not lead to %s: %v", text, link, err)
		}
		if use {
			fetch(t, http.DefaultClient, link)
		} else if code := end(); code != cli.ExitOK {
			t.Errorf("exit code %d", code)
		}
		if _, err := os.Stat(filepath.Dir(page)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("used %t: the folder stays, %v", use, err)
		}
		end()
	}
}

// startConsole returns the link that the command prints, and what interrupts it and returns the exit code.
func startConsole(t *testing.T, flags ...string) (string, func() int) {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		p := cli.Process{Out: writer, ErrOut: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}
		ended <- cli.Execute(ctx, newRoot(p), append([]string{"console"}, flags...))
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		if link := strings.TrimSpace(lines.Text()); strings.HasPrefix(link, "http://127.0.0.1:") {
			go func() { _, _ = io.Copy(io.Discard, reader) }()
			return link, sync.OnceValue(func() int { cancel(); return <-ended })
		}
	}
	cancel()
	t.Fatalf("no link was printed; exit code %d", <-ended)
	return "", nil
}

var consoleLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/sign-in\?token=\w+`)

// TestUpConsole: the link that docket up prints opens a console with the rights of its kubeconfig and the mappings that
// docket up has, until docket up ends.
func TestUpConsole(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	state := filepath.Join(t.TempDir(), "state folder")
	const mappings = "../../internal/server/apiserver/testdata/mappings.yaml"
	command := docket(ctx, t, "up", "--dir", state, "--listen", "127.0.0.1:0", "--result-mappings", mappings)
	out := newLines(t)
	command.Stdout, command.Stderr = out, os.Stderr
	testkit.NoError(t, command.Start())
	link := consoleLink.FindString(out.wait(t, "Results in your browser (once, within 10 minutes): "))
	jar := testkit.Must(cookiejar.New(nil))(t)
	browser := &http.Client{Jar: jar}
	fetch(t, browser, link)
	base, _, _ := strings.Cut(link, "/sign-in")
	var list struct{ Kind string }
	if err := json.Unmarshal(fetch(t, browser, base+"/apis/results.docket.dev/v1alpha1/policyresults"), &list); err != nil || list.Kind != "PolicyResultList" {
		t.Errorf("the console answers with a %s, error %v", list.Kind, err)
	}
	var info console.Info
	testkit.NoError(t, json.Unmarshal(fetch(t, browser, base+"/console.json"), &info))
	if want := "docket console --kubeconfig '" + filepath.Join(state, "kubeconfig") + "' --open --result-mappings " + mappings; info.NewLink != want || info.Context != "docket" {
		t.Errorf("the pages know %+v, want the command %s", info, want)
	}
	if !slices.ContainsFunc(info.Kinds, func(k mapping.Kind) bool { return k.Kind == "Finding" }) {
		t.Errorf("the pages know the kinds %v, and none of the mappings", info.Kinds)
	}
	testkit.NoError(t, command.Process.Signal(syscall.SIGTERM))
	if err := command.Wait(); err != nil {
		t.Errorf("docket up ended with %v", err)
	}
	if response, err := browser.Get(base); err == nil {
		t.Errorf("the console answers after the end: %s", response.Status)
		_ = response.Body.Close()
	}
}

func fetch(t *testing.T, browser *http.Client, address string) []byte {
	t.Helper()
	response, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", address, response.Status, err, body)
	}
	return body
}

func TestConsoleRefuses(t *testing.T) {
	t.Parallel()
	path := writeKubeconfig(t)
	for want, flags := range map[string][]string{
		"--allow-non-loopback": {"--kubeconfig", path, "--listen", "0.0.0.0:0"},
		"--listen":             {"--kubeconfig", path, "--listen", "127.0.0.1"},
		"--kubeconfig":         {"--kubeconfig", path + "-missing"},
		`--context: the kubeconfig has no context "x"; it has other, work`: {"--kubeconfig", path, "--context", "x"},
	} {
		var out bytes.Buffer
		p := cli.Process{Out: &out, ErrOut: &out, LookupEnv: func(string) (string, bool) { return "", false }}
		if code := cli.Execute(t.Context(), newRoot(p), append([]string{"console"}, flags...)); code == cli.ExitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit code %d, %q; want an error with %q", flags, code, out.String(), want)
		}
	}
}
