// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Defaults, as in Kubernetes.
const (
	historyLimit       int32 = 10
	progressDeadline   int32 = 600
	backoffLimit       int32 = 6
	successfulJobsKept int32 = 3
	failedJobsKept     int32 = 1
	rollingPart              = "25%"
)

func prepareDeployment(deployment, _ *appsv1.Deployment) {
	spec := &deployment.Spec
	preparePodSpec(&spec.Template.Spec)
	orDefault(&spec.Replicas, 1)
	orDefault(&spec.RevisionHistoryLimit, historyLimit)
	orDefault(&spec.ProgressDeadlineSeconds, progressDeadline)
	orValue(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		orDefault(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		orDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString(rollingPart))
		orDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString(rollingPart))
	}
}

func prepareStatefulSet(set, _ *appsv1.StatefulSet) {
	spec := &set.Spec
	preparePodSpec(&spec.Template.Spec)
	orDefault(&spec.Replicas, 1)
	orDefault(&spec.RevisionHistoryLimit, historyLimit)
	orValue(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	orValue(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
}

func prepareDaemonSet(set, _ *appsv1.DaemonSet) {
	preparePodSpec(&set.Spec.Template.Spec)
	orDefault(&set.Spec.RevisionHistoryLimit, historyLimit)
	orValue(&set.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
}

func prepareReplicaSet(set, _ *appsv1.ReplicaSet) {
	preparePodSpec(&set.Spec.Template.Spec)
	orDefault(&set.Spec.Replicas, 1)
}

func prepareJob(job, _ *batchv1.Job) { prepareJobSpec(&job.Spec) }

func prepareJobSpec(spec *batchv1.JobSpec) {
	// A job without a restart policy is invalid: no default would be right for all.
	policy := spec.Template.Spec.RestartPolicy
	preparePodSpec(&spec.Template.Spec)
	spec.Template.Spec.RestartPolicy = policy
	if spec.Completions == nil && spec.Parallelism == nil {
		orDefault(&spec.Completions, 1)
	}
	orDefault(&spec.Parallelism, 1)
	orDefault(&spec.BackoffLimit, backoffLimit)
	orDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	orDefault(&spec.Suspend, false)
}

func prepareCronJob(job, _ *batchv1.CronJob) {
	spec := &job.Spec
	prepareJobSpec(&spec.JobTemplate.Spec)
	orValue(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	orDefault(&spec.Suspend, false)
	orDefault(&spec.SuccessfulJobsHistoryLimit, successfulJobsKept)
	orDefault(&spec.FailedJobsHistoryLimit, failedJobsKept)
}
