// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Style is how text looks.
type Style struct {
	// Colour for terminals.
	Colour bool
	// Width of lines in characters.
	Width int
}

// The colours of terminals.
const (
	red, yellow, green, grey = "31", "33", "32", "90"
)

// mark returns a result in capitals, in its colour.
func (s Style) mark(result string) string {
	text := strings.ToUpper(clean(result))
	colour := map[string]string{"fail": red, "error": red, "warn": yellow, "pass": green, "skip": grey}[result]
	if !s.Colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// clean returns a text of a report for a terminal: without what would move its cursor or change its colours.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return '\uFFFD'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// printer writes lines until the first error.
type printer struct {
	out   io.Writer
	style Style
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// paragraph writes a text, indented and wrapped.
func (p *printer) paragraph(text string) {
	const indent = "    "
	line := ""
	for _, word := range strings.Fields(clean(text)) {
		if line != "" && len(indent)+len(line)+1+len(word) > p.style.Width {
			p.line("%s%s", indent, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	p.line("%s%s", indent, line)
}

// Format of lists.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	CSV   Format = "csv"
	SARIF Format = "sarif"
)

// Formats returns all formats, the default first.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(CSV), string(SARIF)}
}

// Writer takes results one by one.
type Writer interface {
	Write(*v1alpha1.PolicyResult) error
	// Close writes what belongs to the end.
	Close() error
}

// NewWriter returns what prints results in a format. Namespaces says that they may be of several.
func NewWriter(out io.Writer, format Format, namespaces bool) (Writer, error) {
	switch format {
	case Table, Wide:
		return newTable(out, format == Wide, namespaces), nil
	case CSV:
		return newCSV(out)
	case JSON, YAML:
		return &listWriter{out: out, format: format}, nil
	case SARIF:
		return newSARIF(out)
	}
	return nil, fmt.Errorf("%q is no format: choose from %s", format, strings.Join(Formats(), ", "))
}

// tableRows is how many rows are written with columns of the same width: more would keep people waiting.
const tableRows = 500

type tableWriter struct {
	*tabwriter.Writer

	wide, namespaces bool
	rows             int
}

func newTable(out io.Writer, wide, namespaces bool) *tableWriter {
	return &tableWriter{Writer: tabwriter.NewWriter(out, 0, 8, 3, ' ', 0), wide: wide, namespaces: namespaces}
}

// Write implements Writer.
func (t *tableWriter) Write(r *v1alpha1.PolicyResult) error {
	cells := []string{r.Result.Result, r.Severity, r.Policy, r.Rule, r.Subject.String(), age(r.Timestamp)}
	heads := []string{"RESULT", "SEVERITY", "POLICY", "RULE", "SUBJECT", "AGE"}
	if t.namespaces {
		cells, heads = append([]string{r.Namespace}, cells...), append([]string{"NAMESPACE"}, heads...)
	}
	if t.wide {
		cells = append(cells, r.Message, r.Source, r.Report.Kind+"/"+r.Report.Name)
		heads = append(heads, "MESSAGE", "SOURCE", "REPORT")
	}
	if t.rows == 0 {
		if err := t.row(heads); err != nil {
			return err
		}
	}
	t.rows++
	if t.rows%tableRows == 0 {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return t.row(cells)
}

func (t *tableWriter) row(cells []string) error {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	_, err := fmt.Fprintln(t.Writer, strings.Join(cells, "\t"))
	return err
}

// Close implements Writer.
func (t *tableWriter) Close() error { return t.Flush() }

func age(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return duration.HumanDuration(time.Since(at.Time))
}

// listWriter gathers results, and writes one document of them.
type listWriter struct {
	out    io.Writer
	format Format
	list   v1alpha1.PolicyResultList
}

// Write implements Writer.
func (l *listWriter) Write(r *v1alpha1.PolicyResult) error {
	r.APIVersion, r.Kind = v1alpha1.SchemeGroupVersion.String(), "PolicyResult"
	if r.Namespace == "" {
		r.Kind = "ClusterPolicyResult"
	}
	l.list.Items = append(l.list.Items, *r)
	return nil
}

// Close implements Writer.
func (l *listWriter) Close() error {
	// A list of several kinds, as kubectl prints it.
	l.list.APIVersion, l.list.Kind = "v1", "List"
	if l.list.Items == nil {
		l.list.Items = []v1alpha1.PolicyResult{}
	}
	return writeDocument(l.out, l.format, &l.list)
}

// Documents are the formats of answers that are not lists of results, the default first.
func Documents() []string { return []string{string(Table), string(JSON), string(YAML)} }

// checkDocument returns an error for another format than those of [Documents].
func checkDocument(format Format) error {
	if !slices.Contains(Documents(), string(format)) {
		return &UsageError{fmt.Sprintf("--output: %q is not known: choose from %s", format, strings.Join(Documents(), ", "))}
	}
	return nil
}

// writeDocument writes a value as JSON or YAML.
func writeDocument(out io.Writer, format Format, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err == nil && format == YAML {
		data, err = yaml.JSONToYAML(data)
	}
	if err == nil {
		_, err = fmt.Fprintln(out, strings.TrimRight(string(data), "\n"))
	}
	return err
}

type csvWriter struct{ *csv.Writer }

func newCSV(out io.Writer) (Writer, error) {
	w := csvWriter{csv.NewWriter(out)}
	return w, w.Writer.Write([]string{
		"cluster", "namespace", "report_kind", "report", "source", "policy", "rule", "category", "severity", "result",
		"subject_api_version", "subject_kind", "subject_namespace", "subject_name", "subject_uid", "message", "timestamp",
	})
}

// Write implements Writer.
func (w csvWriter) Write(r *v1alpha1.PolicyResult) error {
	subject := v1alpha1.Subject{}
	if r.Subject != nil {
		subject = *r.Subject
	}
	timestamp := ""
	if r.Timestamp != nil {
		timestamp = r.Timestamp.UTC().Format(time.RFC3339)
	}
	cells := []string{
		r.Cluster, r.Namespace, r.Report.Kind, r.Report.Name, r.Source, r.Policy, r.Rule, r.Category, r.Severity, r.Result.Result,
		subject.APIVersion, subject.Kind, subject.Namespace, subject.Name, string(subject.UID), r.Message, timestamp,
	}
	for i := range cells {
		cells[i] = inert(cells[i])
	}
	return w.Writer.Write(cells)
}

// inert returns a cell that spreadsheets take for text: what begins like a formula gets an apostrophe, as OWASP
// advises.
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// Close implements Writer.
func (w csvWriter) Close() error {
	w.Flush()
	return w.Error()
}
