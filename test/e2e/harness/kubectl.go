// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// kubectlTimeout bounds one call.
const kubectlTimeout = 2 * time.Minute

// Kubectl is kubectl with the kubeconfig of one server.
type Kubectl struct {
	kubeconfig string
	home       string // of its caches
	namespace  string
	global     []string // flags before all others
	env        []string
}

// Kubectl returns a kubectl that works in the given namespace unless told otherwise.
func (s *Server) Kubectl(t testing.TB, namespace string) *Kubectl {
	t.Helper()
	return newKubectl(t, s.Kubeconfig(), namespace)
}

// KubectlOf is Kubectl for the user of another kubeconfig. A gateway for several people
// writes none.
func (s *Server) KubectlOf(t testing.TB, namespace, kubeconfig string) *Kubectl {
	t.Helper()
	return newKubectl(t, s.KubeconfigOf(t, kubeconfig), namespace)
}

// KubeconfigOf writes a kubeconfig for this server and the user of another one, and returns its path.
func (s *Server) KubeconfigOf(t testing.TB, kubeconfig string) string {
	t.Helper()
	config := testkit.Must(clientcmd.LoadFromFile(kubeconfig))(t)
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = s.URL(t), filepath.Join(s.Dir, "ca.crt"), nil
	path := filepath.Join(t.TempDir(), "kubeconfig")
	testkit.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// KubectlMerged returns a kubectl that merges several kubeconfigs, as $KUBECONFIG has it.
func KubectlMerged(t testing.TB, namespace string, kubeconfigs ...string) *Kubectl {
	t.Helper()
	return newKubectl(t, "", namespace).WithEnv("KUBECONFIG=" + strings.Join(kubeconfigs, string(filepath.ListSeparator)))
}

func newKubectl(t testing.TB, kubeconfig, namespace string) *Kubectl {
	t.Helper()
	return &Kubectl{kubeconfig: kubeconfig, home: t.TempDir(), namespace: namespace}
}

// As returns a copy that works as another user, by impersonation.
func (k *Kubectl) As(user string, groups ...string) *Kubectl {
	copied := *k
	copied.global = []string{"--as", user}
	for _, group := range append([]string{"system:authenticated"}, groups...) {
		copied.global = append(copied.global, "--as-group", group)
	}
	return &copied
}

// WithEnv returns a copy with more environment variables, such as KUBE_EDITOR=….
func (k *Kubectl) WithEnv(variables ...string) *Kubectl {
	copied := *k
	copied.env = append(append([]string(nil), k.env...), variables...)
	return &copied
}

// Result is how a call ended.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code
}

// Try runs kubectl with stdin (may be empty) and returns how it ended.
func (k *Kubectl) Try(t testing.TB, stdin string, arguments ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kubectlTimeout)
	defer cancel()
	cmd := k.command(ctx, t, arguments)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatalf("run kubectl %s: %v", strings.Join(arguments, " "), err)
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// Run runs kubectl, fails the test unless it succeeds, and returns its standard output.
func (k *Kubectl) Run(t testing.TB, arguments ...string) string {
	t.Helper()
	return k.RunInput(t, "", arguments...)
}

// RunInput is Run with standard input.
func (k *Kubectl) RunInput(t testing.TB, stdin string, arguments ...string) string {
	t.Helper()
	result := k.Try(t, stdin, arguments...)
	if result.Code != 0 {
		t.Fatalf("kubectl %s: exit code %d\n%s%s", strings.Join(arguments, " "), result.Code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

// Refused runs kubectl, fails the test unless it fails with a message that contains
// each of the wanted texts.
func (k *Kubectl) Refused(t testing.TB, stdin string, want []string, arguments ...string) {
	t.Helper()
	result := k.Try(t, stdin, arguments...)
	if result.Code == 0 {
		t.Errorf("kubectl %s: no error, want one with %q\n%s", strings.Join(arguments, " "), want, result.Stdout)
		return
	}
	for _, text := range want {
		if !strings.Contains(result.Stderr, text) {
			t.Errorf("kubectl %s: the error does not contain %q:\n%s", strings.Join(arguments, " "), text, result.Stderr)
		}
	}
}

func (k *Kubectl) command(ctx context.Context, t testing.TB, arguments []string) *exec.Cmd {
	t.Helper()
	all := append([]string{"--kubeconfig", k.kubeconfig, "--namespace", k.namespace}, k.global...)
	all = append(all, arguments...)
	cmd := exec.CommandContext(ctx, kubernetesProgram(t, "kubectl"), all...)
	cmd.Env = append([]string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH")}, k.env...)
	return cmd
}

// Event is one that kubectl saw in a watch.
type Event struct {
	Type   string
	Object struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}
}

// String is, say, "ADDED a".
func (e Event) String() string { return e.Type + " " + e.Object.Metadata.Name }

// Watch runs `kubectl get -w` with the arguments and returns its events. It ends with
// the test; its channel is closed when kubectl ends.
func (k *Kubectl) Watch(t testing.TB, arguments ...string) <-chan Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := k.command(ctx, t, append([]string{"get", "--watch", "--output-watch-events", "-o", "json"}, arguments...))
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	testkit.NoError(t, cmd.Start())
	events := make(chan Event, 100) // More than a test looks at; a full channel stops kubectl only.
	go func() {
		defer close(events)
		for decoder := json.NewDecoder(stdout); ; {
			var event Event
			if err := decoder.Decode(&event); err != nil {
				if ctx.Err() == nil && !errors.Is(err, io.EOF) {
					events <- Event{Type: fmt.Sprintf("BROKEN (%v)", err)}
				}
				return
			}
			select {
			case events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range events { // Until the reader has ended, before Wait closes its pipe.
		}
		_ = cmd.Wait() // Killed by cancel.
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("kubectl get -w wrote: %s", stderr.String())
		}
	})
	return events
}

// Next returns the next event, as text, and fails the test if none comes.
func Next(t testing.TB, events <-chan Event) string {
	t.Helper()
	timeout := time.NewTimer(kubectlTimeout)
	defer timeout.Stop()
	select {
	case event, open := <-events:
		if !open {
			t.Fatal("the watch ended")
		}
		return event.String()
	case <-timeout.C:
		t.Fatalf("no event in %v", kubectlTimeout)
		return ""
	}
}
