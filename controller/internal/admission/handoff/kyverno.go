// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/report"
	reportsv1 "github.com/docket-project/docket/api/reportskyverno/v1"
	"github.com/docket-project/docket/controller/internal/policy"
)

// How Kyverno's EphemeralReports (pkg/utils/report in its sources) name their subject, in addition to the labels and
// annotations that ours have, too.
const (
	kyvernoManager = "kyverno"
	// uidLabel is empty if Kyverno changed an object before the API server gave it a UID.
	uidLabel = "audit.kyverno.io/resource.uid"
	// resourceLabel has the resource of a request: RESOURCE.VERSION.GROUP, without the last part for the core group. If
	// that is too long for a label, a label called like nameAnnotation has the resource.
	resourceLabel = "audit.kyverno.io/resource.gvr"
)

// decodeKyverno returns the results of an EphemeralReport of Kyverno's own, by policy. There are none if it is
// about an object without a name yet: nobody can tell which one that became.
func decodeKyverno(object *unstructured.Unstructured, now time.Time) ([]policy.Admitted, error) {
	var body reportsv1.ReportBody
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return nil, errors.New("there is no spec")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": spec}, &body); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	subject, resource, err := kyvernoSubject(object)
	if err != nil || subject.Name == "" {
		return nil, err
	}
	about := []kyvernosSubject{{subject, resource}}
	return adopted(object, body.Spec.Results, now, func(*report.Result) []kyvernosSubject { return about }), nil
}

// kyvernosSubject is the subject of results of Kyverno, with its resource.
type kyvernosSubject struct {
	policy.Reference
	resource schema.GroupVersionResource
}

// adopted returns results of Kyverno by policy and subject, without those that are unknown.
func adopted(object *unstructured.Unstructured, results []report.Result, now time.Time, subjectsOf func(*report.Result) []kyvernosSubject) []policy.Admitted {
	type about struct {
		policy  policy.Identity
		subject kyvernosSubject
	}
	var items []policy.Admitted
	index := map[about]int{}
	for i := range results {
		r := &results[i]
		id, ok := kyvernoPolicy(r)
		if !ok || !slices.Contains(report.Outcomes(), r.Result) {
			continue // As Kyverno leaves out what it does not know.
		}
		for _, subject := range subjectsOf(r) {
			key := about{id, subject}
			at, known := index[key]
			if !known {
				at = len(items)
				index[key] = at
				items = append(items, policy.Admitted{Policy: id, Subject: subject.Reference, Resource: subject.resource, Adopted: true, Time: foundAt(object, r, now)})
			}
			items[at].Results = append(items[at].Results, policy.Result{Rule: r.Rule, Outcome: outcomeOf(r), Message: r.Message, Properties: r.Properties})
		}
	}
	return items
}

// kyvernoSubject returns the subject of a report: its owner, or, until it has one, the one in labels and annotations.
// The namespace of the report always counts.
func kyvernoSubject(object *unstructured.Unstructured) (policy.Reference, schema.GroupVersionResource, error) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	subject := policy.Reference{Kind: labels[kindLabel], Namespace: object.GetNamespace(), Name: annotations[nameAnnotation], UID: types.UID(labels[uidLabel])}
	if owners := object.GetOwnerReferences(); len(owners) > 0 {
		version, err := schema.ParseGroupVersion(owners[0].APIVersion)
		if err != nil || owners[0].Kind == "" {
			return subject, schema.GroupVersionResource{}, fmt.Errorf("the owner is %s %s", owners[0].APIVersion, owners[0].Kind)
		}
		subject.Kind, subject.Name, subject.UID = owners[0].Kind, owners[0].Name, owners[0].UID
		return subject, version.WithResource(""), nil
	}
	if name := labels[nameAnnotation]; name != "" && labels[resourceLabel] == "" {
		return subject, schema.GroupVersionResource{Group: labels[groupLabel], Version: labels[versionLabel], Resource: name}, nil
	}
	parts := strings.SplitN(labels[resourceLabel], ".", 3)
	if len(parts) < 2 {
		return subject, schema.GroupVersionResource{}, errors.New("there is neither an owner nor a resource")
	}
	return subject, schema.GroupVersionResource{Resource: parts[0], Version: parts[1], Group: strings.Join(parts[2:], ".")}, nil
}

// kyvernoPolicy returns the policy of a result of Kyverno; false if it is of none that Kyverno's admission and
// background controllers evaluate.
func kyvernoPolicy(r *report.Result) (policy.Identity, bool) {
	// The kinds of each source: cluster-scoped and namespaced.
	kinds, ok := map[string][2]string{
		"kyverno":                      {policy.ClusterPolicy, policy.NamespacedPolicy},
		"KyvernoValidatingPolicy":      {policy.ValidatingPolicy, policy.NamespacedValidatingPolicy},
		"KyvernoImageValidatingPolicy": {policy.ImageValidatingPolicy, policy.NamespacedImageValidatingPolicy},
		"KyvernoMutatingPolicy":        {policy.MutatingPolicy, policy.NamespacedMutatingPolicy},
		"KyvernoGeneratingPolicy":      {policy.GeneratingPolicy, policy.NamespacedGeneratingPolicy},
	}[r.GetSource()]
	if !ok || r.Policy == "" {
		return policy.Identity{}, false
	}
	if namespace, name, namespaced := strings.Cut(r.Policy, "/"); namespaced {
		return policy.Identity{Kind: kinds[1], Namespace: namespace, Name: name}, true
	}
	return policy.Identity{Kind: kinds[0], Name: r.Policy}, true
}

// outcomeOf undoes that Kyverno shows the failures of a policy that is not scored as warnings: reports do the same.
func outcomeOf(r *report.Result) report.Outcome {
	if r.Result == report.OutcomeWarn && (r.Scored == nil || !*r.Scored) { // Kyverno leaves false out.
		return report.OutcomeFail
	}
	return r.Result
}

// foundAt returns when a result was found, in seconds as Kyverno has it. It is never to come: a result from
// tomorrow would take precedence over all of today's.
func foundAt(object *unstructured.Unstructured, r *report.Result, now time.Time) time.Time {
	at := object.GetCreationTimestamp().Time
	if r.Timestamp != nil && r.Timestamp.Seconds > 0 {
		at = time.Unix(r.Timestamp.Seconds, 0)
	}
	if at.After(now) {
		return now
	}
	return at
}
