// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/sarif"
)

// sarifWriter gathers what has to be looked at, and writes one document of it.
type sarifWriter struct {
	out   io.Writer
	run   sarif.Run
	rules map[string]int
}

func newSARIF(out io.Writer) (Writer, error) {
	return &sarifWriter{out: out, rules: map[string]int{}, run: sarif.NewRun("docket", "")}, nil
}

// Write implements Writer. What passed or was skipped is no finding.
func (w *sarifWriter) Write(r *v1alpha1.PolicyResult) error {
	if !slices.Contains(Problems(), r.Result.Result) {
		return nil
	}
	id := strings.Join(slices.DeleteFunc([]string{r.Source, r.Policy, r.Rule}, func(s string) bool { return s == "" }), "/")
	index, known := w.rules[id]
	if !known {
		index = len(w.run.Tool.Driver.Rules)
		w.rules[id] = index
		w.run.Tool.Driver.Rules = append(w.run.Tool.Driver.Rules, sarif.Rule{ID: id, ShortDescription: sarif.Text{Text: id}})
	}
	message := r.Message
	if message == "" {
		message = id + ": " + r.Result.Result
	}
	name := r.Subject.String()
	if name == "" {
		name = r.Report.Kind + "/" + r.Report.Name
	}
	sum := sha256.Sum256([]byte(id + "\x00" + name))
	w.run.Results = append(w.run.Results, sarif.Result{
		RuleID: id, RuleIndex: index, Level: level(r), Message: sarif.Text{Text: message},
		Locations:           []sarif.Location{{LogicalLocations: []sarif.Logical{{Name: name, FullyQualifiedName: name, Kind: "resource"}}}},
		PartialFingerprints: map[string]string{sarif.Fingerprint: hex.EncodeToString(sum[:])},
	})
	return nil
}

// level of a result: severities below medium are notes, as code scanning services show them.
func level(r *v1alpha1.PolicyResult) string {
	switch {
	case r.Result.Result == "warn" || r.Severity == "medium":
		return "warning"
	case r.Severity == "low" || r.Severity == "info":
		return "note"
	}
	return "error"
}

// Close implements Writer.
func (w *sarifWriter) Close() error { return sarif.Write(w.out, w.run) }
