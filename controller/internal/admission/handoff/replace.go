// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/controller/internal/policy"
)

// replaceable are the resources of the reports that Kyverno's reports controller writes.
func replaceable() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		wgpolicy.SchemeGroupVersion.WithResource("clusterpolicyreports"), wgpolicy.SchemeGroupVersion.WithResource("policyreports"),
		openreports.SchemeGroupVersion.WithResource("clusterreports"), openreports.SchemeGroupVersion.WithResource("reports"),
	}
}

// waitTick is how often an inbox looks whether it may begin.
const waitTick = 5 * time.Second

// RunAfter is [Inbox.Run] from the time on when ready returns nil.
func (i *Inbox) RunAfter(ctx context.Context, ready func() error) error {
	ticker := i.config.Clock.NewTicker(waitTick)
	defer ticker.Stop()
	for ready() != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
	return i.Run(ctx)
}

// decodeReport returns the results of a report of Kyverno's reports controller: one about a resource, its scope, or
// one about a policy, whose results name resources.
func decodeReport(object *unstructured.Unstructured, now time.Time) ([]policy.Admitted, error) {
	var body wgpolicy.ReportBody // That of openreports.io has the same fields, and a source besides.
	content := map[string]any{}
	for _, field := range []string{"scope", "results"} {
		if value, ok := object.Object[field]; ok {
			content[field] = value
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &body); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	type about struct {
		policy  policy.Identity
		subject report.ObjectReference
	}
	var items []policy.Admitted
	index := map[about]int{}
	for k := range body.Results {
		r := &body.Results[k]
		id, ok := kyvernoPolicy(r)
		if !ok || !slices.Contains(report.Outcomes(), r.Result) {
			continue
		}
		for _, resource := range subjectsOf(r, body.Scope) {
			key := about{id, resource}
			at, known := index[key]
			if !known {
				at = len(items)
				index[key] = at
				items = append(items, policy.Admitted{
					Policy: id, Adopted: true, Time: foundAt(object, r, now),
					Resource: schema.FromAPIVersionAndKind(resource.APIVersion, "").GroupVersion().WithResource(""),
					Subject:  policy.Reference{Kind: resource.Kind, Namespace: object.GetNamespace(), Name: resource.Name, UID: resource.UID},
				})
			}
			items[at].Results = append(items[at].Results, policy.Result{Rule: r.Rule, Outcome: outcomeOf(r), Message: r.Message, Properties: r.Properties})
		}
	}
	return items, nil
}

func subjectsOf(r *report.Result, scope *report.ObjectReference) []report.ObjectReference {
	if len(r.Resources) > 0 || scope == nil {
		return r.Resources
	}
	return []report.ObjectReference{*scope}
}

// resourcesOf returns what an inbox reads.
func (o *origin) resourcesOf() []schema.GroupVersionResource {
	if o.resources != nil {
		return o.resources
	}
	return []schema.GroupVersionResource{resourceOf(false), resourceOf(true)}
}
