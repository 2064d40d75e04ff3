// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// orDefault makes an optional field point to a value if it is nil.
func orDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// orValue sets a field to a value if it is empty.
func orValue[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// prepareNamespace gives a new namespace what its deletion needs. Finalizers change
// only through the subresource finalize.
func prepareNamespace(namespace, old *corev1.Namespace) {
	if old == nil {
		namespace.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
		namespace.Status.Phase = corev1.NamespaceActive
	} else {
		namespace.Spec.Finalizers = old.Spec.Finalizers
	}
	// Policies select namespaces by this label, so nobody can remove it.
	labels := map[string]string{}
	maps.Copy(labels, namespace.Labels)
	labels[corev1.LabelMetadataName] = namespace.Name
	if namespace.Name != "" {
		namespace.Labels = labels
	}
}

// prepareSecret moves what was written as text into the data, where it is read.
func prepareSecret(secret, old *corev1.Secret) {
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	if old != nil {
		orValue(&secret.Type, old.Type)
	}
	orValue(&secret.Type, corev1.SecretTypeOpaque)
}

func prepareService(service, _ *corev1.Service) {
	orValue(&service.Spec.Type, corev1.ServiceTypeClusterIP)
	orValue(&service.Spec.SessionAffinity, corev1.ServiceAffinityNone)
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		orValue(&port.Protocol, corev1.ProtocolTCP)
		if service.Spec.ClusterIP != corev1.ClusterIPNone || service.Spec.Type == corev1.ServiceTypeExternalName {
			orValue(&port.TargetPort, intstr.FromInt32(port.Port))
		}
	}
	if service.Spec.Type != corev1.ServiceTypeExternalName {
		orDefault(&service.Spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

// preparePod fills in the defaults that clients read without checking for them.
func preparePod(pod, old *corev1.Pod) {
	if old == nil {
		pod.Status.Phase = corev1.PodPending
	}
	spec := &pod.Spec
	orValue(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orValue(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orValue(&spec.SchedulerName, corev1.DefaultSchedulerName)
	orDefault(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				orValue(&containers[i].Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

// Nothing here runs pods. Of the many defaults that Kubernetes has for what creates pods, these kinds have the one that
// clients read without a check, such as kubectl describe.

func prepareDeployment(deployment, _ *appsv1.Deployment) { orDefault(&deployment.Spec.Replicas, 1) }

func prepareStatefulSet(set, _ *appsv1.StatefulSet) { orDefault(&set.Spec.Replicas, 1) }

func prepareReplicaSet(set, _ *appsv1.ReplicaSet) { orDefault(&set.Spec.Replicas, 1) }

func prepareRoleBinding(binding, _ *rbacv1.RoleBinding) {
	prepareBinding(&binding.RoleRef, binding.Subjects)
}

func prepareClusterRoleBinding(binding, _ *rbacv1.ClusterRoleBinding) {
	prepareBinding(&binding.RoleRef, binding.Subjects)
}

func prepareBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	orValue(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if kind := subjects[i].Kind; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
			orValue(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}
