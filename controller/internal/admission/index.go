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

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
)

// maxKnown bounds how many questions to an index have a ready answer: the kinds of a cluster do.
const maxKnown = 4096

// question is what decides about which policies a request is for, beside its namespace.
type question struct {
	kind        metav1.GroupVersionKind
	resource    metav1.GroupVersionResource
	subresource string
	operation   admissionv1.Operation
	closed      bool
}

// match is the answer.
type match struct {
	// reviewed are to be evaluated.
	reviewed []candidate
	// cleared only lose what they have said about the object: they don't match its deletion.
	cleared []candidate
	// parent reports whether the object is one of the resource itself.
	parent bool
}

// candidate is a policy with what is asked of it time and again.
type candidate struct {
	policy.Policy
	id        policy.Identity
	admission policy.Admission
	// reports reports whether reports are to have its results and only admission finds them.
	reports bool
}

// index has the policies of one snapshot by what they are about. Its answers never change.
type index struct {
	policies   []policy.Policy
	catalog    *served.Catalog
	excluded   policy.Exclusion
	candidates []candidate
	// roles reports whether a policy reads the roles of users.
	roles bool
	// longest is what policies ask to be waited for at most: those that are closed, and the others.
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

// same reports whether the index is of these. Slices of policies never change, hence the first element
// tells them apart.
func (x *index) same(policies []policy.Policy, catalog *served.Catalog) bool {
	return x != nil && x.catalog == catalog && len(x.policies) == len(policies) &&
		(len(policies) == 0 || &x.policies[0] == &policies[0])
}

// timeout is how long the webhook configuration has kube-apiserver wait.
func (x *index) timeout(closed bool, usual time.Duration) time.Duration {
	return policy.ReviewTimeout(usual, x.longest[closed])
}

// match returns which policies a request is for; those of other namespaces are among them.
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
	// Without a catalog the object of a subresource is taken for one of its own kind, such as Scale.
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

// matches reports whether a policy may be about an object. It rather says so once too often: the policy
// decides.
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
