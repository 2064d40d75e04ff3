// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policytest is a policy engine for tests: a policy wants a label on resources of some
// kinds. It starts no goroutine.
//
//	kind: ClusterPolicy
//	metadata: {name: owner}
//	spec:
//	  kinds: [Pod]         # group/version/kind works as well
//	  label: owner         # what must be there; a missing one fails
//	  rules: [r1, r2]      # each gives the same result; "r" if none are named
//	  namespaceLabel: env  # other namespaces don't match
//	  background: false
//	  unscored: true
//	  severity: high
//	  problem: text        # all results are errors
//
// A PolicyException with spec {policy, resource} makes the results for that resource skip.
package policytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Compiler implements [policy.Compiler].
type Compiler struct{}

type spec struct {
	Kinds          []string        `json:"kinds"`
	Label          string          `json:"label"`
	Rules          []string        `json:"rules"`
	NamespaceLabel string          `json:"namespaceLabel"`
	Background     *bool           `json:"background"`
	Unscored       bool            `json:"unscored"`
	Severity       report.Severity `json:"severity"`
	Problem        string          `json:"problem"`

	// Policy and Resource are set for an exception.
	Policy   string `json:"policy"`
	Resource string `json:"resource"`
}

type compiled struct {
	spec

	id       policy.Identity
	excepted map[string]bool
	problem  error
	reported bool
}

// Compile implements [policy.Compiler].
func (Compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	p := &compiled{
		id:       policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()},
		excepted: map[string]bool{},
	}
	_, disabled := object.GetLabels()[policy.DisabledLabel]
	p.reported = !disabled
	p.problem = decode(object, &p.spec)
	if p.problem == nil && p.spec.Problem != "" {
		p.problem = errors.New(p.spec.Problem)
	}
	if len(p.Rules) == 0 {
		p.Rules = []string{"r"}
	}
	for _, exception := range exceptions {
		var e spec
		if err := decode(exception, &e); err != nil {
			p.problem = err
		}
		if e.Policy == p.id.Name {
			p.excepted[e.Resource] = true
		}
	}
	return p
}

func decode(object *unstructured.Unstructured, into *spec) error {
	fields, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into)
}

func (p *compiled) Identity() policy.Identity { return p.id }

func (p *compiled) Presentation() policy.Presentation {
	return policy.Presentation{Source: "policytest", Severity: p.Severity, Scored: !p.Unscored}
}

func (p *compiled) Fingerprint() string { return fmt.Sprintf("%+v %v", p.spec, p.excepted) }
func (p *compiled) Background() bool    { return p.spec.Background == nil || *p.spec.Background }

func (p *compiled) Targets() []policy.Target {
	var targets []policy.Target
	for _, kind := range p.Kinds {
		target := policy.Target{Group: "*", Version: "*", Kind: kind}
		if parts := strings.Split(kind, "/"); len(parts) == 3 {
			target = policy.Target{Group: parts[0], Version: parts[1], Kind: parts[2]}
		}
		targets = append(targets, target)
	}
	return targets
}

func (p *compiled) Problem() error { return p.problem }

func (p *compiled) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.matches(subject) {
		return nil, nil
	}
	result := policy.Result{Outcome: report.OutcomeFail, Message: "the label " + p.Label + " is missing"}
	value, ok := subject.Object.GetLabels()[p.Label]
	switch {
	case p.problem != nil:
		result.Outcome, result.Message = report.OutcomeError, p.problem.Error()
	case p.excepted[subject.Object.GetName()]:
		result.Outcome, result.Message = report.OutcomeSkip, "excepted"
	case ok:
		result.Outcome, result.Message = report.OutcomePass, "it is "+value
	}
	results := make([]policy.Result, 0, len(p.Rules))
	for _, rule := range p.Rules {
		result.Rule = rule
		results = append(results, result)
	}
	return results, nil
}

func (p *compiled) matches(subject policy.Subject) bool {
	if p.id.Namespace != "" && p.id.Namespace != subject.Object.GetNamespace() {
		return false
	}
	if _, ok := subject.NamespaceLabels[p.NamespaceLabel]; !ok && p.NamespaceLabel != "" {
		return false
	}
	for _, target := range p.Targets() {
		if target.Matches(subject.Object.GroupVersionKind(), subject.Resource.Resource) {
			return true
		}
	}
	return false
}

// Admission implements [policy.Policy]: these policies want nothing of requests.
func (p *compiled) Admission() policy.Admission { return policy.Admission{} }

// Entries implements [policy.Policy]: these policies read no context.
func (p *compiled) Entries() []policy.Entry { return nil }
func (p *compiled) Doubt() error            { return nil }
func (p *compiled) LeftOut() []string       { return nil }
func (p *compiled) Reported() bool          { return p.reported }
func (p *compiled) ReadsStatus() bool       { return false }
func (p *compiled) ReadsNamespace() bool    { return false }

func (p *compiled) Review(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
	return nil, ctx.Err()
}
