// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// PodsPerNamespace of large pods.
	PodsPerNamespace = 1000
	// appsPerNamespace share what the pods of a Deployment share.
	appsPerNamespace = 40
)

// LargePod returns a pod as it is in a cluster, of about 8 KB of JSON with its status and managed fields:
// one of a Deployment with a sidecar, that runs on a node. Like those of [NewPod], of four one meets every
// policy and one breaks many. It has no owner: the garbage collector would delete it, unless there were ReplicaSets,
// about which policies for pods have results, too.
func LargePod(i int) *corev1.Pod {
	// The same pods in each run.
	random := rand.New(rand.NewPCG(1, uint64(i)))
	namespace := fmt.Sprintf("team-%03d", i/PodsPerNamespace)
	app := fmt.Sprintf("app-%03d-%02d", i/PodsPerNamespace, i%appsPerNamespace)
	revision := rand.New(rand.NewPCG(2, uint64(i/PodsPerNamespace*appsPerNamespace+i%appsPerNamespace)))
	hash := text(revision, 10)
	pod := NewPod(i)
	created := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, random.IntN(20*24*3600), 0, time.UTC))
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.ObjectMeta = metav1.ObjectMeta{
		Name: app + "-" + hash + "-" + text(random, 5), GenerateName: app + "-" + hash + "-", Namespace: namespace,
		UID: uid(random), CreationTimestamp: created, Generation: 1,
		Labels: map[string]string{
			"app": app, "app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": fmt.Sprintf("1.%d.3", revision.IntN(40)),
			"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": app + "-0.4.2", "pod-template-hash": hash,
		},
		Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics",
			"checksum/config": digest(revision), "checksum/secret": digest(revision),
			"cni.projectcalico.org/containerID": digest(random), "cni.projectcalico.org/podIP": address(random) + "/32",
			"kubectl.kubernetes.io/restartedAt": created.Format(time.RFC3339),
		},
		ManagedFields: managed(created),
	}
	fillSpec(pod, app, random, revision)
	fillStatus(pod, created, random, revision)
	return pod
}

func fillSpec(pod *corev1.Pod, app string, random, revision *rand.Rand) {
	spec := &pod.Spec
	grace, seconds, expiry, mode := int64(30), int64(300), int64(3607), int32(420)
	token := "kube-api-access-" + text(random, 5)
	mounts := []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/" + app, ReadOnly: true}, {Name: "cache", MountPath: "/var/cache/" + app},
		{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
	}
	main := &spec.Containers[0]
	main.Name, main.Image = app, fmt.Sprintf("registry.example.com/shop/%s:1.%d.3@sha256:%s", app, revision.IntN(40), digest(revision))
	spec.Containers = append(spec.Containers, corev1.Container{
		Name: "proxy", Image: "registry.example.com/mesh/proxy:3.1.4", Args: []string{"proxy", "sidecar", "--domain", pod.Namespace + ".svc.cluster.local", "--log_output_level=default:info", "--concurrency", "2"},
		SecurityContext: main.SecurityContext,
	})
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: "HTTP"}}, InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.ImagePullPolicy, c.TerminationMessagePath, c.TerminationMessagePolicy = corev1.PullIfNotPresent, "/dev/termination-log", "File"
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}, {Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}}
		c.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
		}
		c.LivenessProbe, c.ReadinessProbe, c.VolumeMounts = probe("/live"), probe("/ready"), mounts
		c.Env = []corev1.EnvVar{
			{Name: "LOG_LEVEL", Value: "info"}, {Name: "DATABASE_URL", Value: "postgres://" + app + ".db.svc:5432/" + app},
			{Name: "RELEASE", Value: digest(revision)[:12]}, {Name: "INSTANCE", Value: text(random, 12)},
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
			{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: app}, Key: "password"}}},
		}
	}
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app}, DefaultMode: &mode}}},
		corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expiry, Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		}}}})
	spec.RestartPolicy, spec.DNSPolicy, spec.SchedulerName, spec.TerminationGracePeriodSeconds = "Always", "ClusterFirst", "default-scheduler", &grace
	spec.ServiceAccountName, spec.DeprecatedServiceAccount = app, app
	spec.NodeName = fmt.Sprintf("node-%04d.example.com", random.IntN(2000))
	spec.Tolerations = []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds},
	}
}

func fillStatus(pod *corev1.Pod, created metav1.Time, random, revision *rand.Rand) {
	started := true
	status := &pod.Status
	ip := address(random)
	status.Phase, status.QOSClass, status.StartTime = "Running", "Burstable", &created
	status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	status.HostIP = address(random)
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	for i, condition := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: "True", LastTransitionTime: metav1.NewTime(created.Add(time.Duration(i) * time.Second))})
	}
	image := digest(revision)
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "registry.example.com/shop/" + c.Name + "@sha256:" + image, ContainerID: "containerd://" + digest(random),
			Ready: true, Started: &started, RestartCount: int32(random.IntN(3)), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}},
		})
	}
}

// managed returns entries as those of kube-controller-manager and a kubelet.
func managed(created metav1.Time) []metav1.ManagedFieldsEntry {
	const manager = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:checksum/secret":{},"f:prometheus.io/port":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:app.kubernetes.io/name":{},"f:helm.sh/chart":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:volumeMounts":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:volumes":{".":{},"k:{\"name\":\"config\"}":{".":{},"f:configMap":{},"f:name":{}}}}}`
	const kubelet = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`
	return []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: &created, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(manager)},
		{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &created, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(kubelet), Subresource: "status"},
	}
}

func text(random *rand.Rand, length int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var b strings.Builder
	for range length {
		b.WriteByte(letters[random.IntN(len(letters))])
	}
	return b.String()
}

func digest(random *rand.Rand) string {
	sum := make([]byte, 0, 32)
	for len(sum) < cap(sum) {
		sum = append(sum, byte(random.Uint32()))
	}
	return hex.EncodeToString(sum)
}

func uid(random *rand.Rand) types.UID {
	d := digest(random)
	return types.UID(d[:8] + "-" + d[8:12] + "-4" + d[13:16] + "-8" + d[17:20] + "-" + d[20:32])
}

func address(random *rand.Rand) string {
	return fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), 1+random.IntN(254))
}
