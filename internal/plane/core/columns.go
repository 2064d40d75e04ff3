// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/internal/reports/kinds"
)

func serviceColumns() []column {
	return between(
		text("Type", "How the service is reached.", func(s *corev1.Service) string { return string(s.Spec.Type) }),
		text("Cluster-IP", "Address inside the cluster.", func(s *corev1.Service) string {
			return cmp.Or(s.Spec.ClusterIP, none)
		}),
		text("External-IP", "Address from outside, or the name that the service stands for.", externalAddress),
		text("Port(s)", "Ports with their protocols.", servicePorts),
	)
}

func externalAddress(service *corev1.Service) string {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return service.Spec.ExternalName
	}
	addresses := slices.Clone(service.Spec.ExternalIPs)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		addresses = append(addresses, cmp.Or(ingress.IP, ingress.Hostname))
	}
	return cmp.Or(strings.Join(addresses, ","), none)
}

func servicePorts(service *corev1.Service) string {
	var ports []string
	for _, port := range service.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
	}
	return cmp.Or(strings.Join(ports, ","), none)
}

func podColumns() []column {
	return between(
		text("Ready", "Containers that are ready, of all.", func(p *corev1.Pod) string {
			ready := 0
			for i := range p.Status.ContainerStatuses {
				if p.Status.ContainerStatuses[i].Ready {
					ready++
				}
			}
			return fmt.Sprintf("%d/%d", ready, len(p.Spec.Containers))
		}),
		text("Status", "Phase of the pod, or why it is in it.", func(p *corev1.Pod) string {
			if p.DeletionTimestamp != nil {
				return "Terminating"
			}
			return cmp.Or(p.Status.Reason, string(p.Status.Phase))
		}),
		number("Restarts", "How often containers were restarted.", func(p *corev1.Pod) int64 {
			var restarts int64
			for i := range p.Status.ContainerStatuses {
				restarts += int64(p.Status.ContainerStatuses[i].RestartCount)
			}
			return restarts
		}),
	)
}

const roleLabel = "node-role.kubernetes.io/"

func nodeColumns() []column {
	return []column{
		nameColumn(),
		text("Status", "Whether the node takes pods.", nodeStatus),
		text("Roles", "Roles that labels of the node name.", func(n *corev1.Node) string {
			var roles []string
			for _, label := range slices.Sorted(maps.Keys(n.Labels)) {
				if role, ok := strings.CutPrefix(label, roleLabel); ok && role != "" {
					roles = append(roles, role)
				}
			}
			return cmp.Or(strings.Join(roles, ","), none)
		}),
		ageColumn(),
		text("Version", "Version of the kubelet.", func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion }),
	}
}

func nodeStatus(node *corev1.Node) string {
	status := "Unknown"
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if condition.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func deploymentColumns() []column {
	return between(
		text("Ready", "Pods that are ready, of those wanted.", func(d *appsv1.Deployment) string {
			var wanted int32
			if d.Spec.Replicas != nil {
				wanted = *d.Spec.Replicas
			}
			return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, wanted)
		}),
		number("Up-to-date", "Pods with the present template.", func(d *appsv1.Deployment) int64 { return int64(d.Status.UpdatedReplicas) }),
		number("Available", "Pods that have been ready for long enough.", func(d *appsv1.Deployment) int64 { return int64(d.Status.AvailableReplicas) }),
	)
}

func eventColumns() []column {
	wideName := nameColumn()
	wideName.Priority = kinds.WideOnly
	return []column{
		text("Last Seen", "Time since it happened last.", func(e *corev1.Event) string {
			last := e.LastTimestamp
			if last.IsZero() {
				last.Time = e.EventTime.Time
			}
			if e.Series != nil {
				last.Time = e.Series.LastObservedTime.Time
			}
			return since(last)
		}),
		text("Type", "Normal or Warning.", func(e *corev1.Event) string { return e.Type }),
		text("Reason", "Why, in one word.", func(e *corev1.Event) string { return e.Reason }),
		text("Object", "What the event is about.", func(e *corev1.Event) string {
			return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
		}),
		text("Message", "What happened.", func(e *corev1.Event) string { return strings.TrimSpace(e.Message) }),
		wideName,
	}
}
