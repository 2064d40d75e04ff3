// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/cli"
)

const (
	podHead   = "apiVersion: v1\nkind: Pod\nmetadata: "
	notLatest = `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: no-latest}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))", message: latest}]
`
	latestJob = `apiVersion: batch/v1
kind: Job
metadata: {generateName: migrate-}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:latest"}]}}}
`
	latestDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "app:latest"}]}}}
`
	helmTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\n{{- if .Values.on }}\ndata: {a: b}\n{{- end }}\n"
)

// publicCase is what somebody reported in public, with inputs of our own. Its name is the repository with the number of
// the report.
type publicCase struct {
	policies string
	files    map[string]string
	// stdin are the resources if there are no files, or else the policies.
	stdin string
	want  int
	out   []string
	err   []string
}

var publicCases = map[string]publicCase{
	"mykso/myks 691: a hook with a generateName": {
		policies: notLatest, files: map[string]string{"app.yaml": latestDeployment, "hook.yaml": latestJob + "---\n" + latestJob},
		want: filescan.ExitFindings, out: []string{"fail Deployment/default/web", "fail Job/default/migrate-00001", "fail Job/default/migrate-00002"},
	},
	"kubernetes-sigs/kustomize 38: one base and several overlays": {
		policies: labelPolicy,
		files: map[string]string{
			"base/pod.yaml": badPod, "base/kustomization.yaml": "resources: [pod.yaml]\n",
			"dev/patch.yaml": badPod, "dev/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
			"prod/merge.yaml": "metadata: {labels: {owner: me}}\n", "prod/ops.yaml": "- {op: remove, path: /spec}\n",
			"prod/kustomization.yml":   "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatchesStrategicMerge: [merge.yaml]\npatchesJson6902: [{path: ops.yaml}]\n",
			"parts/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
			"copy/pod.yaml":            strings.Replace(badPod, "{name: bad}", "{name: bad, labels: {owner: me}}", 1),
		},
		want: filescan.ExitFindings, out: []string{"fail Pod/default/bad", "pass Pod/default/bad"},
		err: []string{"patch.yaml: is a patch of", "merge.yaml: is a patch of", "ops.yaml: is a patch of", "base/kustomization.yaml: is not a Kubernetes object but input of kustomize", "parts/kustomization.yaml: is not a Kubernetes object but input of kustomize", "2 resources: 1 pass, 1 fail"},
	},
	"kyverno/kyverno 16416: comments and separators only": {
		policies: labelPolicy, files: map[string]string{"a.yaml": "---\n# Source: chart/templates/a.yaml\n---\n"}, want: program.ExitTrouble,
		err: []string{"no Kubernetes objects found"},
	},
	"kyverno/kyverno 16416: the same from helm template": {
		policies: labelPolicy, stdin: "---\n# Source: chart/templates/a.yaml\n---\n", want: cli.ExitOK, err: []string{"0 resources"},
	},
	"kubepug/kubepug 65: a warning before the first document": {
		policies: labelPolicy, stdin: "WARNING: This chart is deprecated\n---\n# Source: a.yaml\n" + badPod, want: program.ExitTrouble,
		out: []string{"fail Pod/default/bad", "error Document/standard input: document 1"}, err: []string{"--resource: standard input: document 1: line 1: is not a Kubernetes object"},
	},
	"kubepug/kubepug 81: one document in the middle": {
		policies: labelPolicy, files: map[string]string{"all.yaml": goodPod + "---\na: b: c\n---\n" + badPod + "---\n" + podHead + "{name: x, labels: {tier: 1}}\n"}, want: program.ExitTrouble,
		out: []string{"pass Pod/shop/good", "fail Pod/default/bad", "error Document/"}, err: []string{"all.yaml: document 2: yaml: line 6: ", "document 4: line 13: metadata.labels[tier]: must be a string"},
	},
	"kyverno/kyverno 13348: policies of a cluster as a list": {
		stdin: "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSuffix(strings.ReplaceAll(labelPolicy, "\n", "\n  "), "  ") + "- " + strings.TrimSuffix(strings.ReplaceAll(notLatest, "\n", "\n  "), "  ") + "- {apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {}}\n",
		files: map[string]string{"pod.yaml": badPod}, want: program.ExitTrouble,
		out: []string{"fail Pod/default/bad", "pass Pod/default/bad"}, err: []string{"--policy: standard input: line 1: items[2]: metadata.name: is missing"},
	},
	"aquasecurity/trivy 8252: a date and a key twice": {
		policies: labelPolicy, files: map[string]string{"release.yaml": strings.Replace(badPod, "spec:", "spec: {}\nglobal: 2024-04-01\nat: !!timestamp 2024-04-01T00:00:00Z\nspec:", 1)},
		want: filescan.ExitFindings, out: []string{"fail Pod/default/bad"},
	},
	"aquasecurity/trivy 1251: a Helm chart beside manifests": {
		policies: labelPolicy,
		files:    map[string]string{"chart/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n", "chart/values.yaml": "on: true\n", "chart/templates/a.yaml": helmTemplate, "chart/templates/b.yaml": podHead + "{name: \"{{ .Release.Name }}\"}\n", "pod.yaml": badPod},
		want:     program.ExitTrouble, out: []string{"fail Pod/default/bad"},
		err: []string{"templates/a.yaml: line 4: looks like a Helm template: render it first", "templates/b.yaml: line 1: metadata.name: looks like a Helm template", "Left out: ", "values.yaml"},
	},
}

// TestPublicReports: one document never stops the rest.
func TestPublicReports(t *testing.T) {
	t.Parallel()
	for name, test := range publicCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, map[string]string{"policies/p.yaml": test.policies})
			args := []string{"scan", "--all", "--policy", dir, "--resource", writeFiles(t, test.files)}
			if test.policies == "" {
				args[3] = "-"
			} else if test.stdin != "" {
				args[5] = "-"
			}
			got := command(t, test.stdin, args...)
			results := rowsIn(got.out)
			for _, want := range test.out {
				if !slices.ContainsFunc(results, func(line string) bool { return strings.HasPrefix(line, want) }) {
					t.Errorf("%q is not in %q", want, results)
				}
			}
			for _, want := range test.err {
				if !strings.Contains(got.err, want) {
					t.Errorf("%q is not in the errors", want)
				}
			}
			if got.code != test.want || t.Failed() {
				t.Errorf("exit code %d, want %d:\n%s%s", got.code, test.want, got.out, got.err)
			}
		})
	}
}

// rowsIn returns the outcome and the resource of each line of a table.
func rowsIn(table string) []string {
	var all []string
	resource := ""
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "  ") && len(words) > 0:
			all = append(all, words[0]+" "+resource)
		case len(words) > 0:
			resource = strings.TrimSpace(line)
		}
	}
	return all
}
