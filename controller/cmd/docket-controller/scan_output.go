// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apireport "github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
)

// The forms of output.
const (
	outputTable  = "table"
	outputYAML   = "yaml"
	outputJSON   = "json"
	outputSARIF  = "sarif"
	outputJUnit  = "junit"
	outputGitHub = "github"
)

var outputs = []string{outputTable, outputYAML, outputJSON, outputSARIF, outputJUnit, outputGitHub}

func (f *scanFlags) addOutput(fs *pflag.FlagSet) {
	fs.StringVar(&f.output, "output", f.output, "What is printed: table; the reports as yaml or json; or findings as sarif, junit or github (workflow commands). Paths in findings are relative to the current folder.")
	fs.StringVar(&f.failOn, "fail-on", f.failOn, "The lowest severity for which a failure sets the exit code to 1: critical, high, medium, low or info. Policies without a severity count as info. Errors always count.")
	fs.BoolVar(&f.requireMatch, "require-match", false, "Exit with code 2 if a policy applies to none of the resources.")
	fs.BoolVar(&f.all, "all", false, "Show all results and policies in the table, not only failures, warnings and errors, and the policies that have some.")
	fs.IntVar(&f.maxPerRule, "max-per-rule", 0, "How many results of each rule the table shows; 0 for all. The other forms of output have all, and the numbers of the policies count all.")
	fs.StringVar(&f.to, "to", "", "Kubeconfig of a server to write the reports into.")
	fs.BoolVar(&f.createNamespaces, "create-namespaces", false, "Create the namespaces of reports that the server of --to does not have.")
	fs.BoolVar(&f.split, "split-policy-report", f.split, "Make a report for each policy and namespace. If false, one for each namespace.")
	fs.StringVar(&f.api, "reports-api", f.api, "API group of the reports: "+string(report.WGPolicy)+" or "+string(report.OpenReports)+".")
}

// write writes the reports into the server, if that was asked for.
func (s *scan) write(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	if s.flags.createNamespaces {
		if err := s.server.createNamespaces(ctx, s.findings.Namespaces()); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	s.layout.PruneUnseen(filescan.Keep(s.policies, s.source, len(s.flags.policies) == 0))
	written, err := s.server.flush(ctx)
	fmt.Fprintln(s.flags.process.ErrOut, written)
	switch {
	case apierrors.IsNotFound(err) && !s.flags.createNamespaces:
		return fmt.Errorf("--to: write reports: %w\nCreate the namespaces that are missing, or give --create-namespaces", err)
	case err != nil:
		return fmt.Errorf("--to: write reports: %w", err)
	}
	return nil
}

func (s *scan) print() error {
	out := s.flags.process.Out
	switch s.flags.output {
	case outputYAML, outputJSON:
		return filescan.PrintReports(out, s.layout.Reports(), s.flags.output == outputJSON)
	case outputTable:
		options := tableOptions(s.flags.process)
		options.MaxPerRule = s.flags.maxPerRule
		return s.findings.PrintTable(out, options)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	printer := filescan.Printer{Findings: s.findings, Policies: s.objects, Folder: folder, Version: buildinfo.Get().Version, FailOn: apireport.Severity(s.flags.failOn)}
	switch s.flags.output {
	case outputSARIF:
		return printer.PrintSARIF(out)
	case outputJUnit:
		return printer.PrintJUnit(out)
	default:
		return printer.PrintGitHub(out)
	}
}

// tableOptions are those of the terminal, if standard output is one.
func tableOptions(p cli.Process) filescan.TableOptions {
	file, ok := p.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return filescan.TableOptions{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0 // Lines are not wrapped.
	}
	noColor, _ := p.LookupEnv("NO_COLOR") // See no-color.org.
	kind, _ := p.LookupEnv("TERM")
	return filescan.TableOptions{Width: width, Color: noColor == "" && kind != "dumb"}
}

// verdict says by its error what the exit code is to be.
func (s *scan) verdict() error {
	var problems []error
	for _, p := range s.policies {
		if err := p.Problem(); err != nil {
			problems = append(problems, fmt.Errorf("%s can't be evaluated: %w", p.Identity(), err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	failing, total := s.findings.Failures(apireport.Severity(s.flags.failOn)), s.findings.Total()
	summary := s.summary(total.Fail - failing)
	switch {
	case total.Error > 0:
		return fmt.Errorf("rules that could not be evaluated: %d (%s)", total.Error, summary)
	case s.flags.requireMatch && len(s.unmatched()) > 0:
		return fmt.Errorf("--require-match: policies that apply to no resource: %d (%s)", len(s.unmatched()), summary)
	case failing > 0:
		return &cli.FindingError{Text: summary, Code: exitFindings}
	default:
		fmt.Fprintln(s.flags.process.ErrOut, summary)
		return nil
	}
}

// summary also says how many failures don't count, if there are any.
func (s *scan) summary(below int64) string {
	text := s.findings.Summary()
	if below > 0 {
		text += fmt.Sprintf("; %d of the failures are below --fail-on %s", below, s.flags.failOn)
	}
	return text
}
