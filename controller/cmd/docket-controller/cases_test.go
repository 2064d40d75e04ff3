// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestCases: what people reported in public about scans of files, with inputs of our own. Each folder has the policies,
// the resources, and the results; those that are errors with a part of their message.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, dir := range testkit.Must(filepath.Glob("testdata/cases/*"))(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			got := command(t, "", "scan", "--output=json", "--policy="+dir+"/policy.yaml", "--resource="+dir+"/resource.yaml")
			want := strings.Split(strings.TrimSpace(string(testkit.Must(os.ReadFile(filepath.Join(dir, "want.txt")))(t))), "\n")
			wantResults(t, got, want...)
		})
	}
}

// wantResults compares the results in reports with lines such as "policy fail Pod shop/web: message".
func wantResults(t *testing.T, got answer, want ...string) {
	t.Helper()
	lines := resultsIn(t, got.out)
	for _, line := range want {
		text, message, _ := strings.Cut(line, ": ")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, text+": ") && strings.Contains(line, message) })
		if i < 0 {
			t.Errorf("no result %q", line)
			continue
		}
		lines = slices.Delete(lines, i, i+1)
	}
	if len(lines) > 0 {
		t.Errorf("results that nobody wants:\n%s", strings.Join(lines, "\n"))
	}
	if t.Failed() {
		t.Logf("exit code %d\n%s\n%s", got.code, strings.Join(resultsIn(t, got.out), "\n"), got.err)
	}
}

// resultsIn reads the reports that a scan prints as JSON.
func resultsIn(t *testing.T, text string) []string {
	t.Helper()
	var list struct{ Items []wgpolicy.PolicyReport }
	testkit.NoError(t, json.Unmarshal([]byte(text), &list))
	var lines []string
	for _, one := range list.Items {
		for _, result := range one.Results {
			subject := one.Scope
			if len(result.Resources) > 0 {
				subject = &result.Resources[0]
			}
			lines = append(lines, strings.Join([]string{result.Policy, string(result.Result), subject.Kind, subject.Namespace + "/" + subject.Name}, " ")+": "+result.Message)
		}
	}
	return lines
}
