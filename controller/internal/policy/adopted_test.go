// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
)

// covered is a policy that says only what its engine evaluates.
type covered struct {
	policy.Policy

	coverage policy.Coverage
}

func (c covered) Coverage() policy.Coverage { return c.coverage }

// silent is a policy that says nothing about that.
type silent struct{ policy.Policy }

func TestAdoptable(t *testing.T) {
	t.Parallel()
	mixed := policy.Coverage{Rules: map[string]bool{"validate": true, "mutate": false}}
	for name, test := range map[string]struct {
		policy policy.Policy
		here   bool
		want   map[string]bool
		every  bool
	}{
		"all evaluated":           {silent{}, true, map[string]bool{"any": false}, false},
		"not evaluated here":      {silent{}, false, map[string]bool{"any": true}, true},
		"no engine":               {covered{coverage: policy.Coverage{None: true}}, true, map[string]bool{"any": true}, true},
		"mixed":                   {covered{coverage: mixed}, true, map[string]bool{"validate": false, "mutate": true, "any": false}, false},
		"mixed, not evaluated":    {covered{coverage: mixed}, false, map[string]bool{"validate": true, "mutate": true, "any": false}, false},
		"all rules are evaluated": {covered{coverage: policy.Coverage{Rules: map[string]bool{"a": true}}}, true, map[string]bool{"a": false}, false},
	} {
		rules, empty := policy.Adoptable(test.policy, test.here), true
		for rule, want := range test.want {
			empty = empty && !want
			if got := rules.Has(rule); got != want {
				t.Errorf("%s: %s: %v", name, rule, got)
			}
		}
		if rules.Empty() != empty || rules.Every() != test.every || !rules.Equal(policy.Adoptable(test.policy, test.here)) {
			t.Errorf("%s: empty %v, every %v", name, rules.Empty(), rules.Every())
		}
	}
}
