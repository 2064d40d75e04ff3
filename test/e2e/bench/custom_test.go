// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	scannedImages        = 1000
	imageVulnerabilities = 300 // With descriptions and links they are about 250 KB.

	// Together they exceed etcd's quota of 2 GiB, and one with the fields that managers own its limit of 1.5 MiB.
	largeImages, largeVulnerabilities = 2000, 1450

	// A phase list reads all objects three times; the loader looks at them before and after.
	listings = 5

	scanResource = "vulnerabilityreports.aquasecurity.github.io"
)

// scans is a variant of a control plane that keeps objects of Trivy Operator's kind VulnerabilityReport.
type scans struct {
	b       *testing.B
	name    string
	cluster *harness.Cluster
	docket  *harness.Replica // Or nil: the objects are in etcd.
	file    string           // with what is written
	bytes   int              // of an object, on average
	stored  func() int64     // the bytes of the database, or in use in etcd's

	before, created, end size
	creating, listing    map[string]time.Duration // of processors
	phases               map[string]phase
	disk                 int64
	peak, docketPeak     int64
	requests             string
}

// BenchmarkCustomResources prints the table of docs/operate/benchmarks.md about custom resources: VulnerabilityReports
// as CRDs in etcd, and in Docket with its mapping to results, all through kube-apiserver.
func BenchmarkCustomResources(b *testing.B) {
	for b.Loop() {
		var measured []*scans
		for _, variant := range []string{"CRDs in etcd", "Docket, SQLite", "Docket, PostgreSQL"} {
			b.Run(variant, func(b *testing.B) {
				s := newScans(b, variant, imageVulnerabilities)
				s.measure(scannedImages)
				measured = append(measured, s)
			})
		}
		if !b.Failed() {
			printScans(measured)
		}
	}
}

// BenchmarkLargeResources says what 2.4 GB of objects of 1.2 MB take, which etcd does not hold.
func BenchmarkLargeResources(b *testing.B) {
	for b.Loop() {
		for _, variant := range []string{"Docket, SQLite", "Docket, PostgreSQL"} {
			b.Run(variant, func(b *testing.B) {
				s := newScans(b, variant, largeVulnerabilities)
				s.load(largeImages, "create")
				s.load(largeImages, "get")
				row(variant, "objects of %d bytes: create %.1f/s, get %.1f/s; database %s of %s; peak of Docket %s", s.bytes,
					s.phases["create"].PerSecond, s.phases["get"].PerSecond, megabytes(s.stored()), megabytes(int64(s.bytes*largeImages)),
					megabytes(status(b, s.docket.PID(), "VmHWM")))
			})
		}
	}
}

