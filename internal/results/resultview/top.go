// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Ranking is what `docket results top` ranks.
type Ranking string

// The rankings.
const (
	ByPolicy    Ranking = "policies"
	ByNamespace Ranking = "namespaces"
	BySubject   Ranking = "subjects"
	BySeverity  Ranking = "severities"
	BySource    Ranking = "sources"
	ByMessage   Ranking = "messages"
	ByCluster   Ranking = "clusters"
)

// Rankings returns all of them, the default first.
func Rankings() []string {
	return []string{string(ByPolicy), string(ByNamespace), string(BySubject), string(BySeverity), string(BySource), string(ByMessage), string(ByCluster)}
}

// fields by which results are grouped for a ranking.
func (r Ranking) fields() ([]string, error) {
	switch r {
	case ByPolicy:
		return []string{"source", "policy"}, nil
	case ByNamespace:
		return []string{"report.namespace"}, nil
	case BySubject:
		return []string{"subject.kind", "subject.namespace", "subject.name"}, nil
	case BySeverity:
		return []string{"severity"}, nil
	case BySource:
		return []string{"source"}, nil
	case ByMessage:
		return []string{"source", "message"}, nil
	case ByCluster:
		return []string{"cluster"}, nil
	}
	return nil, &UsageError{fmt.Sprintf("%q can't be ranked: choose from %s", string(r), strings.Join(Rankings(), ", "))}
}

// barWidth is the length of the longest bar in characters, and cellWidth of the longest text.
const (
	barWidth  = 30
	cellWidth = 80
)

// Top prints what has the most results of a selection. Of all clusters, it prints in how many of them something has
// any. It reports whether there was anything.
func (c *Client) Top(ctx context.Context, out io.Writer, format Format, in Extent, ranking Ranking, by Selection, limit int) (found bool, err error) {
	if err := checkDocument(format); err != nil {
		return false, err
	}
	fields, err := ranking.fields()
	if err != nil {
		return false, err
	}
	spec := v1alpha1.ResultQuerySpec{Filter: by.expression(), GroupBy: fields, OrderBy: "results", Descending: true, Limit: int32(limit)}
	spread := in.AllClusters && ranking != ByCluster
	if spread {
		spec.Aggregates = []string{"clusters"}
	}
	status, err := c.Query(ctx, in, spec)
	switch {
	case err != nil:
		return false, err
	case format != Table:
		return true, writeDocument(out, format, struct {
			Groups []v1alpha1.ResultGroup `json:"groups"`
			More   bool                   `json:"more"`
		}{append([]v1alpha1.ResultGroup{}, status.Groups...), status.More})
	case len(status.Groups) == 0:
		return false, nil
	}
	counted := "RESULTS"
	if len(by.Results) == 1 {
		counted = strings.ToUpper(by.Results[0])
	}
	return true, printTop(out, fields, spread, counted, status.Groups)
}

// printTop prints groups as a table with bars. spread adds the number of clusters; counted names the results.
func printTop(out io.Writer, fields []string, spread bool, counted string, groups []v1alpha1.ResultGroup) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	row := func(cells ...string) error {
		for i := range cells {
			cells[i] = shortened(clean(cells[i]), cellWidth)
		}
		_, err := fmt.Fprintln(table, strings.Join(cells, "\t"))
		return err
	}
	var heads []string
	for _, field := range fields {
		heads = append(heads, strings.ToUpper(field[strings.LastIndexByte(field, '.')+1:]))
	}
	if spread {
		heads = append(heads, "CLUSTERS")
	}
	if err := row(append(heads, counted, "")...); err != nil {
		return err
	}
	for i := range groups {
		group := &groups[i]
		var cells []string
		for _, field := range fields {
			cells = append(cells, cmp.Or(group.By[field], "<none>"))
		}
		if spread {
			cells = append(cells, strconv.FormatInt(ptr.Deref(group.Clusters, 0), 10))
		}
		bar := strings.Repeat("#", int(max(1, barWidth*group.Results/groups[0].Results)))
		if err := row(append(cells, strconv.FormatInt(group.Results, 10), bar)...); err != nil {
			return err
		}
	}
	return table.Flush()
}

// shortened returns the beginning of a text that is longer than a number of characters.
func shortened(text string, most int) string {
	characters := []rune(text)
	if len(characters) <= most {
		return text
	}
	return string(characters[:most-1]) + "…"
}

// expression returns the selection in CEL.
func (s Selection) expression() string {
	var parts []string
	for _, part := range []struct {
		field string
		texts []string
	}{{"result", s.Results}, {"severity", s.Severities}, {"source", s.Sources}, {"policy", s.Policies}, {"category", s.Categories}} {
		if len(part.texts) == 0 {
			continue
		}
		var texts []string
		for _, text := range part.texts {
			texts = append(texts, literal(text))
		}
		parts = append(parts, part.field+" in ["+strings.Join(texts, ", ")+"]")
	}
	if s.Rule != "" {
		parts = append(parts, "rule == "+literal(s.Rule))
	}
	kind, name := subjectOf(s.Subject)
	if kind != "" {
		parts = append(parts, "subject.kind == "+literal(kind))
	}
	if name != "" {
		parts = append(parts, "subject.name == "+literal(name))
	}
	return strings.Join(parts, " && ")
}

// literal is a text in CEL, whose escapes are a superset of those that Go writes for texts.
func literal(text string) string { return strconv.QuoteToASCII(strings.ToValidUTF8(text, "\uFFFD")) }
