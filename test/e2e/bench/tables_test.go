// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
)

// speedTable compares the phases; ratios are to the first variant, and to the limit.
func speedTable(measured []measurement) string {
	var table strings.Builder
	header(&table, measured)
	for _, row := range []struct {
		name, phase string
		value       func(phase) float64
		unit        string
	}{
		{"create", "create", perSecond, "/s"},
		{"get", "get", perSecond, "/s"},
		{"update (a get and a put)", "update", perSecond, "/s"},
		{"list all 10,000, p50", "list", p50, " ms"},
		{"page of 500, p50", "pages", p50, " ms"},
		{"label selector, 100 of 10,000, p50", "selector", p50, " ms"},
		{"watch, p50", "watch", p50, " ms"},
		{"watch, p99", "watch", p99, " ms"},
	} {
		fmt.Fprintf(&table, "| %s |", row.name)
		base := row.value(measured[0].phases[row.phase])
		for i, m := range measured {
			value := row.value(m.phases[row.phase])
			fmt.Fprintf(&table, " %.4g%s", value, row.unit)
			if i > 0 && m.name != limitName {
				fmt.Fprintf(&table, " (%.2f×%s)", value/base, ofLimit(value, row.phase, row.value, measured))
			}
			table.WriteString(" |")
		}
		table.WriteString("\n")
	}
	table.WriteString("| kube-apiserver's peak memory |")
	for _, m := range measured {
		fmt.Fprintf(&table, " %s |", megabytes(m.peak))
	}
	table.WriteString("\n| Docket's peak memory |")
	for _, m := range measured {
		if m.docket == 0 {
			table.WriteString(" – |")
			continue
		}
		fmt.Fprintf(&table, " %s |", megabytes(m.docket))
	}
	table.WriteString("\n")
	return table.String()
}

// ofLimit compares a value with that of the limit, if that was measured.
func ofLimit(value float64, name string, of func(phase) float64, measured []measurement) string {
	for _, m := range measured {
		if m.name == limitName {
			return fmt.Sprintf("; %.2f× the limit", value/of(m.phases[name]))
		}
	}
	return ""
}

// sizeTable shows what the reports cost the control plane: etcd's file and its part in
// use, kube-apiserver's heap and resident memory.
func sizeTable(measured []measurement) string {
	var table strings.Builder
	table.WriteString("| reports |")
	for _, m := range measured {
		fmt.Fprintf(&table, " %s: etcd file / in use | kube-apiserver heap / resident |", m.name)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|---|", len(measured)) + "\n")
	row := func(name string, of func(measurement) size) {
		fmt.Fprintf(&table, "| %s |", name)
		for _, m := range measured {
			s := of(m)
			fmt.Fprintf(&table, " %s / %s | %s / %s |",
				megabytes(s.etcdFile), megabytes(s.etcdInUse), megabytes(s.apiHeaped), megabytes(s.apiserver))
		}
		table.WriteString("\n")
	}
	for i := range measured[0].sizes {
		row(fmt.Sprint(measured[0].sizes[i].reports), func(m measurement) size { return m.sizes[i] })
	}
	row("after gets, updates, lists, watches", func(m measurement) size { return m.end })
	return table.String()
}

func header(table *strings.Builder, measured []measurement) {
	table.WriteString("| |")
	for _, m := range measured {
		fmt.Fprintf(table, " %s |", m.name)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(measured)) + "\n")
}

func perSecond(p phase) float64 { return p.PerSecond }
func p50(p phase) float64       { return p.P50Millis }
func p99(p phase) float64       { return p.P99Millis }

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
