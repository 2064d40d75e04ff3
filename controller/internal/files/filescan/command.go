// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	apireport "github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/progress"
)

// The forms of output.
const (
	OutputTable  = "table"
	OutputYAML   = "yaml"
	OutputJSON   = "json"
	outputSARIF  = "sarif"
	outputJUnit  = "junit"
	outputGitHub = "github"
)

var outputs = []string{OutputTable, OutputYAML, OutputJSON, outputSARIF, outputJUnit, outputGitHub}

// ExitFindings is the exit code of a command that did its work and found what should not be.
const ExitFindings = 1

// Command is one scan, as its flags describe it.
type Command struct {
	Input
	// Output is the form of what is printed.
	Output string
	// All shows all results and policies.
	All bool
	// FailOn is the lowest severity of failures that set the exit code.
	FailOn string
	// RequireMatch makes an error of a policy that applies to no resource, Strict one of the first document or policy that
	// can't be read.
	RequireMatch, Strict bool
	// AuditWarn makes warnings of the failures that admission would let pass.
	AuditWarn bool
	// To is the kubeconfig of a server into which reports are written; empty for none.
	To               string
	CreateNamespaces bool
	// Split and API say which reports there are, as in [report.Options].
	Split bool
	API   string
	// Version is the program's own.
	Version string
}

// Validate returns one error for each flag that is wrong.
func (c *Command) Validate() []error {
	return append(c.Input.Validate(), wrong(
		mistake{c.CreateNamespaces && c.To == "", "--create-namespaces needs --to"},
		mistake{!slices.Contains(outputs, c.Output), fmt.Sprintf("--output: %q is none of %s", c.Output, strings.Join(outputs, ", "))},
		mistake{!slices.Contains(severities, apireport.Severity(c.FailOn)), fmt.Sprintf("--fail-on: %q is none of critical, high, medium, low, info and none", c.FailOn)},
		mistake{c.API != string(report.WGPolicy) && c.API != string(report.OpenReports), fmt.Sprintf("--reports-api: %q is neither %s nor %s", c.API, report.WGPolicy, report.OpenReports)},
	)...)
}

// run is one run of a command.
type run struct {
	*Command
	*Loaded
	findings *Findings
	// layout is nil if nobody wants reports.
	layout *report.Layout
	server *reportServer
}

// Run scans. Its error is a [cli.FindingError] if something fails.
func (c *Command) Run(ctx context.Context) error {
	// What supports the evaluation ends with it.
	ctx, cancel := context.WithCancel(ctx)
	loaded, err := c.Load(ctx)
	defer loaded.Wait()
	defer cancel()
	if err != nil {
		return err
	}
	r := run{Command: c, Loaded: loaded, findings: NewFindings(c.All || c.Output == outputJUnit)}
	r.examine()
	if lacking := append(slices.Clone(r.Unreadable), r.problems()...); c.Strict && len(lacking) > 0 {
		return lacking[0]
	}
	options := Options{Workers: c.Workers, Findings: r.findings, AuditWarn: c.AuditWarn}
	if c.Output == OutputYAML || c.Output == OutputJSON || c.To != "" {
		r.layout = report.NewLayout(report.Options{Split: c.Split, API: report.API(c.API)})
		options.Reports = r.layout
	}
	// Before anything is evaluated: the layout keeps what has not changed.
	if c.To != "" {
		if r.server, err = openReports(ctx, c.To, r.layout); err != nil {
			return prefixed("--to", err)
		}
	}
	options.Progress = progress.New(c.Process.ErrOut, loaded.Total, "scan")
	incomplete := Run(ctx, loaded.Source, loaded.Policies, options)
	options.Progress.Done()
	if incomplete != nil && !isIncomplete(incomplete) {
		return incomplete
	}
	for _, id := range r.unmatched() {
		fmt.Fprintf(c.Process.ErrOut, "No results: %s applies to none of the resources\n", id)
	}
	if missed := errors.Join(r.Unreadable...); missed != nil {
		incomplete = errors.Join(incomplete, &IncompleteError{missed})
	}
	if err := errors.Join(append(r.problems(), r.print(), prefixed("--to", r.write(ctx)), incomplete)...); err != nil {
		// Not the verdict: half of the truth may look like all of it.
		return err
	}
	return r.verdict()
}