func newScans(b *testing.B, variant string, vulnerabilities int) *scans {
	b.Helper()
	s := &scans{b: b, name: variant, cluster: harness.StartCluster(b, harness.Durable), phases: map[string]phase{}}
	s.writeObjects(vulnerabilities)
	definitions := testkit.Must(filepath.Abs("../../../internal/plane/sample/trivy/definitions.yaml"))(b)
	k := s.cluster.Kubectl(b, "default")
	for n := range namespaces {
		k.Run(b, "create", "namespace", fmt.Sprintf("load-1-%03d", n))
	}
	database := ""
	switch variant {
	case "Docket, PostgreSQL":
		database = testenv.NewPostgres(b).Database(b)
		s.stored = func() int64 { return postgresSize(b, database) }
	case "Docket, SQLite":
		file := filepath.Join(b.TempDir(), "docket.db")
		database = "sqlite://" + file
		s.stored = func() int64 { return fileSize(b, file) } // Without its log, which is written into it meanwhile.
	default:
		k.Run(b, "create", "-f", definitions)
		k.Run(b, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
		s.stored = func() int64 { return metric(b, s.cluster.EtcdMetrics(b), "etcd_mvcc_db_total_size_in_use_in_bytes") }
		return s
	}
	s.docket = s.cluster.Serve(b, "--custom-resources", definitions, "--database", database)
	s.cluster.Register(b, s.docket.Port, metav1.GroupVersion{Group: "aquasecurity.github.io", Version: "v1alpha1"})
	return s
}

// writeObjects writes what 250 images have to a file. They have vulnerabilities in common, as images that are built on
// others do.
func (s *scans) writeObjects(vulnerabilities int) {
	s.b.Helper()
	images, known := min(250, 75_000/vulnerabilities), 2000
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]map[string]any, 0, 3*known)
	for i := range known {
		all = append(all, vulnerability(random, i)...)
	}
	var file bytes.Buffer
	for i := range images {
		chosen := make([]map[string]any, vulnerabilities)
		from := random.IntN(len(all))
		for k := range chosen { // Packages that are next to each other are in images together.
			chosen[k] = all[(from+k)%len(all)]
		}
		object := testkit.Must(json.Marshal(map[string]any{
			"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
			"metadata": map[string]any{"name": "scan", "namespace": "shop", "labels": map[string]string{
				"trivy-operator.container.name": "web", "trivy-operator.resource.kind": "ReplicaSet", "trivy-operator.resource.name": fmt.Sprintf("web-%d", i),
			}},
			"report": map[string]any{
				"updateTimestamp": "2026-11-28T06:00:00Z", "scanner": map[string]string{"name": "Trivy", "vendor": "Aqua Security", "version": "0.72.0"},
				"registry": map[string]string{"server": "registry.example.com"}, "artifact": map[string]string{"repository": fmt.Sprintf("shop/image-%d", i), "tag": "1.2"},
				"os":              map[string]string{"family": "debian", "name": "12.5"},
				"summary":         map[string]int{"criticalCount": 3, "highCount": 60, "mediumCount": 120, "lowCount": 117},
				"vulnerabilities": chosen,
			},
		}))(s.b)
		s.bytes += len(object) / images
		file.Write(object)
		file.WriteString("\n")
	}
	s.file = filepath.Join(s.b.TempDir(), "scans.json")
	testkit.NoError(s.b, os.WriteFile(s.file, file.Bytes(), 0o600))
}

// vulnerability makes one up that is as long as a published one with its description and links. Scanners list it for
// each package that is built from the source which has it.
func vulnerability(random *rand.Rand, i int) (packages []map[string]any) {
	words := strings.Fields("a the of in buffer overflow read write heap stack library parser crafted remote attacker denial service file " +
		"archive certificate header request memory use after free integer before version allows via function long name could lead to code")
	text := func(n int) string {
		some := make([]string, n)
		for k := range some {
			some[k] = words[random.IntN(len(words))]
		}
		return strings.Join(some, " ")
	}
	id := fmt.Sprintf("CVE-20%02d-%05d", 15+random.IntN(12), i)
	links := make([]string, 3)
	for k := range links {
		links[k] = fmt.Sprintf("https://advisories-%d.example.com/security/%s/%x", k, id, random.Uint32())
	}
	title, description := text(8), text(40)
	version := fmt.Sprintf("%d.%d.%d-%d", random.IntN(9), random.IntN(30), random.IntN(30), random.IntN(9))
	name := "lib" + words[random.IntN(len(words))] + strconv.Itoa(random.IntN(40))
	for _, suffix := range []string{"", "-dev", "-bin"}[:1+random.IntN(3)] {
		packages = append(packages, map[string]any{
			"vulnerabilityID": id, "resource": name + suffix, "installedVersion": version, "fixedVersion": version + "+deb12u1",
			"severity": []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[i%4], "score": float64(i%100) / 10, "title": title, "description": description,
			"primaryLink": links[0], "links": links, "publishedDate": "2026-01-01T00:00:00Z", "lastModifiedDate": "2026-01-02T00:00:00Z", "target": "web (debian 12.5)",
		})
	}
	return packages
}

func postgresSize(b *testing.B, database string) (size int64) {
	b.Helper()
	connection := testkit.Must(pgx.Connect(b.Context(), database))(b)
	defer func() { testkit.NoError(b, connection.Close(b.Context())) }()
	testkit.NoError(b, connection.QueryRow(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size))
	return size
}

func fileSize(b *testing.B, file string) int64 {
	b.Helper()
	return testkit.Must(os.Stat(file))(b).Size()
}

