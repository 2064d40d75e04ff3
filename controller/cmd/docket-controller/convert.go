// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/progress"
)

// exitPartly is the code of a conversion that left something out, where nothing differs.
const exitPartly = 3

// convertFlags are the flags of `docket-controller convert`, which reads the same input as a scan.
type convertFlags struct {
	*inputFlags

	output, outputDir, proof string
	variants                 int
}

const (
	outputNone = "none"
	// maxVariants bounds what a proof takes.
	maxVariants = 1000
)

const convertExample = `  # What would become of the policies, and do the new ones say the same?
  docket-controller convert --policy policies/ --resource app/

  # The same for the policies and the resources of a cluster, which is only read
  docket-controller convert --kubeconfig ~/.kube/config --output-dir converted/

  # Few resources prove little: compare 50 variants of each as well
  docket-controller convert --policy policies/ --resource tests/ --variants 50

  # Only convert
  docket-controller convert --policy policy.yaml --output yaml`

func newConvert(p cli.Process) *cobra.Command {
	f := convertFlags{output: outputNone, proof: filescan.OutputTable, inputFlags: newInputFlags(&filescan.Input{Process: p})}
	var sections cliflag.NamedFlagSets
	f.add(sections.FlagSet("input"))
	f.addConvertOutput(sections.FlagSet("output"))
	f.cache.AddFlags(sections.FlagSet("context cache"))
	command := &cobra.Command{
		Use:   "convert --policy FILE|DIR... [--resource FILE|DIR... | --kubeconfig FILE] [flags]",
		Short: "Convert Kyverno's older policies to CEL policies, and compare their results",
		Long: `Convert ClusterPolicies and Policies (kyverno.io) to ValidatingPolicies and
NamespacedValidatingPolicies (policies.kyverno.io), with their PolicyExceptions, and compare
the results of both for the resources of files or of a cluster.

Each rule becomes a policy of its own, since results of CEL policies name no rule. It has
the labels and annotations of the old policy, so that its results have the same severity
and category. What CEL can't say with the same meaning is refused, with the field, the
reason and what to do: no rule is converted in part. Rules that mutate, generate or verify
images are refused as well.

The comparison evaluates the old and the new policies for each resource, as a background
scan does, and compares the outcomes. Where a rule is skipped, the new policy has no
result, which counts as equal. Messages are worded by the engines, and not compared.
--variants adds resources that differ in one field from those of files: a few manifests
show little of what a policy does. Without --resource and --kubeconfig nothing is compared.

A cluster is only read. Apply the new policies yourself, with the older ones still there,
look at the reports of both, and then delete the older ones.

Exit codes: 0 all was converted, and nothing differs; 1 results differ; 2 something could
not be read, evaluated or written; 3 something was not converted, and nothing differs; 130
it was interrupted.`,
		Example: convertExample,
		Args:    cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := errors.Join(append(f.validate(), f.apply()...)...); err != nil {
				return cli.Usage(err)
			}
			return f.convert(command.Context())
		},
	}
	return cli.WithSettings(p, command, sections)
}

func (f *convertFlags) addConvertOutput(fs *pflag.FlagSet) {
	fs.StringVar(&f.output, "output", f.output, "Whether the new policies are printed: none or yaml. With yaml, the proof is on standard error.")
	fs.StringVar(&f.outputDir, "output-dir", "", "Folder into which each new policy and exception is written as a file of its own. It is created; files of the same name are replaced.")
	fs.StringVar(&f.proof, "proof", f.proof, "Form of the proof: table, or json with all differences.")
	fs.IntVar(&f.variants, "variants", 0, "How many variants of each resource of --resource are compared as well, at most. Each differs from it in one field.")
}

