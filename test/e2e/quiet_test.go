// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// mostLines about an outage: three parts that notice, each once, and that each is well again.
const mostLines = 6

// TestLogOfAnOutage: a database that is away for a while makes a few lines, and one when it is back.
func TestLogOfAnOutage(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	database := testenv.NewPostgres(t)
	up := harness.Up(t, "--database", database.Database(t))
	kubectl := up.Kubectl(t, "default")
	waitUntil(t, "all groups are registered", func() bool {
		return strings.Contains(kubectl.Run(t, "get", "apiservices", "-o", "name"), "openreports.io")
	})
	kubectl.Run(t, "wait", "--for=condition=Available", "apiservice", "--all", "--timeout=60s")
	before := strings.Count(up.Log(), "\n")
	database.Kill(t)
	for range 20 {
		_ = kubectl.Try(t, "", "get", "policyreports", "--request-timeout=1s")
		<-time.After(time.Second)
	}
	database.Start(t)
	const back = "Reading events from the database again"
	waitUntil(t, "the log says that the database is back", func() bool { return strings.Contains(up.Log(), back) })
	after := strings.TrimSpace(strings.Join(strings.Split(up.Log(), "\n")[before:], "\n"))
	if n := strings.Count(after, "\n") + 1; n > mostLines || strings.Contains(after, "Unhandled") || strings.Count(after, back) != 1 {
		t.Errorf("%d lines about an outage of 20 s, in which 20 clients gave up; %d are enough:\n%s", n, mostLines, after)
	}
}

// TestLogBeforeReady: servers for which nothing is wrong log nothing until they are ready.
func TestLogBeforeReady(t *testing.T) {
	t.Parallel()
	up := harness.Up(t)
	check := func(name string, server *harness.Server) {
		t.Helper()
		server.Stop(t)
		if text := server.Log(); klogLine.MatchString(text) {
			t.Errorf("%s has a log:\n%s", name, text)
		}
	}
	for name, arguments := range map[string][]string{
		"single-user": nil, "token": {"--profile", "token"}, "impersonate": {"--profile", "impersonate", "--impersonate-groups", "team"},
	} {
		check(name, harness.Gateway(t, up.Kubeconfig(), arguments...))
	}
	check("up", up)
}

// klogLine is how a line of the log begins.
var klogLine = regexp.MustCompile(`(?m)^[IWE][0-9]{4} `)

// TestLogOfWatches: neither a client that goes nor the end of the server is an error.
func TestLogOfWatches(t *testing.T) {
	t.Parallel()
	up := harness.Up(t)
	kubectl := up.Kubectl(t, "default")
	for range 3 {
		_ = kubectl.Try(t, "", "get", "policyreports", "--watch", "--request-timeout=1s")
	}
	events := kubectl.Watch(t, "configmaps")
	kubectl.Run(t, "create", "configmap", "one")
	<-events
	up.Stop(t)
	if text := up.Log(); klogLine.MatchString(text) {
		t.Errorf("the log has errors:\n%s", text)
	}
}
