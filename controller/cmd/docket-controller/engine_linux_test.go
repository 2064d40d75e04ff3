// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apartPolicies are of both engines; some of the first read the context cache.
const apartPolicies = labelPolicy + `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: as-many-as-configmaps}
spec:
  background: true
  rules:
  - name: count
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: count, cachedContextEntry: {name: settings, jmesPath: "items[] | length(@)"}}]
    validate: {message: "There are {{ count }}.", deny: {conditions: {all: [{key: "{{ count }}", operator: Equals, value: 2}]}}}
---
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: settings}
spec: {resource: {group: "", version: v1, kind: configmaps}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: image}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, c.image.startsWith('nginx'))", message: Another image.}]
`

const apartConfigMaps = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"

// TestEnginesApart: both engines find what they find in this process, also if they are killed meanwhile, or are this
// program by another name.
func TestEnginesApart(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"policy.yaml": apartPolicies, "pods.yaml": manyPods(3000) + apartConfigMaps})
	args := []string{"scan", "--policy=" + dir + "/policy.yaml", "--resource=" + dir + "/pods.yaml", "--output=json"}
	here, _ := scanKilling(t, 0, args...)
	if all := strings.Join(here, "\n"); len(here) != 3*3000 || strings.Contains(all, "result:error") || !strings.Contains(all, "There are 2.") {
		t.Fatalf("in this process: %d results, %.2000s", len(here), all)
	}
	for name, test := range map[string]struct {
		engines string
		kills   int
	}{
		"both":                {"kyverno-classic,kyverno-cel", 0},
		"one":                 {"kyverno-cel", 0},
		"both, another build": {"kyverno-classic=" + os.Args[0] + ",kyverno-cel=" + os.Args[0], 0},
		"both, killed":        {"kyverno-classic,kyverno-cel", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there, killed := scanKilling(t, test.kills, append(args, "--engine="+test.engines)...)
			if diff := cmp.Diff(here, there); diff != "" {
				t.Errorf("(-here +there):\n%.2000s", diff)
			}
			if killed < test.kills {
				t.Errorf("only %d engines were killed", killed)
			}
		})
	}
}

// resultsOf returns the results in printed reports, sorted: how they are divided into reports depends on their order.
func resultsOf(t *testing.T, printed []byte) []string {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	if err := json.Unmarshal(printed, &list); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, report := range list.Items {
		found, _, err := unstructured.NestedSlice(report.Object, "results")
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range found {
			fields, _ := result.(map[string]any)
			delete(fields, "timestamp")
			results = append(results, fmt.Sprint(fields))
		}
	}
	slices.Sort(results)
	return results
}

// scanKilling returns the results of a scan, during which it kills some processes that it starts.
func scanKilling(t *testing.T, kills int, args ...string) (results []string, killed int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	process := controller(ctx, t, args...)
	var out, errOut bytes.Buffer
	process.Stdout, process.Stderr = &out, &errOut
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = process.Wait() // The exit code says more.
	}()
	seen := map[int]bool{}
	for {
		select {
		case <-ended:
			if code := process.ProcessState.ExitCode(); code != exitFindings {
				t.Fatalf("exit code %d:\n%s", code, errOut.String())
			}
			return resultsOf(t, out.Bytes()), killed
		case <-time.After(20 * time.Millisecond):
		}
		for _, child := range children(t, process.Process.Pid) {
			// Those that are seen for the first time may not have begun.
			if !seen[child] || killed >= kills {
				seen[child] = true
				continue
			}
			if syscall.Kill(child, syscall.SIGKILL) == nil {
				delete(seen, child)
				killed++
			}
		}
	}
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, task := range tasks {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // It has ended.
		}
		for _, word := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, child)
		}
	}
	return list
}

// TestEngineThatIsNone: what is wrong with an engine is said, and the scan does not look complete.
func TestEngineThatIsNone(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"policy.yaml": apartPolicies, "pods.yaml": manyPods(1)})
	command := controller(t.Context(), t, "scan", "--policy="+dir+"/policy.yaml", "--resource="+dir+"/pods.yaml", "--engine=kyverno-cel=/bin/echo")
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitTrouble ||
		!strings.Contains(string(output), `ValidatingPolicy/image: the engine kyverno-cel is away: start /bin/echo: it is no engine: it begins with "engine kyverno-cel"; give the path of a docket-controller`) {
		t.Errorf("%v:\n%s", err, output)
	}
}
