// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// priorityAndFairness is no admission plugin, but has the same need.
const priorityAndFairness = "PriorityAndFairness"

const (
	// probeTimeout bounds the questions to the cluster at start, retries included.
	probeTimeout = 30 * time.Second
	// probeInterval is the wait between two attempts.
	probeInterval = time.Second
)

// A requirement is what a part of the server reads from the cluster for as long
// as it runs. The informers of an admission plugin that can't be filled make
// every write fail and the server never ready, so that a plugin is better left
// out when the cluster does not serve a resource, or does not let us read it.
// Clusters differ: MutatingAdmissionPolicy, for one, is v1 since Kubernetes 1.36 only.
type requirement struct {
	part      string
	resources []schema.GroupVersionResource
	// updates are the resources that the part also writes, as resource/subresource.
	updates []schema.GroupVersionResource
}

func requirements() []requirement {
	namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
	admission := admissionv1.SchemeGroupVersion
	flow := flowcontrolv1.SchemeGroupVersion
	return []requirement{
		{lifecycle.PluginName, []schema.GroupVersionResource{namespaces}, nil},
		{mutatingwebhook.PluginName, []schema.GroupVersionResource{
			namespaces, admission.WithResource("mutatingwebhookconfigurations"),
		}, nil},
		{validatingwebhook.PluginName, []schema.GroupVersionResource{
			namespaces, admission.WithResource("validatingwebhookconfigurations"),
		}, nil},
		{validatingpolicy.PluginName, []schema.GroupVersionResource{
			namespaces, admission.WithResource("validatingadmissionpolicies"), admission.WithResource("validatingadmissionpolicybindings"),
		}, nil},
		{mutatingpolicy.PluginName, []schema.GroupVersionResource{
			namespaces, admission.WithResource("mutatingadmissionpolicies"), admission.WithResource("mutatingadmissionpolicybindings"),
		}, nil},
		{
			resourcequota.PluginName,
			[]schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("resourcequotas")},
			[]schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("resourcequotas/status")},
		},
		{priorityAndFairness, []schema.GroupVersionResource{
			flow.WithResource("flowschemas"), flow.WithResource("prioritylevelconfigurations"),
		}, nil},
	}
}

// Unmet is a part of the server that was left out.
type Unmet struct {
	// Part is the name of the admission plugin, or "PriorityAndFairness".
	Part string
	// Reason names the resource, and whether it is absent or forbidden.
	Reason string
}

// fitTo asks the cluster what it offers and turns off what would not work. A part
// that was asked for by name is an error instead.
func (o CompletedOptions) fitTo(ctx context.Context, client kubernetes.Interface) ([]Unmet, error) {
	var wanted []requirement
	for _, r := range requirements() {
		if o.wants(r.part) {
			wanted = append(wanted, r)
		}
	}
	unmet, err := probe(ctx, client, wanted)
	if err != nil {
		return nil, err
	}
	for _, u := range unmet {
		if o.Admission != nil && slices.Contains(o.Admission.EnablePlugins, u.Part) {
			return nil, fmt.Errorf("--enable-admission-plugins: %s can't work: %s; leave it out, or let the cluster serve and allow that", u.Part, u.Reason)
		}
		o.leaveOut(u.Part)
	}
	logUnmet(unmet)
	return unmet, nil
}

func (o CompletedOptions) wants(part string) bool {
	if part == priorityAndFairness {
		return o.Features.EnablePriorityAndFairness
	}
	return o.Admission != nil && !slices.Contains(o.Admission.DisablePlugins, part)
}

func (o CompletedOptions) leaveOut(part string) {
	if part == priorityAndFairness {
		o.Features.EnablePriorityAndFairness = false
		return
	}
	o.Admission.DefaultOffPlugins.Insert(part)
}

func logUnmet(unmet []Unmet) {
	if len(unmet) == 0 {
		return
	}
	registerMetrics() // What is set before it is registered is lost.
	parts := make([]string, len(unmet))
	for i, u := range unmet {
		parts[i] = u.Part + ": " + u.Reason
		unmetRequirements.WithLabelValues(u.Part).Set(1)
	}
	klog.InfoS("Left out what this cluster does not offer; grant list and watch, or turn the parts off to silence this", "parts", parts)
}

