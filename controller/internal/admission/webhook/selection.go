// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// selection has the rules of the two webhooks.
type selection struct {
	fail, ignore *ruleSet
}

// selectRules collects the rules of all policies.
func (c *RegistrarConfig) selectRules(policies []policy.Policy, catalog *served.Catalog) selection {
	chosen := selection{fail: c.newRuleSet(catalog), ignore: c.newRuleSet(catalog)}
	// A node needs them to join. A wildcard never makes them depend on this webhook: without nodes, its pods could not
	// start.
	for _, resource := range []schema.GroupResource{{Resource: "nodes"}, {Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}} {
		chosen.fail.byName[resource] = true
	}
	for _, p := range policies {
		if !policy.WantsReview(p, c.All) {
			continue
		}
		admission := p.Admission()
		set := chosen.ignore
		if admission.Closed {
			set = chosen.fail
		}
		set.timeout = max(set.timeout, admission.Timeout)
		namespaced := p.Identity().Namespace != ""
		targets := admission.Targets
		if len(targets) == 0 {
			targets = p.Targets()
		}
		for _, target := range targets {
			set.add(target, namespaced, admission.Operations)
			if p.Background() || slices.Contains(admission.Operations, admissionv1.Delete) || target.Subresource != "" && target.Subresource != wildcard {
				continue
			}
			// The handler clears the results of what is deleted.
			target.Subresource = ""
			chosen.ignore.add(target, namespaced, []admissionv1.Operation{admissionv1.Delete})
		}
	}
	return chosen
}

func (c *RegistrarConfig) newRuleSet(catalog *served.Catalog) *ruleSet {
	set := &ruleSet{
		catalog: catalog, always: policy.NeverReviewed(), byName: policy.NewExclusion(),
		wanted: map[resourceKey]map[admissionv1.Operation]bool{},
	}
	maps.Copy(set.always, c.Exclude)
	maps.Copy(set.byName, set.always)
	return set
}

// sortedExclusion returns the resources that a webhook for all resources must not be sent.
func (s *ruleSet) sortedExclusion() []schema.GroupResource {
	return slices.SortedFunc(maps.Keys(s.byName), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}
