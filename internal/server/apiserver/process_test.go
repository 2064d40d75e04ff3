// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// serverVariable has the URL of a database: a test process with it is a server, until
// its standard input ends.
const serverVariable = "DOCKET_TEST_SERVER"

func TestMain(m *testing.M) {
	url, ok := os.LookupEnv(serverVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := serveProcess(url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// address is how a server process is reached.
type address struct {
	Host, ServerName string
	CA               []byte
}

func serveProcess(databaseURL string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := newServer(ctx, databaseURL)
	if err != nil {
		return err
	}
	loopback := server.Generic.LoopbackClientConfig
	if err := json.NewEncoder(os.Stdout).Encode(address{loopback.Host, loopback.ServerName, loopback.CAData}); err != nil {
		return errors.Join(err, server.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	return errors.Join(err, <-ended)
}

// serverProcess is a server in a process of its own, whose memory can be told from that
// of its clients.
type serverProcess struct {
	*testServer

	pid int
}

// startProcess runs a server until the test ends. It fails the test if the server ends
// before.
func startProcess(t *testing.T, databaseURL string, environment ...string) *serverProcess {
	t.Helper()
	process := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	process.Env = append(append(os.Environ(), serverVariable+"="+databaseURL), environment...)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testkit.NoError(t, process.Start())
	t.Cleanup(func() {
		if err := errors.Join(input.Close(), process.Wait()); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	var at address
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err = errors.Join(err, json.Unmarshal(line, &at)); err != nil {
		t.Fatalf("the server does not say where it is: %v", err)
	}
	s := &testServer{config: &rest.Config{
		Host: at.Host, BearerToken: testToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{ServerName: at.ServerName, CAData: at.CA},
	}}
	s.http = testkit.Must(rest.HTTPClientFor(s.config))(t)
	t.Cleanup(s.http.CloseIdleConnections)
	s.client = testkit.Must(dynamic.NewForConfigAndClient(s.config, s.http))(t)
	s.waitReady(t)
	return &serverProcess{s, process.Process.Pid}
}

// peak returns the most memory that the process ever had, in bytes.
func (s *serverProcess) peak(t *testing.T) int64 {
	t.Helper()
	status := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid)))(t)
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	t.Fatalf("no peak of memory in\n%s", status)
	return 0
}
