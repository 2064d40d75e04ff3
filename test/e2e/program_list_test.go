// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/tools/producers"
	"github.com/docket-project/docket/test/e2e/harness"
)

// clients are the programs of TestProgramClients. Each leaves its objects in a namespace
// of its own; those without a namespace are there for the next.
func clients(t *testing.T) map[string]program {
	t.Helper()
	const module = "Go module "
	kubernetes := harness.KubernetesVersion(t)
	return map[string]program{
		"informers": {run: runInformers, Run: producers.Run{
			Program: "client-go informers", Version: harness.ModuleVersion(t, "k8s.io/client-go"), Source: module + "k8s.io/client-go",
			Did:    "typed, dynamic and metadata informers of the six kinds, each beginning with a watch and with a list, while reports are created, changed and deleted",
			Result: "the same events in the same order as with CRDs, and the same objects in the caches",
		}},
		"runtime": {run: runRuntime, Run: producers.Run{
			Program: "controller-runtime", Version: harness.ModuleVersion(t, "sigs.k8s.io/controller-runtime"), Source: module + "sigs.k8s.io/controller-runtime",
			Did:    "a client that reads from a cache with an index: create, update, create or patch, apply, conflicts, delete all of",
			Result: "the same answers, and the same objects in the cache, as with CRDs",
		}},
		"python": {run: operate(harness.PythonScript), Run: producers.Run{
			Program: "Kubernetes client for Python", Version: harness.PythonScript(t).Version(t), Source: "Debian, python3-kubernetes",
			Did:    "CustomObjectsApi and the dynamic client: create, list, patch, replace, conflicts, watch and delete on the six kinds",
			Result: "the same answers as with CRDs",
		}},
		"node": {run: operate(harness.NodeScript), Run: producers.Run{
			Program: "Kubernetes client for Node.js", Version: harness.NodeScript(t).Version(t), Source: "npm, @kubernetes/client-node",
			Did:    "CustomObjectsApi and KubernetesObjectApi: create, list, the three patches, conflicts and delete on the six kinds",
			Result: "the same answers as with CRDs",
		}},
		"kubectl": {run: runKubectl, Run: producers.Run{
			Program: "kubectl", Version: kubernetes, Source: module + "k8s.io/kubernetes",
			Did:    "create, get in all forms, describe, label, annotate, the patches, replace, apply and diff on both sides, delete, and the errors of each; all of it on two kinds, and create, get, describe and delete on the others",
			Result: "prints the same, and ends with the same exit codes, as with CRDs",
		}},
		"gitops": {run: runGitops, Run: producers.Run{
			Program: "Argo CD's gitops-engine", Version: harness.ModuleVersion(t, "github.com/argoproj/argo-cd/gitops-engine"), Source: module + "github.com/argoproj/argo-cd/gitops-engine",
			Did:    "cache, OpenAPI, sync with client-side and server-side apply, the three ways to find differences, pruning, on the six kinds",
			Result: "the same messages, differences and predicted objects as with CRDs",
		}},
		"managers": {run: runManagers, Run: producers.Run{
			Program: "kube-controller-manager", Version: kubernetes, Source: module + "k8s.io/kubernetes",
			Did:    "garbage collection, object-count quotas, deletion of a namespace",
			Result: "as with CRDs",
		}},
	}
}

// operate lets a script do with an object of each kind what its libraries offer, and
// returns what it saw.
func operate(script func(testing.TB) harness.Script) func(*testing.T, *programCluster) []string {
	return func(t *testing.T, p *programCluster) []string {
		t.Helper()
		type item struct {
			Object     *unstructured.Unstructured `json:"object"`
			Plural     string                     `json:"plural"`
			Namespaced bool                       `json:"namespaced"`
		}
		var items []item
		for _, kind := range sample.Kinds() {
			object := sample.Cluster{Now: sampleTime}.Report(kind, 1, 2)
			object.SetName("script")
			object.SetNamespace("")
			object.SetOwnerReferences(nil)
			setLabel(object, "example.com/program", "node")
			items = append(items, item{object, kind.Resource, kind.Namespaced})
		}
		data := testkit.Must(json.Marshal(items))(t)
		file := filepath.Join(t.TempDir(), "objects.json")
		testkit.NoError(t, os.WriteFile(file, data, 0o600))
		return script(t).Run(t, p.cluster, "operate", p.namespace, file)
	}
}
