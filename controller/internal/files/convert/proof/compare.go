// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Difference is a resource for which a rule and its new policy have different results. A skipped result counts as no
// result: CEL policies skip only by exceptions. Messages are not compared, since each engine words its own.
type Difference struct {
	Resource policy.Reference
	Old, New []Verdict
}

// Comparison is what the proof found for one rule.
type Comparison struct {
	Rule string
	// New is the policy that the rule became.
	New policy.Identity
	// Equal counts the resources with equal results, Skipped those of them for which the rule does not apply
	// although it matches them.
	Equal, Skipped int
	// Differences are sorted by resource.
	Differences []Difference
}

// Compare evaluates the old and the new policies for the resources of a source. The results of conversion have the
// order of old; comparisons are by old policy, for all rules that were converted.
func Compare(ctx context.Context, source filescan.Source, compiled []policy.Policy, results []convert.Result, options filescan.Options) (map[policy.Identity][]Comparison, error) {
	findings := filescan.NewFindings(true)
	options.Findings = findings
	if err := filescan.Run(ctx, source, compiled, options); err != nil {
		return nil, err
	}
	type key struct {
		policy policy.Identity
		rule   string
	}
	verdicts := map[key]map[policy.Reference][]Verdict{}
	for _, finding := range findings.Kept() {
		k := key{finding.Policy, finding.Rule}
		if isCEL(finding.Policy) {
			k.rule = ""
		}
		if verdicts[k] == nil {
			verdicts[k] = map[policy.Reference][]Verdict{}
		}
		verdicts[k][finding.Subject] = append(verdicts[k][finding.Subject], Verdict{Outcome: finding.Outcome, Message: finding.Message})
	}
	out := map[policy.Identity][]Comparison{}
	for _, result := range results {
		for _, rule := range result.Rules {
			if rule.Policy == nil {
				continue
			}
			old := map[policy.Reference][]Verdict{}
			for _, name := range convert.GeneratedNames(rule.Name) {
				for subject, list := range verdicts[key{result.Old, name}] {
					old[subject] = append(old[subject], list...)
				}
			}
			id := IdentityOf(rule.Policy)
			comparison := compare(old, verdicts[key{id, ""}])
			comparison.Rule, comparison.New = rule.Name, id
			out[result.Old] = append(out[result.Old], comparison)
		}
	}
	return out, nil
}

func isCEL(id policy.Identity) bool {
	return id.Kind == policy.ValidatingPolicy || id.Kind == policy.NamespacedValidatingPolicy
}

// IdentityOf identifies a policy.
func IdentityOf(object *unstructured.Unstructured) policy.Identity {
	return policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

func compare(before, after map[policy.Reference][]Verdict) Comparison {
	var out Comparison
	subjects := map[policy.Reference]bool{}
	for subject := range before {
		subjects[subject] = true
	}
	for subject := range after {
		subjects[subject] = true
	}
	for subject := range subjects {
		a, b := before[subject], after[subject]
		switch {
		case slices.Equal(outcomes(a), outcomes(b)):
			out.Equal++
			if len(outcomes(a)) == 0 {
				out.Skipped++
			}
		default:
			out.Differences = append(out.Differences, Difference{subject, a, b})
		}
	}
	slices.SortFunc(out.Differences, func(a, b Difference) int { return compareReferences(a.Resource, b.Resource) })
	return out
}

func compareReferences(a, b policy.Reference) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
}

// outcomes returns the outcomes of results without those that are skipped, in an order of their own.
func outcomes(verdicts []Verdict) []report.Outcome {
	var list []report.Outcome
	for _, verdict := range verdicts {
		if verdict.Outcome != report.OutcomeSkip {
			list = append(list, verdict.Outcome)
		}
	}
	slices.Sort(list)
	return list
}

// String is a line for people.
func (d Difference) String() string {
	name := d.Resource.Name
	if d.Resource.Namespace != "" {
		name = d.Resource.Namespace + "/" + name
	}
	if d.Resource.UID != "" {
		name += " (" + string(d.Resource.UID) + ")"
	}
	return fmt.Sprintf("%s %s: was %s, is %s", d.Resource.Kind, name, words(d.Old), words(d.New))
}
