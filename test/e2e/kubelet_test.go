// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// streams are all ways in which kubectl can speak with a container.
var streams = map[string]string{"websocket": "true", "spdy": "false"}

// TestKubelet proves the kubelet of the harness, so that what fails behind a gateway
// is the gateway's fault: commands, logs, attached streams and forwarded ports through
// the plain control plane.
func TestKubelet(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	apps := c.Namespace(t, "apps")
	kubelet := c.StartKubelet(t, "node-of-"+apps)
	kubelet.RunPod(t, apps, "web")
	for name, webSocket := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubectl := c.Kubectl(t, apps).WithEnv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSocket, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+webSocket)
			t.Run("exec", func(t *testing.T) { testExec(t, kubectl, "web") })
			t.Run("attach", func(t *testing.T) { testAttach(t, kubectl, "web") })
			t.Run("port-forward", func(t *testing.T) { testPortForward(t, kubectl, "web") })
			t.Run("logs", func(t *testing.T) {
				pod := "logs-" + name
				kubelet.RunPod(t, apps, pod)
				testLogs(t, kubectl, kubelet, apps, pod)
			})
		})
	}
}

// testExec: output, input, errors and exit code of a command arrive, while it runs.
func testExec(t *testing.T, kubectl *harness.Kubectl, pod string) {
	t.Helper()
	if got := kubectl.Run(t, "exec", pod, "--", "echo", "hello"); got != "hello\n" {
		t.Errorf("echo printed %q", got)
	}
	if got := kubectl.RunInput(t, "some input", "exec", "-i", pod, "--", "cat"); got != "some input" {
		t.Errorf("cat of the input printed %q", got)
	}
	result := kubectl.Try(t, "", "exec", pod, "--", "sh", "-c", "echo trouble >&2; exit 7")
	if result.Code != 7 || !strings.Contains(result.Stderr, "trouble") {
		t.Errorf("a command with exit code 7: got %+v", result)
	}
	running := kubectl.Start(t, "exec", "-i", pod, "--", "cat")
	for i := range 3 {
		line := fmt.Sprintf("line %d", i)
		testkit.Must(fmt.Fprintln(running.Stdin, line))(t)
		if got := running.Line(t); got != line {
			t.Errorf("cat answered %q to %q", got, line)
		}
	}
	testLargeExec(t, kubectl, pod)
}

// testLargeExec: megabytes pass in both directions at once, and the exit code after them.
func testLargeExec(t *testing.T, kubectl *harness.Kubectl, pod string) {
	t.Helper()
	input := strings.Repeat("all work and no play makes a dull boy\n", 100_000)
	result := kubectl.Try(t, input, "exec", "-i", pod, "--", "sh", "-c", "cat; exit 3")
	if result.Code != 3 || result.Stdout != input {
		t.Errorf("cat of %d bytes printed %d bytes and ended with code %d, want 3: %.300s", len(input), len(result.Stdout), result.Code, result.Stderr)
	}
}

// testAttach: a container that runs hears and answers.
func testAttach(t *testing.T, kubectl *harness.Kubectl, pod string) {
	t.Helper()
	running := kubectl.Start(t, "attach", "-i", "-q", pod)
	if got := running.Line(t); got != "this is "+pod {
		t.Errorf("the container said %q", got)
	}
	testkit.Must(fmt.Fprintln(running.Stdin, "ping"))(t)
	if got := running.Line(t); got != "ping" {
		t.Errorf("the container answered %q", got)
	}
}

// testLogs: what was written before and what is written later arrive in order.
func testLogs(t *testing.T, kubectl *harness.Kubectl, kubelet *harness.Kubelet, namespace, pod string) {
	t.Helper()
	for i := range 3 {
		kubelet.Log(t, namespace, pod, fmt.Sprintf("line %d", i))
	}
	if got := kubectl.Run(t, "logs", pod); got != "line 0\nline 1\nline 2\n" {
		t.Errorf("logs printed %q", got)
	}
	if got := kubectl.Run(t, "logs", "--tail=2", pod); got != "line 1\nline 2\n" {
		t.Errorf("the last two lines are %q", got)
	}
	following := kubectl.Start(t, "logs", "-f", pod)
	for i := range 5 {
		if i >= 3 { // After kubectl has seen all before.
			kubelet.Log(t, namespace, pod, fmt.Sprintf("line %d", i))
		}
		if got, want := following.Line(t), fmt.Sprintf("line %d", i); got != want {
			t.Errorf("logs -f printed %q, want %q", got, want)
		}
	}
}

// testPortForward: several connections through one forwarded port.
func testPortForward(t *testing.T, kubectl *harness.Kubectl, pod string) {
	t.Helper()
	running := kubectl.Start(t, "port-forward", pod, ":8080")
	found := regexp.MustCompile(`^Forwarding from (\S+) -> 8080$`).FindStringSubmatch(running.Line(t))
	if found == nil {
		t.Fatal("kubectl port-forward does not say from where it forwards")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for i := range 3 {
		response, err := client.Get(fmt.Sprintf("http://%s/%d", found[1], i))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if closeErr := response.Body.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		if want := fmt.Sprintf("this is /%d", i); string(body) != want {
			t.Errorf("the web server in the pod said %q, want %q", body, want)
		}
	}
}
