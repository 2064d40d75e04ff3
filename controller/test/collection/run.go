// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Options of a run.
type Options struct {
	// Dir is the folder of the collection.
	Dir string
	// Compiler is what is tested.
	Compiler policy.Compiler
	// Allow has what may be missing; nil for nothing.
	Allow *AllowList
	// Mutants is how many variants of each resource [Convert] adds.
	Mutants int
	// ThroughReports reads the results back from split reports and compares those.
	ThroughReports bool
}

// LeftOut is a test file that was not run.
type LeftOut struct {
	File, Reason string
	// Results is how many results it expects.
	Results int
}

// Outcome is what a run found.
type Outcome struct {
	Comparisons []Comparison
	LeftOut     []LeftOut
	// Files counts the files that were run, by the kind of their policies.
	Files map[string]int
	// Broken are the files that could not be run, and Changed those whose results were
	// others when they were read back from reports.
	Broken, Changed []error
	// NotNeeded are the entries of the allow-list that nothing needed.
	NotNeeded []string
}

// one is the outcome of one file.
type one struct {
	kind        string
	comparisons []Comparison
	leftOut     *LeftOut
	broken      error
	changed     error
}

// Run runs all test files below the folder. The error is about the folder or ctx; what is wrong
// with tests is in the outcome.
func Run(ctx context.Context, options Options) (*Outcome, error) {
	paths, err := find(options.Dir)
	if err != nil {
		return nil, err
	}
	all := make([]one, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			var err error
			all[i], err = options.runFile(ctx, path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return gather(all, options.Allow), nil
}

// gather puts the outcomes of all files together and applies the allow-list.
func gather(all []one, allow *AllowList) *Outcome {
	outcome := &Outcome{Files: map[string]int{}}
	for _, each := range all {
		switch {
		case each.broken != nil:
			outcome.Broken = append(outcome.Broken, each.broken)
			continue
		case each.leftOut != nil:
			outcome.LeftOut = append(outcome.LeftOut, *each.leftOut)
			continue
		}
		outcome.Files[each.kind]++
		if each.changed != nil {
			outcome.Changed = append(outcome.Changed, each.changed)
		}
		for _, comparison := range each.comparisons {
			if comparison.Verdict == Missing {
				comparison.Reason = allow.reason(comparison.key())
			}
			outcome.Comparisons = append(outcome.Comparisons, comparison)
		}
	}
	outcome.NotNeeded = allow.unused()
	slices.SortFunc(outcome.Comparisons, compareComparisons)
	return outcome
}

// runFile runs one file. The error is that of ctx and no other.
func (o Options) runFile(ctx context.Context, path string) (one, error) {
	f, err := readFile(o.Dir, path)
	if err != nil {
		return one{broken: err}, nil //nolint:nilerr // a broken file is a finding
	}
	results := 0
	for _, e := range f.content.Results {
		results += len(e.split())
	}
	for _, path := range slices.Concat(f.content.Policies, f.content.Resources, f.content.Exceptions) {
		if remote(path) {
			return one{leftOut: &LeftOut{f.path, "needs the network: files from elsewhere", results}}, nil
		}
	}
	sorted, err := f.loadPolicies()
	if err != nil {
		return one{broken: fmt.Errorf("%s: %w", f.path, err)}, nil
	}
	if reason := leftOut(f, sorted); reason != "" {
		return one{leftOut: &LeftOut{f.path, reason, results}}, nil
	}
	policies, source, err := f.prepare(o.Compiler, sorted, 0)
	if err != nil {
		return one{broken: fmt.Errorf("%s: %w", f.path, err)}, nil
	}
	findings, changed, err := o.evaluate(ctx, source, policies)
	if err != nil {
		return one{}, err
	}
	if changed != nil {
		changed = fmt.Errorf("%s: %w", f.path, changed)
	}
	kind := sorted.Policies[0].GetKind()
	return one{kind: kind, comparisons: compare(f, kind, findings), changed: changed}, nil
}

// loadPolicies reads the policies and exceptions of a file.
func (f *file) loadPolicies() (filescan.Sorted, error) {
	policies, err := f.load(f.content.Policies)
	if err != nil {
		return filescan.Sorted{}, fmt.Errorf("policies: %w", err)
	}
	sorted := filescan.Sort(policies, "")
	if len(sorted.Policies)+len(sorted.Others) == 0 {
		return filescan.Sorted{}, errors.New("policies: there are none in its files")
	}
	exceptions, err := f.load(f.content.Exceptions)
	if err != nil {
		return filescan.Sorted{}, fmt.Errorf("exceptions: %w", err)
	}
	sorted.Exceptions = append(sorted.Exceptions, filescan.Sort(exceptions, "").Exceptions...)
	return sorted, nil
}

// prepare compiles the policies and loads the resources of a file, with some mutants of each.
func (f *file) prepare(compiler policy.Compiler, sorted filescan.Sorted, mutants int) ([]policy.Policy, *filescan.Files, error) {
	resources, err := f.load(f.content.Resources)
	if err != nil {
		return nil, nil, fmt.Errorf("resources: %w", err)
	}
	if mutants > 0 {
		for _, object := range slices.Clone(resources) {
			resources = append(resources, proof.Mutants(object, mutants)...)
		}
	}
	source := filescan.NewFiles(resources, filescan.FilesOptions{NamespaceLabels: f.content.Values.labels()})
	for _, unreadable := range source.Unreadable {
		err = errors.Join(err, unreadable)
	}
	return filescan.Compile(compiler, sorted.Policies, sorted.Exceptions), source, err
}

func (f *file) load(paths []string) ([]manifest.Object, error) {
	resolved := make([]string, len(paths))
	for i, path := range paths {
		resolved[i] = f.resolve(path)
	}
	set, err := (&manifest.Loader{}).Load(resolved...)
	return set.Objects, err
}