func (f *convertFlags) validate() []error {
	var errs []error
	add := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	if len(f.Resources) > 0 || f.Kubeconfig != "" {
		errs = f.Validate()
	} else {
		add(len(f.Policies) == 0, "--policy: is required; give files with policies, or --kubeconfig for those of a cluster")
	}
	add(f.output != outputNone && f.output != filescan.OutputYAML, fmt.Sprintf("--output: %q is neither none nor yaml", f.output))
	add(f.proof != filescan.OutputTable && f.proof != filescan.OutputJSON, fmt.Sprintf("--proof: %q is neither table nor json", f.proof))
	add(f.variants < 0 || f.variants > maxVariants, fmt.Sprintf("--variants: must be between 0 and %d", maxVariants))
	add(f.variants > 0 && len(f.Resources) == 0, "--variants needs --resource: the resources of a cluster are many already")
	return errs
}

// conversion is one run of the command.
type conversion struct {
	*filescan.Loaded
	flags   *convertFlags
	results []convert.Result
	// exceptions are the new ones.
	exceptions []*unstructured.Unstructured
	report     proof.Report
}

func (f *convertFlags) convert(ctx context.Context) error {
	if f.variants > 0 {
		f.Variants = f.mutants
	}
	ctx, cancel := context.WithCancel(ctx)
	loaded, err := f.Load(ctx)
	defer loaded.Wait()
	defer cancel()
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
	c.report = proof.NewReport(c.results, comparisons, f.variants > 0)
	c.report.Exceptions = failed
	if err := errors.Join(c.printPolicies(), c.writePolicies(), c.printProof()); err != nil {
		return err
	}
	return c.judge()
}

// mutants returns the variants of resources.
func (f *convertFlags) mutants(objects []manifest.Object) []manifest.Object {
	var all []manifest.Object
	for _, object := range objects {
		all = append(all, proof.Mutants(object, f.variants)...)
	}
	return all
}

func (c *conversion) note(leftOut string) { fmt.Fprintln(c.flags.Process.ErrOut, "Left out:", leftOut) }

// convertAll converts policies and exceptions, and reports about the exceptions.
func (c *conversion) convertAll() []proof.ExceptionReport {
	options := convert.Options{Plural: filescan.Plural, Kinds: func(group, kind string) []schema.GroupResource {
		if found := convert.BuiltIn(filescan.Plural, group, kind); len(found) > 0 {
			return found
		}
		return c.Kinds(group, kind)
	}}
	for _, object := range c.Sorted.Policies {
		if object.GroupVersionKind().Group != policy.KyvernoGroup {
			c.note(fmt.Sprintf("%s: the %s %s is no policy of %s", object.Origin, object.GetKind(), object.GetName(), policy.KyvernoGroup))
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

func (c *conversion) printPolicies() error {
	if c.flags.output != filescan.OutputYAML {
		return nil
	}
	for _, object := range c.made() {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.flags.Process.Out, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}

// writePolicies writes a file for each object.
func (c *conversion) writePolicies() error {
	if c.flags.outputDir == "" {
		return nil
	}
	if err := os.MkdirAll(c.flags.outputDir, 0o755); err != nil { //nolint:gosec // Policies are no secrets.
		return fmt.Errorf("--output-dir: %w", err)
	}
	for _, object := range c.made() {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		name := strings.ToLower(object.GetKind()) + "-"
		if object.GetNamespace() != "" {
			name += object.GetNamespace() + "-"
		}
		path := filepath.Join(c.flags.outputDir, filepath.Base(name+object.GetName()+".yaml"))
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // Policies are no secrets.
			return fmt.Errorf("--output-dir: %w", err)
		}
	}
	return nil
}

func (c *conversion) printProof() error {
	out := c.flags.Process.Out
	if c.flags.output == filescan.OutputYAML {
		out = c.flags.Process.ErrOut
	}
	if c.flags.proof == filescan.OutputJSON {
		return c.report.PrintJSON(out)
	}
	return c.report.PrintTable(out)
}

// judge says by its error what the exit code is to be.
func (c *conversion) judge() error {
	switch summary := c.report.Summary(); {
	case c.report.Count(proof.Differs) > 0:
		return &cli.FindingError{Text: summary, Code: exitFindings}
	case c.report.Count(proof.NotConverted)+c.report.Failed() > 0:
		return &cli.FindingError{Text: summary, Code: exitPartly}
	default:
		fmt.Fprintln(c.flags.Process.ErrOut, summary)
		return nil
	}
}
