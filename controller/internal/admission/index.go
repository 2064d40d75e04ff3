// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// maxKnown bounds the answers that an index caches; it is enough for the kinds of a cluster.
const maxKnown = 4096

// question is what determines which policies apply to a request, in addition to its namespace.
type question struct {
	kind        metav1.GroupVersionKind
	resource    metav1.GroupVersionResource
	subresource string
	operation   admissionv1.Operation
	closed      bool
}

// match is the answer to a question.
type match struct {
	// reviewed are to be evaluated.
	reviewed []candidate
	// cleared are not evaluated, since they don't match deletions, but their results for the object are removed
	// with it.
	cleared []candidate
	// parent is true if the object is of the resource itself, not only of a subresource.
	parent bool
}

// candidate is a policy with properties that every request needs.
type candidate struct {
	policy.Policy
	id        policy.Identity
	admission policy.Admission
	// reports is true if its results are to be in reports and only admission finds them.
	reports bool
}

// index finds the policies of one snapshot that apply to a request. Its answers never change.
type index struct {
	policies   []policy.Policy
	catalog    *served.Catalog
	excluded   policy.Exclusion
	candidates []candidate
	// roles is true if a policy reads the roles of users.
	roles bool
	// longest has the longest time limits of closed policies and of others.
	longest map[bool]time.Duration
	kinds   map[schema.GroupVersionResource]string

	mu    sync.RWMutex
	known map[question]*match
}

func newIndex(policies []policy.Policy, catalog *served.Catalog, excluded policy.Exclusion, all bool) *index {
	x := &index{
		policies: policies, catalog: catalog, excluded: excluded,
		kinds: map[schema.GroupVersionResource]string{}, known: map[question]*match{}, longest: map[bool]time.Duration{},
	}
	for _, p := range policies {
		if !policy.WantsReview(p, all) {
			continue
		}
		wants := p.Admission()
		x.candidates = append(x.candidates, candidate{Policy: p, id: p.Identity(), admission: wants, reports: p.Reported() && !p.Background()})
		x.roles = x.roles || wants.Roles
		x.longest[wants.Closed] = max(x.longest[wants.Closed], wants.Timeout)
	}
	if catalog != nil {
		for _, r := range catalog.Resources() {
			x.kinds[r.GroupVersionResource] = r.Kind
		}
	}
	return x
}

// same reports whether the index was made from these arguments. Slices of policies never change, so that comparing the
// address of the first element suffices.
func (x *index) same(policies []policy.Policy, catalog *served.Catalog) bool {
	return x != nil && x.catalog == catalog && len(x.policies) == len(policies) &&
		(len(policies) == 0 || &x.policies[0] == &policies[0])
}

// timeout returns how long kube-apiserver waits according to the webhook configuration.
func (x *index) timeout(closed bool, usual time.Duration) time.Duration {
	return policy.ReviewTimeout(usual, x.longest[closed])
}

// match returns the policies that apply to a request, including those of other namespaces.
func (x *index) match(request *admissionv1.AdmissionRequest, closed bool) *match {
	q := question{
		kind: request.Kind, resource: request.Resource, subresource: request.SubResource,
		operation: request.Operation, closed: closed,
	}
	x.mu.RLock()
	m := x.known[q]
	x.mu.RUnlock()
	if m != nil {
		return m
	}
	m = x.answer(q)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.known) < maxKnown {
		x.known[q] = m
	}
	return m
}

func (x *index) answer(q question) *match {
	m := &match{}
	resource := schema.GroupVersionResource(q.resource)
	if x.excluded.Has(resource.GroupResource()) {
		return m
	}
	// Without a catalog, the object of a subresource is assumed to be of a kind of its own, such as Scale.
	parent := x.kinds[resource]
	m.parent = q.subresource == "" || parent == q.kind.Kind
	if q.subresource == "" || parent == "" {
		parent = q.kind.Kind
	}
	for _, c := range x.candidates {
		if !c.matches(q, resource, parent) {
			continue
		}
		switch {
		case slices.Contains(c.admission.Operations, q.operation):
			if c.admission.Closed == q.closed {
				m.reviewed = append(m.reviewed, c)
			}
		case q.operation == admissionv1.Delete && q.subresource == "" && c.reports && !q.closed:
			m.cleared = append(m.cleared, c)
		}
	}
	return m
}

// matches reports whether a policy may apply to an object. If in doubt, it returns true: the policy itself decides.
func (c *candidate) matches(q question, resource schema.GroupVersionResource, parent string) bool {
	own := schema.GroupVersionKind(q.kind)
	in := func(t policy.Target) bool {
		of := resource.GroupVersion().WithKind(parent)
		if t.Subresource == q.subresource || t.Subresource == "*" {
			if t.MatchesResource(of, resource.Resource) {
				return true
			}
		}
		// Kinds that only subresources have are named without them: PodExecOptions.
		return q.subresource != "" && own.Kind != parent && t.Subresource == "" && t.Kind == own.Kind && t.MatchesResource(own, resource.Resource)
	}
	return slices.ContainsFunc(c.Targets(), in) || slices.ContainsFunc(c.admission.Targets, in)
}