// examine tells what is not as it looks in the policies, and keeps the documents that can't be read. Fields that the
// engine does not know are an error in a file, where they may be misspelt; a cluster has them of a newer Kyverno.
func (r *run) examine() {
	for _, err := range r.Unreadable {
		var document *manifest.UnreadableError
		if errors.As(err, &document) {
			r.findings.miss(document)
		}
	}
	for i, p := range r.Policies {
		for _, rule := range p.LeftOut() {
			r.note(fmt.Sprintf("%s: %s", p.Identity(), rule))
		}
		for _, ignored := range policy.IgnoredExceptions(p) {
			r.note(fmt.Sprintf("%s: the PolicyException %s/%s does not count: %s", p.Identity(), ignored.Exception.Namespace, ignored.Exception.Name, ignored.Message))
		}
		doubt := p.Doubt()
		var unknown *policy.UnknownFieldsError
		switch {
		case errors.As(doubt, &unknown) && len(r.Input.Policies) > 0:
			r.Policies[i] = refused{p, fmt.Errorf("%s does not know %s: correct or remove it", unknown.Engine, strings.Join(unknown.Paths, ", "))}
		case doubt != nil:
			fmt.Fprintf(r.Process.ErrOut, "Partly unknown: %s: %v\n", p.Identity(), doubt)
		}
	}
}

// problems returns an error for each policy that can't be evaluated.
func (r *run) problems() []error {
	var errs []error
	for _, p := range r.Policies {
		if err := p.Problem(); err != nil {
			errs = append(errs, fmt.Errorf("%s can't be evaluated: %w", p.Identity(), err))
		}
	}
	return errs
}

// unmatched returns the policies that apply to no resource, except those that can't be evaluated or are left out. Older
// policies may be left out in part, others only as a whole.
func (r *run) unmatched() []policy.Identity {
	leftOut := map[policy.Identity]bool{}
	for _, p := range r.Policies {
		kind := p.Identity().Kind
		rules := len(p.Targets()) > 0 && (kind == policy.ClusterPolicy || kind == policy.NamespacedPolicy)
		leftOut[p.Identity()] = p.Problem() != nil || len(p.LeftOut()) > 0 && !rules
	}
	return slices.DeleteFunc(r.findings.Unmatched(), func(id policy.Identity) bool { return leftOut[id] })
}

func (r *run) print() error {
	out := r.Process.Out
	switch r.Output {
	case OutputYAML, OutputJSON:
		return PrintReports(out, r.layout.Reports(), r.Output == OutputJSON)
	case OutputTable:
		return r.findings.PrintTable(out, tableOptions(r.Process))
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	printer := Printer{Findings: r.findings, Policies: r.objects, Folder: folder, Version: r.Version, FailOn: apireport.Severity(r.FailOn)}
	switch r.Output {
	case outputSARIF:
		return printer.PrintSARIF(out)
	case outputJUnit:
		return printer.PrintJUnit(out)
	default:
		return printer.PrintGitHub(out)
	}
}

// tableOptions suit the terminal, if standard output is one.
func tableOptions(p cli.Process) TableOptions {
	file, ok := p.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return TableOptions{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0 // Lines are not wrapped.
	}
	noColor, _ := p.LookupEnv("NO_COLOR") // See no-color.org.
	kind, _ := p.LookupEnv("TERM")
	return TableOptions{Width: width, Color: noColor == "" && kind != "dumb"}
}

// verdict says by its error what the exit code is to be.
func (r *run) verdict() error {
	failing, total := r.findings.Failures(apireport.Severity(r.FailOn)), r.findings.Total()
	summary := r.findings.Summary()
	if below := total.Fail - failing; below > 0 {
		summary += fmt.Sprintf("; %d of the failures are below --fail-on %s", below, r.FailOn)
	}
	switch {
	case total.Error > 0:
		return fmt.Errorf("rules that could not be evaluated: %d (%s)", total.Error, summary)
	case r.RequireMatch && len(r.unmatched()) > 0:
		return fmt.Errorf("--require-match: policies that apply to no resource: %d (%s)", len(r.unmatched()), summary)
	case failing > 0:
		return &cli.FindingError{Text: summary, Code: ExitFindings}
	default:
		fmt.Fprintln(r.Process.ErrOut, summary)
		return nil
	}
}
