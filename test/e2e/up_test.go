// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestUpWithKubectl does what people do with kubectl, to every kind, on both engines; in make test to each kind on one.
func TestUpWithKubectl(t *testing.T) {
	t.Parallel()
	for engine, arguments := range map[string]func() []string{
		"sqlite":   func() []string { return nil },
		"postgres": func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			server := harness.Up(t, arguments()...)
			t.Run("server", func(t *testing.T) { testDiscovery(t, server) })
			for i, kind := range sample.Kinds() {
				t.Run(kind.Kind, func(t *testing.T) {
					if openReports := i/2 == 1; openReports == (engine == "sqlite") { // OpenReports on PostgreSQL, the others on SQLite.
						testkit.Full(t)
					}
					testKind(t, server, kind)
				})
			}
		})
	}
}

// testKind does what people do with kubectl to one kind.
func testKind(t *testing.T, server *harness.Server, kind sample.Kind) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *resource)
	}{
		{"apply", testApply},
		{"server-side-apply", testServerSideApply},
		{"get", testGet},
		{"selectors", testSelectors},
		{"pages", testPages},
		{"watch", testWatch},
		{"describe", testDescribe},
		{"explain", testExplain},
		{"edit", testEdit},
		{"patch", testPatch},
		{"refusals", testRefusals},
		{"delete", testDelete},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, newResource(t, server, kind, test.name))
		})
	}
}

// resource is one kind at one server, in a namespace of the test's own.
type resource struct {
	sample.Kind
	kubectl   *harness.Kubectl
	namespace string
}

func newResource(t *testing.T, server *harness.Server, kind sample.Kind, test string) *resource {
	t.Helper()
	namespace := test + "-" + strings.ToLower(kind.Kind)
	kubectl := server.Kubectl(t, namespace)
	kubectl.Run(t, "create", "namespace", namespace)
	return &resource{Kind: kind, kubectl: kubectl, namespace: namespace}
}

// name returns a name that no other test uses, since the reports of all tests on a
// cluster-scoped kind share one space.
func (r *resource) name(short string) string { return r.namespace + "." + short }

// selector matches the reports of this test.
func (r *resource) selector() string { return "e2e=" + r.namespace }

// resultsPath is where the results are in the objects of the kind.
func (r *resource) resultsPath() string {
	if strings.HasSuffix(r.Kind.Kind, "EphemeralReport") {
		return "spec.results"
	}
	return "results"
}

// report returns a report as JSON; change may be nil.
func (r *resource) report(t *testing.T, short string, change func(*unstructured.Unstructured)) string {
	t.Helper()
	cluster := sample.Cluster{Seed: 1, Now: time.Unix(1_800_000_000, 0)}
	report := cluster.Report(r.Kind, 0, 2)
	report.SetName(r.name(short))
	report.SetOwnerReferences(nil)
	if r.Namespaced {
		report.SetNamespace(r.namespace)
	}
	setLabel(report, "e2e", r.namespace)
	if change != nil {
		change(report)
	}
	data := testkit.Must(json.Marshal(report))(t)
	return string(data)
}

// create creates reports with the given short names.
func (r *resource) create(t *testing.T, shorts ...string) {
	t.Helper()
	for _, short := range shorts {
		r.kubectl.RunInput(t, r.report(t, short, nil), "create", "-f", "-")
	}
}

// field returns a field of a report that is stored.
func (r *resource) field(t *testing.T, short, jsonPath string) string {
	t.Helper()
	return r.kubectl.Run(t, "get", r.Resource, r.name(short), "-o", "jsonpath={"+jsonPath+"}")
}

// names lists the short names of this test's reports that match the arguments.
func (r *resource) names(t *testing.T, arguments ...string) []string {
	t.Helper()
	all := append([]string{"get", r.Resource, "-o", `jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}`}, arguments...)
	names := []string{}
	for _, name := range strings.Fields(r.kubectl.Run(t, all...)) {
		if short, ours := strings.CutPrefix(name, r.name("")); ours {
			names = append(names, short)
		}
	}
	return names
}

func setLabel(report *unstructured.Unstructured, key, value string) {
	labels := report.GetLabels()
	labels[key] = value
	report.SetLabels(labels)
}

// wantOutput fails the test unless the output contains each of the texts.
func wantOutput(t *testing.T, output string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("the output does not contain %q:\n%s", text, output)
		}
	}
}

// TestUpKeepsReports ends the server in order and by a crash. What was acknowledged is
// there afterwards, and resource versions go on rising.
func TestUpKeepsReports(t *testing.T) {
	t.Parallel()
	for engine, arguments := range map[string]func() []string{
		"sqlite":   func() []string { return nil },
		"postgres": func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			server := harness.Up(t, arguments()...)
			r := newResource(t, server, sample.Kinds()[0], "restart")
			r.create(t, "a")
			last := version(t, r, "a")
			for _, step := range []struct {
				short string
				end   func(testing.TB)
			}{
				{"b", server.Stop},
				{"c", server.Kill},
			} {
				step.end(t)
				server.Start(t)
				r.create(t, step.short)
				next := version(t, r, step.short)
				if next <= last {
					t.Errorf("resource version %d comes after %d", next, last)
				}
				last = next
			}
			wantNames(t, []string{"a", "b", "c"}, r.names(t))
		})
	}
}

func version(t *testing.T, r *resource, short string) int {
	t.Helper()
	return testkit.Must(strconv.Atoi(r.field(t, short, ".metadata.resourceVersion")))(t)
}

// TestUpDemo looks at what a newcomer sees first.
func TestUpDemo(t *testing.T) {
	t.Parallel()
	server := harness.Up(t, "--demo")
	kubectl := server.Kubectl(t, "default")
	// The demo loads after the server is ready; the watch shows it as it comes.
	events := kubectl.Watch(t, "policyreports", "-A")
	for range 5 {
		harness.Next(t, events)
	}
	wantOutput(t, kubectl.Run(t, "get", "policyreports", "-A"), "NAMESPACE", "shop")
}
