// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func appsResources() []resource {
	group := appsv1.SchemeGroupVersion
	rows := []resource{
		row[appsv1.Deployment, appsv1.DeploymentList](group, "Deployment", "deployments", "deployment").with(func(r *resource) {
			r.ShortNames = []string{"deploy"}
			r.prepare, r.validate = preparing(prepareDeployment), validating(validateDeployment)
			r.Columns = deploymentColumns()
		}),
		row[appsv1.StatefulSet, appsv1.StatefulSetList](group, "StatefulSet", "statefulsets", "statefulset").with(func(r *resource) {
			r.ShortNames = []string{"sts"}
			r.prepare, r.validate = preparing(prepareStatefulSet), validating(validateStatefulSet)
		}),
		row[appsv1.DaemonSet, appsv1.DaemonSetList](group, "DaemonSet", "daemonsets", "daemonset").with(func(r *resource) {
			r.ShortNames = []string{"ds"}
			r.validate = validating(validateDaemonSet)
		}),
		row[appsv1.ReplicaSet, appsv1.ReplicaSetList](group, "ReplicaSet", "replicasets", "replicaset").with(func(r *resource) {
			r.ShortNames = []string{"rs"}
			r.prepare, r.validate = preparing(prepareReplicaSet), validating(validateReplicaSet)
		}),
	}
	return workloads(rows)
}

func batchResources() []resource {
	group := batchv1.SchemeGroupVersion
	return workloads([]resource{
		row[batchv1.Job, batchv1.JobList](group, "Job", "jobs", "job").with(func(r *resource) {
			r.validate = validating(validateJob)
		}),
		row[batchv1.CronJob, batchv1.CronJobList](group, "CronJob", "cronjobs", "cronjob").with(func(r *resource) {
			r.ShortNames = []string{"cj"}
			r.validate = validating(validateCronJob)
		}),
	})
}

// workloads completes rows with what all kinds that create pods have in common.
func workloads(rows []resource) []resource {
	for i := range rows {
		rows[i].status, rows[i].Categories, rows[i].warning = true, []string{all}, notRun
	}
	return rows
}

func networkingResources() []resource {
	group := networkingv1.SchemeGroupVersion
	return []resource{
		row[networkingv1.Ingress, networkingv1.IngressList](group, "Ingress", "ingresses", "ingress").with(func(r *resource) {
			r.ShortNames, r.status = []string{"ing"}, true
		}),
		row[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList](group, "NetworkPolicy", "networkpolicies", "networkpolicy").with(func(r *resource) {
			r.ShortNames = []string{"netpol"}
		}),
		row[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](discoveryv1.SchemeGroupVersion, "EndpointSlice", "endpointslices", "endpointslice").with(func(r *resource) {
			r.validate = validating(validateEndpointSlice)
		}),
	}
}

func policyResources() []resource {
	return []resource{
		row[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList](policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget").with(func(r *resource) {
			r.ShortNames, r.status, r.Rules.UnconditionalUpdate = []string{"pdb"}, true, false
			r.validate = validating(validatePodDisruptionBudget)
		}),
	}
}
