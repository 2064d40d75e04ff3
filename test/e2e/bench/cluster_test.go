// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// chunks add up to the 10,000 reports that all variants get, with a look at sizes after
// each.
func chunks() []int { return []int{1000, 1000, 3000, 5000} }

const (
	namespaces   = 10
	selectorSize = 100
)

// variant is one way to keep reports.
type variant struct {
	name string
	// start returns Docket, nil for others.
	start func(*testing.B, *harness.Cluster) *harness.Replica
}

// limitName is the variant that no server of reports can be faster than.
const limitName = "canned answers"

func variants() []variant {
	return []variant{
		{"CRDs in etcd", func(b *testing.B, c *harness.Cluster) *harness.Replica {
			b.Helper()
			c.InstallCRDs(b)
			return nil
		}},
		{"Docket, SQLite", func(b *testing.B, c *harness.Cluster) *harness.Replica {
			b.Helper()
			return registered(b, c)
		}},
		{"Docket, PostgreSQL", func(b *testing.B, c *harness.Cluster) *harness.Replica {
			b.Helper()
			return registered(b, c, "--database", testenv.NewPostgres(b).Database(b))
		}},
		{limitName, func(b *testing.B, c *harness.Cluster) *harness.Replica {
			b.Helper()
			c.Register(b, c.ServeCanned(b).Port)
			return nil
		}},
	}
}

func registered(b *testing.B, c *harness.Cluster, arguments ...string) *harness.Replica {
	b.Helper()
	replica := c.Serve(b, arguments...)
	c.Register(b, replica.Port)
	return replica
}

// BenchmarkCluster prints the table about CRDs in docs/operate/benchmarks.md, and what reports cost the control plane.
func BenchmarkCluster(b *testing.B) {
	for b.Loop() {
		var measured []measurement
		for _, v := range variants() {
			b.Run(v.name, func(b *testing.B) { measured = append(measured, measure(b, v)) })
		}
		if !b.Failed() {
			fmt.Print(speedTable(measured), "\n", sizeTable(measured), "\n")
			for _, m := range measured {
				row(m.name+": requests", "%s", m.requests)
			}
		}
	}
}

// measurement of one variant.
type measurement struct {
	name   string
	phases map[string]phase
	sizes  []size // before the first report, then after each chunk
	end    size   // after all phases
	peak   int64  // bytes of kube-apiserver
	docket int64  // bytes of docket's peak, 0 without
	// requests are those that kube-apiserver and Docket counted.
	requests string
}

// phase is what the load command prints about one.
type phase struct {
	Phase      string            `json:"phase"`
	PerSecond  float64           `json:"perSecond"`
	P50Millis  float64           `json:"p50Millis"`
	P99Millis  float64           `json:"p99Millis"`
	Operations int               `json:"operations"`
	Writes     int               `json:"writes"`
	Seconds    float64           `json:"seconds"`
	Errors     map[string]int    `json:"errors"`
	First      map[string]string `json:"firstErrors"`
}

// size is what reports cost a control plane.
type size struct {
	reports              int
	etcdFile, etcdInUse  int64 // bytes
	apiserver, apiHeaped int64 // bytes resident, and in the Go heap
}

func measure(b *testing.B, v variant) measurement {
	b.Helper()
	c := harness.StartCluster(b, harness.Durable)
	replica := v.start(b, c)
	k := c.Kubectl(b, "default")
	for seed := range chunks() {
		for n := range namespaces {
			k.Run(b, "create", "namespace", fmt.Sprintf("load-%d-%03d", seed+1, n))
		}
	}
	a := newAudit(b, c, replica)
	m := measurement{name: v.name, phases: map[string]phase{}}
	m.sizes = append(m.sizes, look(b, c, 0))
	total := 0
	for seed, objects := range chunks() {
		m.add(load(b, c, seed+1, objects, "create"))
		total += objects
		m.sizes = append(m.sizes, look(b, c, total))
	}
	last := len(chunks())
	m.add(load(b, c, last, chunks()[last-1], "get", "update", "list", "pages", "selector", "watch"))
	m.end = look(b, c, total)
	m.peak = status(b, c.APIServerPID(), "VmHWM")
	if replica != nil {
		m.docket = status(b, replica.PID(), "VmHWM")
	}
	if v.name != limitName { // Which counts nothing.
		a.expect(reportResource, "POST", m.phases["create"].Writes)
		a.expect(reportResource, "PUT", m.phases["update"].Writes+m.phases["watch"].Writes)
	}
	m.requests = a.end(namespaceExists)
	return m
}

// namespaceExists is the answer that the load command gets for namespaces that it would create.
var namespaceExists = call{"namespaces", "POST", "409"}

// add keeps results; of creates, which come in chunks, the sum.
func (m *measurement) add(phases []phase) {
	for _, p := range phases {
		have := m.phases[p.Phase]
		if have.Operations > 0 {
			p.Operations += have.Operations
			p.Writes += have.Writes
			p.Seconds += have.Seconds
			p.PerSecond = float64(p.Operations) / p.Seconds
		}
		m.phases[p.Phase] = p
	}
}

// load runs the load command through kube-apiserver.
func load(b *testing.B, c *harness.Cluster, seed, objects int, phases ...string) []phase {
	b.Helper()
	return loadAt(b, c.Kubeconfig(), "--varied", "--seed", strconv.Itoa(seed), "--objects", strconv.Itoa(objects), "--phases", strings.Join(phases, ","))
}

// loadAt runs the load command with a kubeconfig.
func loadAt(b *testing.B, kubeconfig string, arguments ...string) []phase {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), harness.Load(b), append([]string{
		"--kubeconfig", kubeconfig, "--namespaces", strconv.Itoa(namespaces), "--selector-size", strconv.Itoa(selectorSize), "--keep", "--output", "json",
	}, arguments...)...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		b.Fatalf("load: %v\n%s", err, output)
	}
	var results []phase
	if err := json.Unmarshal(output, &results); err != nil {
		b.Fatalf("load: %v\n%s", err, output)
	}
	return results
}

// look measures the control plane at rest: garbage is collected first, so that the
// numbers are of what it keeps.
func look(b *testing.B, c *harness.Cluster, reports int) size {
	b.Helper()
	k := c.Kubectl(b, "default")
	etcd := c.EtcdMetrics(b)
	// Its heap profile with gc=1 runs a collection.
	k.Run(b, "get", "--raw", "/debug/pprof/heap?gc=1&debug=1")
	api := k.Run(b, "get", "--raw", "/metrics")
	return size{
		reports:   reports,
		etcdFile:  metric(b, etcd, "etcd_mvcc_db_total_size_in_bytes"),
		etcdInUse: metric(b, etcd, "etcd_mvcc_db_total_size_in_use_in_bytes"),
		apiserver: status(b, c.APIServerPID(), "VmRSS"),
		apiHeaped: metric(b, api, "go_memstats_heap_alloc_bytes"),
	}
}

func metric(b *testing.B, metrics, name string) int64 {
	b.Helper()
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatalf("metric %s: %v", name, err)
			}
			return int64(number)
		}
	}
	b.Fatalf("no metric %s", name)
	return 0
}

// status reads a number of kilobytes about a process from the kernel.
func status(b *testing.B, pid int, field string) int64 {
	b.Helper()
	data := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(b)
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			number := testkit.Must(strconv.ParseInt(strings.Fields(value)[0], 10, 64))(b)
			return number << 10
		}
	}
	b.Fatalf("no %s of process %d", field, pid)
	return 0
}

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
