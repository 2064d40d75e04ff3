// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// podInterval is how often pods, their volumes and their probes are looked at.
const podInterval = 200 * time.Millisecond

// image is what pods of an image run: a static binary, and flags that give it ports of its
// own, since all pods share the ports of this machine.
type image struct {
	binary func(testing.TB) string
	// flags by the port of the container, with %d for the port on loopback.
	flags map[int32][]string
}

// images are those of Docket, by the last part of their names.
func images() map[string]image {
	return map[string]image{
		"docket": {Docket, map[int32][]string{8443: {"--bind-address=127.0.0.1", "--secure-port=%d"}}},
		"docket-controller": {ControllerBinary, map[int32][]string{
			8080: {"--metrics-bind-address=127.0.0.1:%d"}, 9443: {"--webhook-bind-address=127.0.0.1:%d"},
		}},
	}
}

// machine runs the pods of a cluster as processes of this machine: their images' binaries in a
// root folder of their own, with their volumes, users, variables and probes. It binds every pod to
// its node, and gives Services their addresses by way of the API server's egress proxy.
type machine struct {
	kubelet *Kubelet
	client  kubernetes.Interface
	dir     string
	images  map[string]runnable

	mu   sync.Mutex // guards pods
	pods map[podKey]*pod
}

// runnable is an image whose binary was built.
type runnable struct {
	image
	path string
}

// StartMachine starts a node that runs the Deployments and StatefulSets of Docket. The cluster
// has to be started with [Pods]. It needs root, as container runtimes do.
func (c *Cluster) StartMachine(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test gives processes root folders and users of their own, for which it has to be root")
	}
	if c.egress == nil {
		t.Fatal("the cluster was started without harness.Pods")
	}
	m := &machine{
		kubelet: c.StartKubelet(t, "machine"), client: c.Client(t), dir: t.TempDir(),
		images: map[string]runnable{}, pods: map[podKey]*pod{},
	}
	for name, image := range images() {
		m.images[name] = runnable{image, image.binary(t)}
	}
	m.kubelet.machine = m
	c.egress.serve(m.dial)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { m.run(ctx) })
	t.Cleanup(func() {
		c.egress.serve(nil)
		cancel()
		running.Wait()
		for _, pod := range m.pods {
			pod.log(t)
		}
	})
}

// run looks at the pods until the context ends, and ends them.
func (m *machine) run(ctx context.Context) {
	tick := time.NewTicker(podInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, pod := range m.pods {
				pod.kill()
			}
			return
		case <-tick.C:
		}
		list, err := m.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // The API server is restarted, or ends.
		}
		m.forget(list.Items)
		for i := range list.Items {
			m.look(ctx, &list.Items[i])
		}
	}
}

// look brings one pod a step further. What fails is retried with the next look; the pod's
// condition says why.
func (m *machine) look(ctx context.Context, wanted *corev1.Pod) {
	key := podKey{wanted.Namespace, wanted.Name}
	m.mu.Lock()
	p := m.pods[key]
	m.mu.Unlock()
	if p == nil {
		image, ok := m.images[imageName(wanted.Spec.Containers[0].Image)]
		if !ok {
			return
		}
		p = newPod(m, wanted, image)
		m.mu.Lock()
		m.pods[key] = p
		m.mu.Unlock()
		m.kubelet.mu.Lock()
		m.kubelet.pods[key] = p.output
		m.kubelet.mu.Unlock()
	}
	if wanted.DeletionTimestamp != nil {
		if p.stop() {
			none := int64(0)
			_ = m.client.CoreV1().Pods(key.namespace).Delete(ctx, key.name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		}
		return
	}
	if wanted.Spec.NodeName == "" {
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.namespace, Name: key.name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: m.kubelet.Node},
		}
		_ = m.client.CoreV1().Pods(key.namespace).Bind(ctx, binding, metav1.CreateOptions{})
		return
	}
	p.problem = p.ensure(ctx, wanted)
	m.report(ctx, wanted, p)
}

