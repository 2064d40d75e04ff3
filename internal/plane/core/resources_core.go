// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
)

// eventLifetime is how long events are kept, as in Kubernetes.
const eventLifetime = time.Hour

// all is the category that kubectl get all shows.
const all = "all"

// notRun warns users who expect that something happens.
const notRun = "pods, and objects that create pods, are only stored: nothing runs them here"

// notCounted warns users who expect a quota to hold. In a cluster, a quota holds because a controller
// writes its status.
const notCounted = "a quota limits nothing until its status is written, and nothing here counts what is used"

func coreResources() []resource {
	group := corev1.SchemeGroupVersion
	rows := []resource{
		row[corev1.Namespace, corev1.NamespaceList](group, "Namespace", "namespaces", "namespace").with(func(r *resource) {
			r.ShortNames, r.Namespaced, r.status = []string{"ns"}, false, true
			r.Rules.ValidateName = apimachineryvalidation.ValidateNamespaceName
			r.prepare = preparing(prepareNamespace)
			r.Columns = between(text("Status", "Active, or Terminating while the namespace is emptied.", namespacePhase))
			r.SelectableFields = []selectableField{selecting("status.phase", namespacePhase)}
		}),
		row[corev1.ConfigMap, corev1.ConfigMapList](group, "ConfigMap", "configmaps", "configmap").with(func(r *resource) {
			r.ShortNames = []string{"cm"}
			r.validate = validating(validateConfigMap)
			r.Columns = between(number("Data", "Number of keys.", func(c *corev1.ConfigMap) int64 {
				return int64(len(c.Data) + len(c.BinaryData))
			}))
		}),
		row[corev1.Secret, corev1.SecretList](group, "Secret", "secrets", "secret").with(func(r *resource) {
			r.prepare = preparing(prepareSecret)
			r.validate = validating(validateSecret)
			r.Columns = between(
				text("Type", "Says what the keys mean.", secretType),
				number("Data", "Number of keys.", func(s *corev1.Secret) int64 { return int64(len(s.Data)) }),
			)
			r.SelectableFields = []selectableField{selecting("type", secretType)}
		}),
		row[corev1.ServiceAccount, corev1.ServiceAccountList](group, "ServiceAccount", "serviceaccounts", "serviceaccount").with(func(r *resource) {
			r.ShortNames = []string{"sa"}
		}),
		row[corev1.Service, corev1.ServiceList](group, "Service", "services", "service").with(func(r *resource) {
			r.ShortNames, r.Categories, r.status, r.Rules.CreateOnUpdate = []string{"svc"}, []string{all}, true, true
			r.Rules.ValidateName = apimachineryvalidation.NameIsDNS1035Label
			r.prepare, r.validate = preparing(prepareService), validating(validateService)
			r.Columns = serviceColumns()
			r.SelectableFields = []selectableField{
				selecting("spec.clusterIP", func(s *corev1.Service) string { return s.Spec.ClusterIP }),
				selecting("spec.type", func(s *corev1.Service) string { return string(s.Spec.Type) }),
			}
		}),
		row[corev1.Event, corev1.EventList](group, "Event", "events", "event").with(func(r *resource) {
			r.ShortNames, r.Rules.CreateOnUpdate, r.Rules.Lifetime = []string{"ev"}, true, eventLifetime
			r.validate = validating(validateEvent)
			r.Columns = eventColumns()
			r.SelectableFields = eventFields()
		}),
	}
	return append(rows, coreMachinery()...)
}

// coreMachinery are the kinds of the core group that have to do with running pods.
func coreMachinery() []resource {
	group := corev1.SchemeGroupVersion
	return []resource{
		row[corev1.Pod, corev1.PodList](group, "Pod", "pods", "pod").with(func(r *resource) {
			r.ShortNames, r.Categories, r.status, r.warning = []string{"po"}, []string{all}, true, notRun
			r.prepare, r.validate = preparing(preparePod), validating(validatePod)
			r.Columns = podColumns()
			r.SelectableFields = []selectableField{
				selecting("spec.nodeName", func(p *corev1.Pod) string { return p.Spec.NodeName }),
				selecting("status.phase", func(p *corev1.Pod) string { return string(p.Status.Phase) }),
			}
		}),
		row[corev1.Node, corev1.NodeList](group, "Node", "nodes", "node").with(func(r *resource) {
			r.ShortNames, r.Namespaced, r.status = []string{"no"}, false, true
			r.Columns = nodeColumns()
			r.SelectableFields = []selectableField{selecting("spec.unschedulable", unschedulable)}
		}),
		row[corev1.ResourceQuota, corev1.ResourceQuotaList](group, "ResourceQuota", "resourcequotas", "resourcequota").with(func(r *resource) {
			r.ShortNames, r.status, r.warning = []string{"quota"}, true, notCounted
		}),
		row[corev1.LimitRange, corev1.LimitRangeList](group, "LimitRange", "limitranges", "limitrange").with(func(r *resource) {
			r.ShortNames, r.Rules.CreateOnUpdate = []string{"limits"}, true
		}),
		//nolint:staticcheck // Deprecated for clients, who are still served.
		row[corev1.Endpoints, corev1.EndpointsList](group, "Endpoints", "endpoints", "endpoints").with(func(r *resource) {
			r.ShortNames, r.Rules.CreateOnUpdate = []string{"ep"}, true
		}),
		row[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](group, "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim").with(func(r *resource) {
			r.ShortNames, r.status = []string{"pvc"}, true
		}),
	}
}

func namespacePhase(n *corev1.Namespace) string { return string(n.Status.Phase) }

func secretType(s *corev1.Secret) string { return string(s.Type) }

func unschedulable(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "true"
	}
	return "false"
}

func eventFields() []selectableField {
	about := func(name string, value func(*corev1.ObjectReference) string) selectableField {
		return selecting("involvedObject."+name, func(e *corev1.Event) string { return value(&e.InvolvedObject) })
	}
	return []selectableField{
		about("kind", func(o *corev1.ObjectReference) string { return o.Kind }),
		about("namespace", func(o *corev1.ObjectReference) string { return o.Namespace }),
		about("name", func(o *corev1.ObjectReference) string { return o.Name }),
		about("uid", func(o *corev1.ObjectReference) string { return string(o.UID) }),
		about("apiVersion", func(o *corev1.ObjectReference) string { return o.APIVersion }),
		about("resourceVersion", func(o *corev1.ObjectReference) string { return o.ResourceVersion }),
		about("fieldPath", func(o *corev1.ObjectReference) string { return o.FieldPath }),
		selecting("reason", func(e *corev1.Event) string { return e.Reason }),
		selecting("reportingComponent", func(e *corev1.Event) string { return e.ReportingController }),
		selecting("source", eventSource),
		selecting("type", func(e *corev1.Event) string { return e.Type }),
	}
}

// eventSource is the component that reported the event, in whichever of two fields it did.
func eventSource(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}
