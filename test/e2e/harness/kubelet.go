// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	streamIdleTimeout     = time.Hour
	streamCreationTimeout = 30 * time.Second
)

// Kubelet plays the kubelet of one node on loopback. What it says is made up, but it
// speaks the real protocols, with Kubernetes' own code for the streams: a container's
// commands run as processes of this machine.
type Kubelet struct {
	// Node is the name of its node.
	Node string

	cluster *Cluster
	server  *httptest.Server
	web     *httptest.Server // behind every port of every pod
	started time.Time

	machine *machine // runs pods; nil if they are made up

	mu   sync.Mutex // guards pods
	pods map[podKey]*podLog
}

type podKey struct{ namespace, name string }

// podLog is what a pod's container has written.
type podLog struct {
	mu      sync.Mutex // guards the fields below
	text    []byte
	changed chan struct{} // closed and replaced when text grows
}

func newPodLog() *podLog { return &podLog{changed: make(chan struct{})} }

func (l *podLog) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	close(l.changed)
	l.changed = make(chan struct{})
}

// from returns what was written after the first bytes, and a channel that is closed when
// there is more.
func (l *podLog) from(offset int) ([]byte, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text[offset:]), l.changed
}

// handler answers as a kubelet does, without asking who wants to know.
func (k *Kubelet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLogs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.serveExec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", k.serveAttach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.servePortForward)
	mux.HandleFunc("GET /metrics/resource", k.serveMetrics)
	mux.HandleFunc("GET /stats/summary", k.serveSummary)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	return mux
}

// pod returns the log of the pod in the path, and answers 404 if there is none.
func (k *Kubelet) pod(w http.ResponseWriter, r *http.Request) (*podLog, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	log, ok := k.pods[podKey{r.PathValue("namespace"), r.PathValue("pod")}]
	if !ok {
		http.Error(w, "pod does not exist", http.StatusNotFound)
	}
	return log, ok
}

func (k *Kubelet) serveLogs(w http.ResponseWriter, r *http.Request) {
	log, ok := k.pod(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	offset := 0
	if tail := r.FormValue("tailLines"); tail != "" {
		all, _ := log.from(0)
		offset = tailOffset(all, tail)
	}
	flusher := http.NewResponseController(w)
	for {
		text, changed := log.from(offset)
		offset += len(text)
		if _, err := w.Write(text); err != nil {
			return // The client has gone.
		}
		if r.FormValue("follow") != "true" || flusher.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// tailOffset is where the last lines of a text begin.
func tailOffset(text []byte, lines string) int {
	count, err := strconv.Atoi(lines)
	if err != nil {
		return 0
	}
	offset := len(text)
	for range count + 1 {
		if offset = bytes.LastIndexByte(text[:max(offset, 0)], '\n'); offset < 0 {
			return 0
		}
	}
	return offset + 1
}

func (k *Kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	if _, ok := k.pod(w, r); !ok {
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, container{kubelet: k, namespace: r.PathValue("namespace")}, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"],
		options, streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) serveAttach(w http.ResponseWriter, r *http.Request) {
	log, ok := k.pod(w, r)
	if !ok {
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, container{log: log}, r.PathValue("pod"), "", r.PathValue("container"),
		options, streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) servePortForward(w http.ResponseWriter, r *http.Request) {
	if _, ok := k.pod(w, r); !ok {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{k, r.PathValue("namespace")}, r.PathValue("pod"), "",
		options, streamIdleTimeout, streamCreationTimeout, portforward.SupportedProtocols)
}

// container is what runs in a pod.
type container struct {
	log       *podLog // for attach
	kubelet   *Kubelet
	namespace string
}

// command is a program in the container: in its root folder if the pod runs, of this machine if it is made up.
func (c container) command(ctx context.Context, pod string, command []string) (*exec.Cmd, error) {
	if c.kubelet.machine == nil {
		return exec.CommandContext(ctx, command[0], command[1:]...), nil
	}
	p, err := c.kubelet.machine.find(podKey{c.namespace, pod})
	if err != nil {
		return nil, err
	}
	return p.exec(ctx, command), nil
}

// ExecInContainer implements remotecommand.Executor. There are no terminals.
func (c container) ExecInContainer(ctx context.Context, pod, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	go drain(resize)
	cmd, err := c.command(ctx, pod, command)
	if err != nil {
		return err
	}
	if out != nil {
		cmd.Stdout = out
	}
	if errOut != nil {
		cmd.Stderr = errOut
	}
	if in != nil {
		// Not cmd.Stdin: Wait must not wait for a client that keeps its input open.
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(pipe, in) // The command may end before its input.
			_ = pipe.Close()
		}()
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// AttachContainer implements remotecommand.Attacher: the container's program is one that
// says who it is and then repeats its input, on its output and in its log.
func (c container) AttachContainer(_ context.Context, name, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	go drain(resize)
	if out == nil {
		return nil
	}
	if _, err := fmt.Fprintf(out, "this is %s\n", name); err != nil {
		return err
	}
	if in == nil {
		return nil
	}
	buffer := make([]byte, 4096)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			c.log.write(string(buffer[:n]))
			if _, err := out.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// drain takes what a terminal would want to know, until the connection ends.
func drain(resize <-chan remotecommand.TerminalSize) {
	if resize == nil {
		return
	}
	for range resize {
	}
}

// forwarder connects to the ports of pods that run, and to one web server for those that are made up.
type forwarder struct {
	kubelet   *Kubelet
	namespace string
}

// address returns where a port of a pod is on this machine.
func (f forwarder) address(pod string, port int32) (string, error) {
	if f.kubelet.machine == nil {
		return strings.TrimPrefix(f.kubelet.web.URL, "http://"), nil
	}
	return f.kubelet.machine.port(podKey{f.namespace, pod}, port)
}

// PortForward implements portforward.PortForwarder.
func (f forwarder) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address, err := f.address(pod, port)
	if err != nil {
		return err
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(connection, stream)
		ended <- err
	}()
	go func() {
		_, err := io.Copy(stream, connection)
		ended <- err
	}()
	err = <-ended
	return errors.Join(err, connection.Close())
}

// serveMetrics has what metrics-server reads: a tenth of a CPU for each container.
func (k *Kubelet) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	cpu, stamp := now.Sub(k.started).Seconds()/10, now.UnixMilli()
	var text strings.Builder
	fmt.Fprintf(&text, "node_cpu_usage_seconds_total %f %d\nnode_memory_working_set_bytes %d %d\n", 2*cpu+1, stamp, 1<<30, stamp)
	for _, pod := range k.podKeys() {
		labels := fmt.Sprintf(`container="main",namespace=%q,pod=%q`, pod.namespace, pod.name)
		fmt.Fprintf(&text, "container_cpu_usage_seconds_total{%s} %f %d\n", labels, cpu+1, stamp)
		fmt.Fprintf(&text, "container_memory_working_set_bytes{%s} %d %d\n", labels, 64<<20, stamp)
		fmt.Fprintf(&text, "container_start_time_seconds{%s} %d\n", labels, k.started.Unix())
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprint(w, text.String())
}

func (k *Kubelet) serveSummary(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"node":{"nodeName":%q,"startTime":%q},"pods":[`, k.Node, k.started.Format(time.RFC3339))
	for i, pod := range k.podKeys() {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, `{"podRef":{"name":%q,"namespace":%q}}`, pod.name, pod.namespace)
	}
	fmt.Fprint(w, "]}")
}

func (k *Kubelet) podKeys() []podKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []podKey
	for key := range k.pods {
		keys = append(keys, key)
	}
	return keys
}
