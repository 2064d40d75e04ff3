// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePod(now, _ *corev1.Pod) field.ErrorList {
	return validatePodSpec(&now.Spec, field.NewPath("spec"))
}

// validatePodSpec checks what every reader of pods relies on: containers with images and
// with distinct names. The rest would matter only to something that runs them.
func validatePodSpec(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "a pod has at least one"))
	}
	names := sets.New[string]()
	check := func(containers []corev1.Container, path *field.Path) {
		for i := range containers {
			name, at := containers[i].Name, path.Index(i)
			for _, problem := range validation.IsDNS1123Label(name) {
				errs = append(errs, field.Invalid(at.Child("name"), name, problem))
			}
			if names.Has(name) {
				errs = append(errs, field.Duplicate(at.Child("name"), name))
			}
			names.Insert(name)
			if containers[i].Image == "" {
				errs = append(errs, field.Required(at.Child("image"), "what the container runs"))
			}
		}
	}
	check(spec.InitContainers, path.Child("initContainers"))
	check(spec.Containers, path.Child("containers"))
	return errs
}

func validateDeployment(now, old *appsv1.Deployment) field.ErrorList {
	before := ifStored(old, func(o *appsv1.Deployment) *metav1.LabelSelector { return o.Spec.Selector })
	return append(validateReplicas(now.Spec.Replicas), validateWorkload(now.Spec.Selector, before, &now.Spec.Template)...)
}

func validateStatefulSet(now, old *appsv1.StatefulSet) field.ErrorList {
	before := ifStored(old, func(o *appsv1.StatefulSet) *metav1.LabelSelector { return o.Spec.Selector })
	return append(validateReplicas(now.Spec.Replicas), validateWorkload(now.Spec.Selector, before, &now.Spec.Template)...)
}

func validateDaemonSet(now, old *appsv1.DaemonSet) field.ErrorList {
	before := ifStored(old, func(o *appsv1.DaemonSet) *metav1.LabelSelector { return o.Spec.Selector })
	return validateWorkload(now.Spec.Selector, before, &now.Spec.Template)
}

func validateReplicaSet(now, old *appsv1.ReplicaSet) field.ErrorList {
	before := ifStored(old, func(o *appsv1.ReplicaSet) *metav1.LabelSelector { return o.Spec.Selector })
	return append(validateReplicas(now.Spec.Replicas), validateWorkload(now.Spec.Selector, before, &now.Spec.Template)...)
}

func validateReplicas(replicas *int32) field.ErrorList {
	if replicas == nil {
		return nil
	}
	return apimachineryvalidation.ValidateNonnegativeField(int64(*replicas), field.NewPath("spec", "replicas"))
}

// validateWorkload checks that a workload selects the pods that it creates. before is the
// stored selector, nil on create.
func validateWorkload(selector, before *metav1.LabelSelector, template *corev1.PodTemplateSpec) field.ErrorList {
	path := field.NewPath("spec", "selector")
	templatePath := field.NewPath("spec", "template")
	errs := validatePodSpec(&template.Spec, templatePath.Child("spec"))
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return append(errs, field.Required(path, "it must match the labels of the template"))
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)...)
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil && !parsed.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(templatePath.Child("metadata", "labels"), template.Labels, "spec.selector doesn't match them"))
	}
	if before != nil {
		errs = append(errs, apimachineryvalidation.ValidateImmutableField(selector, before, path)...)
	}
	return errs
}

func validateJob(now, old *batchv1.Job) field.ErrorList {
	errs := validateJobSpec(&now.Spec, field.NewPath("spec"))
	if old != nil {
		errs = append(errs, apimachineryvalidation.ValidateImmutableField(now.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
	}
	return errs
}

func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	at := path.Child("template", "spec")
	errs := validatePodSpec(&spec.Template.Spec, at)
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
	default:
		errs = append(errs, field.NotSupported(at.Child("restartPolicy"), policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}))
	}
	return errs
}

func validateCronJob(now, _ *batchv1.CronJob) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateJobSpec(&now.Spec.JobTemplate.Spec, path.Child("jobTemplate", "spec"))
	if now.Spec.Schedule == "" {
		errs = append(errs, field.Required(path.Child("schedule"), "when the job runs"))
	}
	return errs
}
