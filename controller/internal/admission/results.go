// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/policy"
)

// statusSubresource is left out: its requests are frequent and change nothing that results depend on.
const statusSubresource = "status"

// handOver queues results that only admission finds, if an object with this content can be identified. Results of a
// request that fails later do no harm: no object ever has that content.
func (s *Server) handOver(request *policy.Request, m *match, findings []finding, begin time.Time) error {
	items, err := itemsOf(request, m, findings, begin)
	if len(items) > 0 {
		s.sender.Send(items)
	}
	return err
}

func itemsOf(request *policy.Request, m *match, findings []finding, begin time.Time) ([]handoff.Item, error) {
	subject := request.Subject()
	if request.DryRun != nil && *request.DryRun || subject == nil || !m.parent || request.SubResource == statusSubresource ||
		request.Operation == admissionv1.Connect || subject.GetUID() == "" || subject.GetName() == "" {
		return nil, nil
	}
	resource := schema.GroupVersionResource(request.Resource)
	var items []handoff.Item
	deleted := request.Operation == admissionv1.Delete
	add := func(c *candidate, results []policy.Result) {
		items = append(items, handoff.Item{Presentation: c.Presentation(), Admitted: policy.Admitted{
			Policy: c.id, Fingerprint: c.Fingerprint(), Resource: resource, Subject: policy.ReferenceTo(subject),
			Results: results, Deleted: deleted, Time: begin,
		}})
	}
	for i := range findings {
		f := &findings[i]
		if !f.reports {
			continue
		}
		if deleted {
			add(&f.candidate, nil) // An object that is being deleted has no results.
			continue
		}
		// Rules for the object itself are not evaluated for a subresource: without new results, the earlier ones
		// stay.
		if results := resultsOf(f.verdicts); len(results) > 0 || request.SubResource == "" {
			add(&f.candidate, results)
		}
	}
	for i := range m.cleared {
		if m.cleared[i].inNamespace(request.AdmissionRequest) {
			add(&m.cleared[i], nil)
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	content, err := policy.ContentOf(subject)
	if err != nil {
		return nil, err
	}
	for i := range items {
		items[i].Content = content
	}
	return items, nil
}

func resultsOf(verdicts []policy.Verdict) []policy.Result {
	var results []policy.Result
	for _, v := range verdicts {
		results = append(results, v.Result)
	}
	return results
}

// inNamespace reports whether the policy applies to the namespace of the request.
func (c *candidate) inNamespace(request *admissionv1.AdmissionRequest) bool {
	return c.id.Namespace == "" || c.id.Namespace == namespaceOf(request)
}

// namespaceOf returns the namespace of the object; empty for a namespace.
func namespaceOf(request *admissionv1.AdmissionRequest) string {
	if isNamespace(request) {
		return ""
	}
	return request.Namespace
}

func isNamespace(request *admissionv1.AdmissionRequest) bool {
	return request.Resource.Group == "" && request.Resource.Resource == namespaceResource.Resource
}