// forget ends the pods that are gone without having been ended, as one that was replaced by another of
// its name is.
func (m *machine) forget(there []corev1.Pod) {
	uids := map[podKey]string{}
	for i := range there {
		uids[podKey{there[i].Namespace, there[i].Name}] = string(there[i].UID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.pods, func(key podKey, p *pod) bool {
		if uids[key] == p.uid {
			return false
		}
		p.kill()
		return true
	})
}

// report writes the status of a pod if it has changed.
func (m *machine) report(ctx context.Context, wanted *corev1.Pod, p *pod) {
	ready := p.ready(ctx)
	status := wanted.Status.DeepCopy()
	status.PodIP, status.HostIP, status.PodIPs = p.address, "127.0.0.1", []corev1.PodIP{{IP: p.address}}
	status.Phase = corev1.PodPending
	container := corev1.ContainerStatus{Name: wanted.Spec.Containers[0].Name, Image: wanted.Spec.Containers[0].Image, Ready: ready, RestartCount: p.restarts}
	if p.problem != nil {
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating", Message: p.problem.Error()}
	} else {
		status.Phase = corev1.PodRunning
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.started.Truncate(time.Second))}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	setReady(status, ready)
	said := fmt.Sprint(ready, p.restarts, p.problem)
	if said == p.said {
		return
	}
	changed := wanted.DeepCopy()
	changed.Status = *status
	if _, err := m.client.CoreV1().Pods(wanted.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err == nil {
		p.said = said
	}
}

func setReady(status *corev1.PodStatus, ready bool) {
	value := corev1.ConditionFalse
	if ready {
		value = corev1.ConditionTrue
	}
	var conditions []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: metav1.Now()})
	}
	status.Conditions = conditions
}

// imageName is the last part of an image's name, without its tag.
func imageName(full string) string {
	name := full[strings.LastIndex(full, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
}

// dial returns where host and port lead: for the address of a Service, one of its ready pods.
func (m *machine) dial(ctx context.Context, host string, port int32) (string, error) {
	services, err := m.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range services.Items {
		service := &services.Items[i]
		if service.Spec.ClusterIP != host {
			continue
		}
		for _, p := range service.Spec.Ports {
			if p.Port == port {
				return m.endpoint(service, p)
			}
		}
		return "", fmt.Errorf("the Service %s has no port %d", service.Name, port)
	}
	return fmt.Sprintf("%s:%d", host, port), nil
}

// endpoint returns the address on loopback of a ready pod of a Service.
func (m *machine) endpoint(service *corev1.Service, port corev1.ServicePort) (string, error) {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.pods {
		if key.namespace != service.Namespace || !p.isReady.Load() || !selector.Matches(labels.Set(p.labels)) {
			continue
		}
		if local, ok := p.local(port.TargetPort); ok {
			return fmt.Sprintf("127.0.0.1:%d", local), nil
		}
	}
	return "", fmt.Errorf("the Service %s/%s has no ready pod", service.Namespace, service.Name)
}

// find returns the pod with that name.
func (m *machine) find(key podKey) (*pod, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pods[key]
	if !ok {
		return nil, fmt.Errorf("no pod %s/%s runs here", key.namespace, key.name)
	}
	return p, nil
}

// port returns where a port of a pod is on this machine.
func (m *machine) port(key podKey, port int32) (string, error) {
	p, err := m.find(key)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	local, ok := p.local(intstr.FromInt32(port))
	if !ok {
		return "", fmt.Errorf("pod %s has no port %d", key.name, port)
	}
	return fmt.Sprintf("127.0.0.1:%d", local), nil
}

// claim returns the folder of a PersistentVolumeClaim, which stays while the claim does.
func (m *machine) claim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := m.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(m.dir, "claims", string(claim.UID))
	return dir, os.MkdirAll(dir, 0o750)
}

// ignoreMissing leaves out that an object is missing, if that is allowed.
func ignoreMissing(err error, optional *bool) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
