// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// podTimeout bounds what a pod waits for: that its namespace has a service account.
const podTimeout = 2 * time.Minute

// StartKubelet starts a kubelet and makes its node. It ends with the test.
func (c *Cluster) StartKubelet(t testing.TB, node string) *Kubelet {
	t.Helper()
	k := &Kubelet{Node: node, cluster: c, started: time.Now(), pods: map[podKey]*podLog{}}
	k.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "this is %s", r.URL.Path) //nolint:gosec // No browser reads it.
	}))
	t.Cleanup(k.web.Close)
	// kube-apiserver verifies kubelets only if it has their authority.
	k.server = httptest.NewTLSServer(k.handler())
	t.Cleanup(func() {
		k.server.CloseClientConnections()
		k.server.Close()
	})
	k.makeNode(t)
	return k
}

func (k *Kubelet) makeNode(t testing.TB) {
	t.Helper()
	address := testkit.Must(url.Parse(k.server.URL))(t)
	host, text := testkit.Must2(net.SplitHostPort(address.Host))(t)
	port := testkit.Must(strconv.ParseInt(text, 10, 32))(t)
	nodes := k.cluster.Client(t).CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.Node}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("make node %s: %v", k.Node, err)
	}
	node.Status = corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: host}, {Type: corev1.NodeHostName, Address: host},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("write the status of node %s: %v", k.Node, err)
	}
}

// RunPod makes a pod with one container, main, that runs on the kubelet's node. Its
// namespace must be there.
func (k *Kubelet) RunPod(t testing.TB, namespace, name string) *corev1.Pod {
	t.Helper()
	pods := k.cluster.Client(t).CoreV1().Pods(namespace)
	no := false
	wanted := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{
			NodeName: k.Node, AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}},
		},
	}
	var pod *corev1.Pod
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, podTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		pod, err = pods.Create(ctx, wanted, metav1.CreateOptions{})
		// A new namespace gets its service account a moment later.
		return err == nil, ignoreForbidden(err)
	})
	if err != nil {
		t.Fatalf("make pod %s/%s: %v", namespace, name, err)
	}
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime, pod.Status.HostIP, pod.Status.PodIP = corev1.PodRunning, &now, "127.0.0.1", "10.1.0.1"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "example.com/main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("write the status of pod %s/%s: %v", namespace, name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods[podKey{namespace, name}] = newPodLog()
	return pod
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// Log lets the container of a pod write a line.
func (k *Kubelet) Log(t testing.TB, namespace, name, line string) {
	t.Helper()
	k.mu.Lock()
	log, ok := k.pods[podKey{namespace, name}]
	k.mu.Unlock()
	if !ok {
		t.Fatalf("no pod %s/%s runs on node %s", namespace, name, k.Node)
	}
	log.write(line + "\n")
}
