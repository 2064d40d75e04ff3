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
	"github.com/docket-project/docket/test/e2e/harness"
)

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
