// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"slices"
	"testing"

	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/clients/dclient"
	"github.com/kyverno/kyverno/pkg/engine"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"github.com/kyverno/kyverno/pkg/engine/policycontext"
	"github.com/kyverno/kyverno/pkg/policycache"
	engineutils "github.com/kyverno/kyverno/pkg/utils/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// reviewCase is a policy, a request, and what is to come of them.
type reviewCase struct {
	policy     string
	exceptions []string
	request    *policy.Request
	verdicts   []string
}

// check wants the verdicts, nothing in the request to change, and the decision and the outcomes of
// Kyverno.
func (c *reviewCase) check(t *testing.T) []policy.Verdict {
	t.Helper()
	newBefore, oldBefore := c.request.New.DeepCopy(), c.request.Old.DeepCopy()
	p := compile(t, c.policy, c.exceptions...)
	verdicts := enginetest.WantVerdicts(t, p, c.request, c.verdicts...)
	enginetest.WantEqual(t, "new object", newBefore, c.request.New)
	enginetest.WantEqual(t, "old object", oldBefore, c.request.Old)
	denied := slices.ContainsFunc(verdicts, func(v policy.Verdict) bool { return v.Deny })
	var outcomes []string
	for _, verdict := range verdicts {
		outcomes = append(outcomes, verdict.Rule+":"+string(verdict.Outcome)+": "+verdict.Message)
	}
	kyvernoDenies, kyvernoOutcomes := c.kyverno(t, p.(*classicPolicy))
	slices.Sort(outcomes)
	slices.Sort(kyvernoOutcomes)
	enginetest.WantEqual(t, "denial of Kyverno", kyvernoDenies, denied)
	enginetest.WantEqual(t, "outcomes of Kyverno", kyvernoOutcomes, outcomes)
	return verdicts
}

// kyverno does what Kyverno's webhook does: it chooses the rules to enforce and those to audit by
// its policy cache, and asks the engine.
func (c *reviewCase) kyverno(t *testing.T, p *classicPolicy) (denied bool, outcomes []string) {
	t.Helper()
	r := c.request
	cache := policycache.NewCache()
	testkit.NoError(t, cache.Set(p.Facts.Identity.ResultName(), p.decoded, finder{}))
	namespace := base.RequestNamespace(r)
	info := kyvernov2.RequestInfo{AdmissionUserInfo: r.UserInfo, DryRun: *r.DryRun}
	if r.Roles != nil {
		var err error
		if info.Roles, info.ClusterRoles, err = r.Roles(); err != nil {
			t.Fatal(err)
		}
	}
	jmespath, settings := p.compiler.jmespath, p.compiler.settings
	about, err := policycontext.NewPolicyContextFromAdmissionRequest(jmespath, *r.AdmissionRequest, info, enginetest.Kinds[r.Resource.Resource], settings)
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind.Kind != base.NamespaceKind {
		about = about.WithNamespaceLabels(r.NamespaceLabels)
	}
	cluster := true
	asked := engine.NewEngine(settings, jmespath, &scopedClient{subject: namespace}, nil, nil,
		factories.DefaultContextLoaderFactory(nil), p.exceptions, &cluster)
	resource := schema.GroupVersionResource(r.Resource)
	for _, one := range cache.GetPolicies(policycache.ValidateEnforce, resource, r.SubResource, namespace) {
		response := asked.Validate(t.Context(), about.WithPolicy(one))
		denied = denied || engineutils.BlockRequest(response, one.GetSpec().GetFailurePolicy(t.Context()))
		for _, rule := range response.PolicyResponse.Rules {
			outcomes = append(outcomes, rule.Name()+":"+string(rule.Status())+": "+rule.Message())
		}
	}
	for _, one := range cache.GetPolicies(policycache.ValidateAudit, resource, r.SubResource, namespace) {
		for _, rule := range asked.Validate(t.Context(), about.WithPolicy(one)).PolicyResponse.Rules {
			outcomes = append(outcomes, rule.Name()+":"+string(rule.Status())+": "+rule.Message())
		}
	}
	return denied, outcomes
}

// finder finds their resources for Kyverno's policy cache.
type finder struct{}

// FindResources is that of Kyverno's discovery.
func (finder) FindResources(_, _, kind, subresource string) (map[dclient.TopLevelApiDescription]metav1.APIResource, error) {
	out := map[dclient.TopLevelApiDescription]metav1.APIResource{}
	for resource, known := range enginetest.Kinds {
		if kind == "*" || known.Kind == kind {
			out[dclient.TopLevelApiDescription{
				GroupVersion: known.GroupVersion(), Kind: known.Kind, Resource: resource, SubResource: subresource,
			}] = metav1.APIResource{}
		}
	}
	return out, nil
}
