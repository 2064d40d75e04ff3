// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is what docket-convert does: it reads policies, converts them, compares the results of old and
// new, and prints or writes both. Begin at [Command.Run].
package conversion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/progress"
)

// ExitPartly is the code of a conversion that left something out, where nothing differs.
const ExitPartly = 3

// OutputNone prints no policies.
const OutputNone = "none"

// maxVariants bounds what a proof takes.
const maxVariants = 1000

// Command is what the program does: it reads the same input as a scan.
type Command struct {
	*filescan.Input
	// Output and Proof are the forms of what is printed; OutputDir is the folder for a file for each new object.
	Output, OutputDir, Proof string
	// Variants is the number of variants of each resource that are compared as well.
	Variants int
}

// Validate returns one error for each flag that is wrong.
func (f *Command) Validate() []error {
	var errs []error
	add := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	if len(f.Resources) > 0 || f.Kubeconfig != "" {
		errs = f.Input.Validate()
	} else {
		add(len(f.Policies) == 0, "--policy: is required; give files with policies, or --kubeconfig for those of a cluster")
	}
	add(f.Output != OutputNone && f.Output != filescan.OutputYAML, fmt.Sprintf("--output: %q is neither none nor yaml", f.Output))
	add(f.Proof != filescan.OutputTable && f.Proof != filescan.OutputJSON, fmt.Sprintf("--proof: %q is neither table nor json", f.Proof))
	add(f.Variants < 0 || f.Variants > maxVariants, fmt.Sprintf("--variants: must be between 0 and %d", maxVariants))
	add(f.Variants > 0 && len(f.Resources) == 0, "--variants needs --resource: the resources of a cluster are many already")
	return errs
}

// conversion is one run of the command.
type conversion struct {
	*filescan.Loaded
	flags   *Command
	results []convert.Result
	// exceptions are the new ones.
	exceptions []*unstructured.Unstructured
	report     proof.Report
}

// Run converts, compares and prints. A difference is a finding.
func (f *Command) Run(ctx context.Context) error {
	if f.Variants > 0 {
		f.Input.Variants = f.mutants
	}
	ctx, cancel := context.WithCancel(ctx)
	loaded, err := f.Load(ctx)
	defer loaded.Wait()
	defer cancel()
	if err == nil {
		err = errors.Join(loaded.Unreadable...)
	}
	if err != nil {
		return err
	}
	c := conversion{flags: f, Loaded: loaded}
	failed := c.convertAll()
	added := c.compileNew()
	var comparisons map[policy.Identity][]proof.Comparison
	if c.Source != nil {
		bar := progress.New(f.Process.ErrOut, c.Total, "compare")
		comparisons, err = proof.Compare(ctx, c.Source, append(c.Policies, added...), c.results, filescan.Options{Workers: f.Workers, Progress: bar})
		bar.Done()
		if err != nil {
			return err
		}
	} else {
		c.note("nothing is compared without --resource or --kubeconfig")
	}
	c.report = proof.NewReport(c.results, comparisons, f.Variants > 0)
	c.report.Exceptions = failed
	if err := errors.Join(c.emit(), c.printProof()); err != nil {
		return err
	}
	return c.judge()
}

// mutants returns the variants of resources.
func (f *Command) mutants(objects []manifest.Object) []manifest.Object {
	var all []manifest.Object
	for _, object := range objects {
		all = append(all, proof.Mutants(object, f.Variants)...)
	}
	return all
}

func (c *conversion) note(leftOut string) { fmt.Fprintln(c.flags.Process.ErrOut, "Left out:", leftOut) }

// convertAll converts policies and exceptions, and reports about the exceptions.
func (c *conversion) convertAll() []proof.ExceptionReport {
	options := convert.Options{Plural: objects.Plural, Kinds: c.Kinds}
	for _, object := range c.Sorted.Policies {
		if object.GroupVersionKind().Group != policy.KyvernoGroup {
			c.note(fmt.Sprintf("%s: the %s %s is a CEL policy already", object.Origin, object.GetKind(), object.GetName()))
			continue
		}
		c.results = append(c.results, convert.Policy(object.Unstructured, options))
	}
	var reports []proof.ExceptionReport
	for _, object := range c.Sorted.Exceptions {
		if object.GroupVersionKind().Group != policy.KyvernoGroup {
			continue
		}
		one := proof.ExceptionReport{Name: object.GetNamespace() + "/" + object.GetName()}
		converted, err := convert.Exception(object.Unstructured, c.results, options)
		if err != nil {
			one.Reason = err.Error()
		} else {
			c.exceptions = append(c.exceptions, converted)
		}
		reports = append(reports, one)
	}
	return reports
}

// compileNew compiles the new policies. One that does not compile is not converted.
func (c *conversion) compileNew() []policy.Policy {
	var added []policy.Policy
	for i := range c.results {
		for j := range c.results[i].Rules {
			rule := &c.results[i].Rules[j]
			if rule.Policy == nil {
				continue
			}
			compiled := c.Compiler.Compile(rule.Policy, c.exceptions)
			if err := compiled.Problem(); err != nil {
				rule.Policy, rule.Err = nil, fmt.Errorf("the new policy can't be evaluated, write it by hand: %w", err)
				continue
			}
			added = append(added, compiled)
		}
	}
	return added
}

// made returns the new policies and exceptions.
func (c *conversion) made() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, result := range c.results {
		all = append(all, result.Converted()...)
	}
	return slices.Concat(all, c.exceptions)
}

// emit prints the new objects, and writes a file for each.
func (c *conversion) emit() error {
	if c.flags.OutputDir != "" {
		if err := os.MkdirAll(c.flags.OutputDir, 0o755); err != nil { //nolint:gosec // Policies are no secrets.
			return fmt.Errorf("--output-dir: %w", err)
		}
	}
	for _, object := range c.made() {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if c.flags.Output == filescan.OutputYAML {
			if _, err := fmt.Fprintf(c.flags.Process.Out, "---\n%s", data); err != nil {
				return err
			}
		}
		if c.flags.OutputDir == "" {
			continue
		}
		name := strings.ToLower(object.GetKind()) + "-"
		if object.GetNamespace() != "" {
			name += object.GetNamespace() + "-"
		}
		path := filepath.Join(c.flags.OutputDir, filepath.Base(name+object.GetName()+".yaml"))
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // Policies are no secrets.
			return fmt.Errorf("--output-dir: %w", err)
		}
	}
	return nil
}

func (c *conversion) printProof() error {
	out := c.flags.Process.Out
	if c.flags.Output == filescan.OutputYAML {
		out = c.flags.Process.ErrOut
	}
	if c.flags.Proof == filescan.OutputJSON {
		return c.report.PrintJSON(out)
	}
	return c.report.PrintTable(out)
}

// judge says by its error what the exit code is to be.
func (c *conversion) judge() error {
	switch summary := c.report.Summary(); {
	case c.report.Count(proof.Differs) > 0:
		return &cli.FindingError{Text: summary, Code: filescan.ExitFindings}
	case c.report.Count(proof.NotConverted)+c.report.Failed() > 0:
		return &cli.FindingError{Text: summary, Code: ExitPartly}
	default:
		fmt.Fprintln(c.flags.Process.ErrOut, summary)
		return nil
	}
}
