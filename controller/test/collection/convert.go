// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// ConvertedRule is what the conversion of a rule came to.
type ConvertedRule struct {
	File, Policy, Rule string
	// Err says why the rule was not converted.
	Err error
	// Comparison is nil if it was not.
	Comparison *proof.Comparison
	// Unproven says why the results can't be compared here, such as a context that needs a cluster.
	Unproven string
}

// Convert converts all policies with rules that the test files name, and compares the results of old and new for
// their resources. Files of which the results need mocks are converted and not compared.
func Convert(ctx context.Context, options Options) ([]ConvertedRule, []error, error) {
	paths, err := find(options.Dir)
	if err != nil {
		return nil, nil, err
	}
	rules := make([][]ConvertedRule, len(paths))
	broken := make([]error, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			rules[i], broken[i] = options.convertFile(ctx, path)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return slices.Concat(rules...), slices.DeleteFunc(broken, func(err error) bool { return err == nil }), nil
}

func (o Options) convertFile(ctx context.Context, path string) ([]ConvertedRule, error) {
	f, err := readFile(o.Dir, path)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Concat(f.content.Policies, f.content.Resources, f.content.Exceptions) {
		if remote(path) {
			return nil, nil
		}
	}
	sorted, err := f.loadPolicies()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	sorted.Policies = slices.DeleteFunc(sorted.Policies, func(object manifest.Object) bool { return !hasRules(object) })
	if len(sorted.Policies) == 0 {
		return nil, nil
	}
	var results []convert.Result
	for _, object := range sorted.Policies {
		results = append(results, convert.Policy(object.Unstructured, convert.Options{Plural: objects.Plural}))
	}
	unproven := leftOut(f, sorted)
	if strings.HasPrefix(unproven, "out of scope") {
		unproven = ""
	}
	comparisons, err := o.compareConverted(ctx, f, sorted, results)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	var out []ConvertedRule
	for i, result := range results {
		out = append(out, rulesOf(f.path, sorted.Policies[i], result, comparisons[result.Old], unproven)...)
	}
	return out, nil
}

// rulesOf lists the rules of a policy that validate.
func rulesOf(path string, object manifest.Object, result convert.Result, comparisons []proof.Comparison, unproven string) []ConvertedRule {
	if result.Err != nil {
		return []ConvertedRule{{File: path, Policy: object.GetName(), Err: result.Err}}
	}
	var out []ConvertedRule
	for _, rule := range result.Rules {
		one := ConvertedRule{File: path, Policy: object.GetName(), Rule: rule.Name, Err: rule.Err, Unproven: unproven}
		for i := range comparisons {
			if comparisons[i].Rule == rule.Name {
				one.Comparison = &comparisons[i]
			}
		}
		out = append(out, one)
	}
	return out
}

func (o Options) compareConverted(ctx context.Context, f *file, sorted filescan.Sorted, results []convert.Result) (map[policy.Identity][]proof.Comparison, error) {
	policies, source, err := f.prepare(o.Compiler, filescan.Sorted{Policies: sorted.Policies}, o.Mutants)
	if err != nil {
		return nil, err
	}
	for i := range results {
		for j := range results[i].Rules {
			rule := &results[i].Rules[j]
			if rule.Policy == nil {
				continue
			}
			compiled := o.Compiler.Compile(rule.Policy, nil)
			if err := errors.Join(compiled.Problem(), compiled.Doubt()); err != nil {
				rule.Policy, rule.Err = nil, fmt.Errorf("the new policy can't be evaluated: %w", err)
				continue
			}
			policies = append(policies, compiled)
		}
	}
	return proof.Compare(ctx, source, policies, results, filescan.Options{Workers: 1})
}

// Reasons counts the rules by a text of each.
func Reasons(rules []ConvertedRule, reason func(ConvertedRule) string) []string {
	counts := map[string]int{}
	for _, rule := range rules {
		if text := reason(rule); text != "" {
			counts[text]++
		}
	}
	lines := make([]string, 0, len(counts))
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%4d %s", counts[text], text))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return lines
}