func (s *scans) load(objects int, phases ...string) {
	s.b.Helper()
	for _, p := range loadAt(s.b, s.cluster.Kubeconfig(), "--from", s.file, "--objects", strconv.Itoa(objects), "--phases", strings.Join(phases, ","),
		"--page-size", "100", "--repeat", "3", "--clients", "8") {
		s.phases[p.Phase] = p
	}
}

func (s *scans) processes() map[string]int {
	pids := map[string]int{"kube-apiserver": s.cluster.APIServerPID(), "etcd": s.cluster.EtcdPID()}
	if s.docket != nil {
		pids["Docket"] = s.docket.PID()
	}
	return pids
}

// spent returns the processor time that something takes.
func (s *scans) spent(do func()) map[string]time.Duration {
	before := processorTimes(s.b, s.processes())
	do()
	spent := processorTimes(s.b, s.processes())
	for name := range spent {
		spent[name] -= before[name]
	}
	return spent
}

func (s *scans) measure(objects int) {
	s.b.Helper()
	a := newAudit(s.b, s.cluster, s.docket)
	s.before = look(s.b, s.cluster, 0)
	disk := s.stored()
	s.creating = s.spent(func() { s.load(objects, "create") })
	s.created = look(s.b, s.cluster, objects)
	pause(s.b, 10*time.Second) // SQLite's log is written into the file.
	s.disk = s.stored() - disk
	s.load(objects, "get", "update")
	s.listing = s.spent(func() { s.load(objects, "list") })
	s.load(objects, "pages")
	s.end = look(s.b, s.cluster, objects)
	s.peak = status(s.b, s.cluster.APIServerPID(), "VmHWM")
	if s.docket != nil {
		s.docketPeak = status(s.b, s.docket.PID(), "VmHWM")
	}
	a.expect(scanResource, "POST", s.phases["create"].Writes)
	a.expect(scanResource, "PUT", s.phases["update"].Writes)
	s.requests = a.end(namespaceExists)
}

func printScans(measured []*scans) {
	fmt.Printf("%d objects of %d bytes\n| |", scannedImages, measured[0].bytes)
	for _, s := range measured {
		fmt.Printf(" %s |", s.name)
	}
	fmt.Print("\n|---|", strings.Repeat("---|", len(measured)), "\n")
	line := func(name string, of func(*scans) string) {
		fmt.Printf("| %s |", name)
		for _, s := range measured {
			fmt.Printf(" %s |", of(s))
		}
		fmt.Println()
	}
	for _, p := range []struct {
		name, phase string
		value       func(phase) float64
		unit        string
	}{
		{"create", "create", perSecond, "/s"},
		{"get", "get", perSecond, "/s"},
		{"update (a get and a put)", "update", perSecond, "/s"},
		{"list all, p50", "list", p50, " ms"},
		{"page of 100, p50", "pages", p50, " ms"},
	} {
		line(p.name, func(s *scans) string {
			value := p.value(s.phases[p.phase])
			return fmt.Sprintf("%.4g%s (%.2f×)", value, p.unit, value/p.value(measured[0].phases[p.phase]))
		})
	}
	spent := func(times map[string]time.Duration, n int) string {
		each := func(name string) float64 { return times[name].Seconds() * 1e3 / float64(n) }
		return fmt.Sprintf("%.1f, %.1f, %.1f ms", each("kube-apiserver"), each("etcd"), each("Docket"))
	}
	line("processor time of a create: kube-apiserver, etcd, Docket", func(s *scans) string { return spent(s.creating, scannedImages) })
	line("of an object in a list", func(s *scans) string { return spent(s.listing, scannedImages*listings) })
	line("stored after the creates, of the JSON", func(s *scans) string {
		return fmt.Sprintf("%s (%.2f)", megabytes(s.disk), float64(s.disk)/float64(s.bytes*scannedImages))
	})
	line("kube-apiserver's heap before, after creates, at the end", func(s *scans) string {
		return fmt.Sprintf("%s, %s, %s", megabytes(s.before.apiHeaped), megabytes(s.created.apiHeaped), megabytes(s.end.apiHeaped))
	})
	line("kube-apiserver's peak memory", func(s *scans) string { return megabytes(s.peak) })
	line("Docket's peak memory", func(s *scans) string { return megabytes(s.docketPeak) })
	for _, s := range measured {
		row(s.name+": requests", "%s", s.requests)
	}
}