// probe returns the requirements that the cluster does not meet, in order.
func probe(ctx context.Context, client kubernetes.Interface, wanted []requirement) (unmet []Unmet, err error) {
	err = patiently(ctx, "what it offers", func(ctx context.Context) (err error) {
		unmet, err = probeOnce(ctx, client, wanted)
		return err
	})
	return unmet, err
}

// patiently asks the cluster again while it can't answer, which may be starting as well.
func patiently(ctx context.Context, what string, ask func(context.Context) error) error {
	var lastErr error
	err := wait.PollUntilContextTimeout(ctx, probeInterval, probeTimeout, true, func(ctx context.Context) (bool, error) {
		lastErr = ask(ctx)
		return lastErr == nil, nil
	})
	if err != nil {
		return fmt.Errorf("ask the cluster %s (--kubeconfig): %w", what, errors.Join(err, lastErr))
	}
	return nil
}

func probeOnce(ctx context.Context, client kubernetes.Interface, wanted []requirement) ([]Unmet, error) {
	p := prober{client: client, served: map[schema.GroupVersion]sets.Set[string]{}, answers: map[schema.GroupVersionResource]string{}}
	var unmet []Unmet
	for _, r := range wanted {
		reason, err := p.reason(ctx, r)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			unmet = append(unmet, Unmet{Part: r.part, Reason: reason})
		}
	}
	return unmet, nil
}

// prober asks each question once.
type prober struct {
	client  kubernetes.Interface
	served  map[schema.GroupVersion]sets.Set[string]
	answers map[schema.GroupVersionResource]string
}

// reason returns the first one why the part would not work, "" if it would.
func (p *prober) reason(ctx context.Context, r requirement) (string, error) {
	for _, resource := range r.resources {
		if reason, err := p.lacks(ctx, resource); err != nil || reason != "" {
			return reason, err
		}
	}
	for _, resource := range r.updates {
		allowed, err := p.may(ctx, "update", resource)
		if err != nil {
			return "", err
		}
		if !allowed {
			return "this server may not update " + resource.Resource + " in " + resource.GroupVersion().String(), nil
		}
	}
	return "", nil
}

// lacks returns why an informer on the resource would not work, "" if it would.
func (p *prober) lacks(ctx context.Context, resource schema.GroupVersionResource) (string, error) {
	if answer, known := p.answers[resource]; known {
		return answer, nil
	}
	answer, err := p.ask(ctx, resource)
	if err != nil {
		return "", err
	}
	p.answers[resource] = answer
	return answer, nil
}

func (p *prober) ask(ctx context.Context, resource schema.GroupVersionResource) (string, error) {
	served, err := p.resources(resource.GroupVersion())
	if err != nil {
		return "", err
	}
	name := resource.Resource + " in " + resource.GroupVersion().String()
	if !served.Has(resource.Resource) {
		return "the cluster does not serve " + name, nil
	}
	var denied []string
	for _, verb := range []string{"list", "watch"} {
		allowed, err := p.may(ctx, verb, resource)
		if err != nil {
			return "", err
		}
		if !allowed {
			denied = append(denied, verb)
		}
	}
	if len(denied) > 0 {
		return "this server may not " + strings.Join(denied, " and ") + " " + name, nil
	}
	return "", nil
}

// resources returns the resources of a group version, none if it is not served.
func (p *prober) resources(gv schema.GroupVersion) (sets.Set[string], error) {
	if served, known := p.served[gv]; known {
		return served, nil
	}
	served := sets.New[string]()
	list, err := p.client.Discovery().ServerResourcesForGroupVersion(gv.String())
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("discover %s: %w", gv, err)
	default:
		for i := range list.APIResources {
			served.Insert(list.APIResources[i].Name)
		}
	}
	p.served[gv] = served
	return served, nil
}

func (p *prober) may(ctx context.Context, verb string, resource schema.GroupVersionResource) (bool, error) {
	name, subresource, _ := strings.Cut(resource.Resource, "/")
	review, err := p.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: resource.Group, Version: resource.Version, Resource: name, Subresource: subresource,
			},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		// Who may not even ask is not known to be allowed anything.
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for leave to %s %s: %w", verb, resource.GroupResource(), err)
	}
	return review.Status.Allowed, nil
}
