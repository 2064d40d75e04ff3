// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
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
	return adopted(object, body.Results, now, func(r *report.Result) []kyvernosSubject {
		resources := r.Resources
		if len(resources) == 0 && body.Scope != nil {
			resources = []report.ObjectReference{*body.Scope}
		}
		subjects := make([]kyvernosSubject, 0, len(resources))
		for _, o := range resources {
			version := schema.FromAPIVersionAndKind(o.APIVersion, "").GroupVersion()
			subjects = append(subjects, kyvernosSubject{
				policy.Reference{Kind: o.Kind, Namespace: object.GetNamespace(), Name: o.Name, UID: o.UID}, version.WithResource(""),
			})
		}
		return subjects
	}), nil
}

// resourcesOf returns what an inbox reads.
func (o *origin) resourcesOf() []schema.GroupVersionResource {
	if o.resources != nil {
		return o.resources
	}
	return []schema.GroupVersionResource{resourceOf(false), resourceOf(true)}
}
