// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
)

// Verdict is how an expected result compares with those that came.
type Verdict string

// The verdicts.
const (
	// Agree: all that came are as expected, or none was expected and none came.
	Agree Verdict = "agree"
	// Disagree: another outcome came.
	Disagree Verdict = "disagree"
	// Missing: nothing came.
	Missing Verdict = "missing"
)

// Comparison is one expected result: a rule of a policy for a resource.
type Comparison struct {
	// File is the test file, as seen from the folder of the collection.
	File string
	// Kind is the kind of the policies of the file.
	Kind                   string
	Policy, Rule, Resource string
	Want                   report.Outcome
	// Got are the outcomes that came, without repetition.
	Got     []report.Outcome
	Message string
	Verdict Verdict
	// Reason is set if the result is missing and the allow-list has it.
	Reason string
}

// wanted is an expected result before it is compared.
type wanted struct {
	expected
	resource string
	matches  func(filescan.Finding) bool
}

// split returns an element for each resource that it names, or one for all.
func (e expected) split() []wanted {
	var list []wanted
	for _, name := range e.Resources {
		list = append(list, wanted{e, name, func(f filescan.Finding) bool { return e.hasKind(f) && hasName(f, name) }})
	}
	for _, spec := range e.ResourceSpecs {
		version := schema.GroupVersion{Group: spec.Group, Version: spec.Version}.String()
		list = append(list, wanted{e, spec.Namespace + "/" + spec.Name, func(f filescan.Finding) bool {
			return e.hasKind(f) && f.Subject.APIVersion == version && f.Subject.Namespace == spec.Namespace && f.Subject.Name == spec.Name
		}})
	}
	if len(list) == 0 {
		list = append(list, wanted{e, "*", e.hasKind})
	}
	return list
}

// hasKind reports whether a result is about a resource of the expected kind.
func (e expected) hasKind(f filescan.Finding) bool {
	return e.Kind == "" || e.Kind == f.Subject.Kind
}

// hasName compares with name or namespace/name.
func hasName(f filescan.Finding, name string) bool {
	namespace, rest, ok := strings.Cut(name, "/")
	if !ok {
		return f.Subject.Name == name
	}
	return f.Subject.Namespace == namespace && f.Subject.Name == rest
}

// hasPolicy compares with name or namespace/name.
func (e expected) hasPolicy(f filescan.Finding) bool {
	return e.Policy == f.Policy.Name || e.Policy == f.Policy.ResultName()
}

// hasRule compares with the name of a rule and of those that are generated from it.
func (e expected) hasRule(f filescan.Finding) bool {
	return e.Rule == "" || f.Rule == "" || slices.Contains([]string{e.Rule, "autogen-" + e.Rule, "autogen-cronjob-" + e.Rule}, f.Rule)
}

// compare compares the expectations of a file with the findings.
func compare(f *file, kind string, findings []filescan.Finding) []Comparison {
	var list []Comparison
	for _, e := range f.content.Results {
		for _, want := range e.split() {
			list = append(list, want.compare(f.path, kind, findings))
		}
	}
	return list
}

func (w wanted) compare(path, kind string, findings []filescan.Finding) Comparison {
	c := Comparison{File: path, Kind: kind, Policy: w.Policy, Rule: w.Rule, Resource: w.resource, Want: w.Result, Verdict: Agree}
	if w.Kind != "" {
		c.Resource = w.Kind + " " + w.resource
	}
	for _, finding := range findings {
		if !w.hasPolicy(finding) || !w.hasRule(finding) || !w.matches(finding) {
			continue
		}
		c.Got = append(c.Got, finding.Outcome)
		if finding.Outcome != w.Result {
			c.Verdict, c.Message = Disagree, finding.Message
		}
	}
	slices.Sort(c.Got)
	c.Got = slices.Compact(c.Got)
	if len(c.Got) == 0 && w.Result != report.OutcomeSkip {
		c.Verdict = Missing
	}
	return c
}

// String is a line for people; its beginning is what an allow-list has.
func (c Comparison) String() string {
	text := fmt.Sprintf("%s: want %s, got %s", c.key(), c.Want, joined(c.Got))
	if c.Message != "" {
		text += ": " + strings.Join(strings.Fields(c.Message), " ")
	}
	return text
}

// key names the comparison in an allow-list.
func (c Comparison) key() string {
	return strings.Join([]string{c.File, c.Policy, c.Rule, c.Resource}, ", ")
}

func joined(outcomes []report.Outcome) string {
	if len(outcomes) == 0 {
		return "nothing"
	}
	texts := make([]string, len(outcomes))
	for i, outcome := range outcomes {
		texts[i] = string(outcome)
	}
	return strings.Join(texts, " and ")
}

func compareComparisons(a, b Comparison) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.key(), b.key()), cmp.Compare(a.Want, b.Want))
}
