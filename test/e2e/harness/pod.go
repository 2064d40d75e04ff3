// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// addresses counts those that pods were given. Nobody can reach them.
var addresses atomic.Int32 // Unique in the process.

// containerUser is the user of our images.
const containerUser = 65532

// pod is one that runs here: the first container of it.
type pod struct {
	machine *machine
	uid     string
	labels  map[string]string
	image   runnable
	root    string // the container's root folder
	address string
	ports   map[int32]int // of the container → on loopback
	named   map[string]int32
	output  *podLog

	// What follows belongs to the machine's loop.
	command  *exec.Cmd
	ended    chan struct{} // closed when the command has ended
	started  time.Time
	restarts int32
	stopping bool
	problem  error
	mounted  time.Time         // when the volumes were last brought up to date
	claims   map[string]string // the folders of claims by where they are in the container
	said     string

	isReady   atomic.Bool
	variables []string // guarded by the machine's mu
}

func newPod(m *machine, wanted *corev1.Pod, image runnable) *pod {
	p := &pod{
		machine: m, uid: string(wanted.UID), labels: wanted.Labels, image: image,
		root: filepath.Join(m.dir, "pods", string(wanted.UID)), address: fmt.Sprintf("10.1.0.%d", addresses.Add(1)),
		ports: map[int32]int{}, claims: map[string]string{}, named: map[string]int32{}, output: newPodLog(),
	}
	for _, port := range wanted.Spec.Containers[0].Ports {
		p.named[port.Name] = port.ContainerPort
	}
	return p
}

// local returns the port on loopback behind a port of the container. The machine's mu is held.
func (p *pod) local(port intstr.IntOrString) (int, bool) {
	number := port.IntVal
	if port.Type == intstr.String {
		number = p.named[port.StrVal]
	}
	local, ok := p.ports[number]
	return local, ok
}

// ensure keeps the volumes right, and the container running.
func (p *pod) ensure(ctx context.Context, wanted *corev1.Pod) error {
	if err := p.mount(ctx, wanted); err != nil {
		return err
	}
	if p.command != nil {
		select {
		case <-p.ended:
			p.command = nil
			p.restarts++
		default:
			return nil
		}
	}
	return p.start(ctx, wanted)
}

// start starts the container's program.
func (p *pod) start(ctx context.Context, wanted *corev1.Pod) error {
	container := &wanted.Spec.Containers[0]
	if len(p.ports) == 0 {
		if err := p.install(); err != nil {
			return err
		}
	}
	environment, err := p.environment(ctx, wanted)
	if err != nil {
		return err
	}
	arguments := append([]string(nil), container.Args...)
	for port, flags := range p.image.flags {
		for _, flag := range flags {
			if strings.Contains(flag, "%d") {
				flag = fmt.Sprintf(flag, p.ports[port])
			}
			arguments = append(arguments, flag)
		}
	}
	cmd := exec.Command("/"+filepath.Base(p.image.path), arguments...) //nolint:noctx // stop and kill end it.
	p.confine(cmd)
	cmd.Env = environment
	p.machine.mu.Lock()
	p.variables = environment
	p.machine.mu.Unlock()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	p.command, p.ended, p.started = cmd, make(chan struct{}), time.Now()
	go func(ended chan struct{}) {
		defer close(ended)
		_, _ = io.Copy(p.output, pipe) // Its end is the program's.
		_ = cmd.Wait()                 // A container that ends is started again.
	}(p.ended)
	return nil
}

// exec returns a program of the container, with the variables of the one that runs.
func (p *pod) exec(ctx context.Context, command []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	p.confine(cmd)
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	cmd.Env = p.variables
	return cmd
}

// confine gives a program the container's user and root folder.
func (p *pod) confine(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: p.root, Credential: &syscall.Credential{Uid: containerUser, Gid: containerUser},
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
	}
}

// install makes the root folder as the image has it, and chooses the ports.
func (p *pod) install() error {
	binary := filepath.Join(p.root, filepath.Base(p.image.path))
	if err := os.MkdirAll(p.root, 0o755); err != nil { //nolint:gosec // The container's user has to enter it.
		return err
	}
	if err := os.Link(p.image.path, binary); err != nil && !os.IsExist(err) {
		if output, err := exec.Command("cp", p.image.path, binary).CombinedOutput(); err != nil { //nolint:noctx // A moment.
			return fmt.Errorf("%w: %s", err, output)
		}
	}
	ports, err := testenv.FreePorts(len(p.image.flags))
	if err != nil {
		return err
	}
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	for port := range p.image.flags {
		p.ports[port], ports = ports[0], ports[1:]
	}
	return nil
}

// environment returns the container's variables.
func (p *pod) environment(ctx context.Context, wanted *corev1.Pod) ([]string, error) {
	host, port, _ := strings.Cut(strings.TrimPrefix(p.machine.kubelet.cluster.url, "https://"), ":")
	variables := []string{"PATH=/", "HOSTNAME=" + wanted.Name, "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	for _, v := range wanted.Spec.Containers[0].Env {
		value := v.Value
		if from := v.ValueFrom; from != nil {
			switch {
			case from.SecretKeyRef != nil:
				secret, err := p.machine.client.CoreV1().Secrets(wanted.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
				if ignoreMissing(err, from.SecretKeyRef.Optional) != nil {
					return nil, err
				}
				value = string(secret.Data[from.SecretKeyRef.Key])
			case from.FieldRef != nil:
				value = fields(wanted)[from.FieldRef.FieldPath]
			}
		}
		variables = append(variables, v.Name+"="+value)
	}
	return variables, nil
}

// fields are the fields of a pod that its variables and files may show.
func fields(wanted *corev1.Pod) map[string]string {
	return map[string]string{
		"metadata.name": wanted.Name, "metadata.namespace": wanted.Namespace, "metadata.uid": string(wanted.UID),
		"spec.nodeName": wanted.Spec.NodeName, "spec.serviceAccountName": wanted.Spec.ServiceAccountName,
	}
}

// ready asks the container's readiness probe.
func (p *pod) ready(ctx context.Context) bool {
	ready := p.problem == nil && p.command != nil && p.probe(ctx)
	p.isReady.Store(ready)
	return ready
}

// One for all probes.
var prober = &http.Client{
	// A kubelet does not verify, either.
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // See above.
	Timeout:   4 * time.Second,
}

func (p *pod) probe(ctx context.Context) bool {
	port := p.ports[8443]
	if controller, ok := p.ports[8080]; ok {
		port = controller
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/readyz", port), nil)
	if err != nil {
		return false
	}
	answer, err := prober.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// stop asks the program to end, and reports whether it has.
func (p *pod) stop() bool {
	p.isReady.Store(false)
	if p.command == nil {
		return true
	}
	if !p.stopping {
		p.stopping = true
		_ = p.command.Process.Signal(syscall.SIGTERM) // It may have ended by itself.
	}
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the program and waits for that.
func (p *pod) kill() {
	p.isReady.Store(false)
	if p.command != nil {
		_ = p.command.Process.Kill() // It may have ended by itself.
		<-p.ended
	}
	p.unmount()
}

// log shows what the container wrote, if the test failed.
func (p *pod) log(t testing.TB) {
	t.Helper()
	if t.Failed() {
		text, _ := p.output.from(0)
		t.Logf("%s wrote:\n%s", p.root, text)
	}
}

// Write implements io.Writer.
func (l *podLog) Write(text []byte) (int, error) {
	l.write(string(text))
	return len(text), nil
}
