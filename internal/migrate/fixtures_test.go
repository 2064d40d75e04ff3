// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// databases returns an empty database of each engine.
func databases(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"sqlite":   "sqlite://" + filepath.Join(t.TempDir(), "a.db"),
		"postgres": testenv.Postgres(t).Database(t),
	}
}

// open opens a database until the returned function is called.
func open(t *testing.T, url string) (Place, func()) {
	t.Helper()
	options := apiserver.NewStorageOptions()
	options.Database = url
	reports := testkit.Must(apiserver.OpenReports(t.Context(), options))(t)
	return Place{reports.Store, reports.Storage()}, func() {
		if err := reports.Close(); err != nil {
			t.Error(err)
		}
	}
}

// opened is open until the end of the test.
func opened(t *testing.T, url string) Place {
	t.Helper()
	place, closePlace := open(t, url)
	t.Cleanup(closePlace)
	return place
}

func testRetrier() *retrier {
	return &retrier{clock: clock.RealClock{}, report: func(string, error) {}}
}

// made returns the i-th made-up report of any kind, as an API server would have
// stored it.
func made(t testing.TB, i int) (imports.Kind, imports.Object) {
	t.Helper()
	kinds := sample.Kinds()
	object := sample.Cluster{Seed: 7, Now: time.Unix(1_800_000_000, 0)}.Report(kinds[i%len(kinds)], i, 1+i%5)
	data := testkit.Must(json.Marshal(object))(t)
	for _, kind := range reportKinds() {
		if kind.Kind != kinds[i%len(kinds)].Kind {
			continue
		}
		decoded, _ := testkit.Must2(kind.Decode(data))(t)
		decoded.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)))
		decoded.SetCreationTimestamp(metav1.Unix(1_700_000_000+int64(i), 0))
		decoded.SetGeneration(int64(1 + i%4))
		decoded.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kyverno", Operation: "Update", APIVersion: "v1"}})
		return kind, decoded
	}
	t.Fatal("there is no such kind")
	return imports.Kind{}, nil
}

// fill writes n reports.
func fill(t *testing.T, place Place, n int) {
	t.Helper()
	request := imports.Request{Mode: imports.Fill}
	for i := range n {
		kind, object := made(t, i)
		request.Items = append(request.Items, itemFor(t, kind, object, 0))
	}
	for i, outcome := range importInto(t, place, request) {
		if outcome.Result != imports.Created {
			t.Fatalf("report %d: %+v", i, outcome)
		}
	}
}

func itemFor(t testing.TB, kind imports.Kind, object imports.Object, version uint64) imports.Item {
	t.Helper()
	data := testkit.Must(json.Marshal(object))(t)
	return imports.Item{Group: kind.Group, Resource: kind.Resource, Version: version, Object: data}
}

func importInto(t *testing.T, place Place, request imports.Request) []imports.Outcome {
	t.Helper()
	return imports.New(place.Storage, place.Storage.Kinds(), imports.Exact, clock.RealClock{}).Import(t.Context(), request).Outcomes
}

// contents returns all reports of a place by kind and key, without their resource
// versions.
func contents(t *testing.T, place Place) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, kind := range reportKinds() {
		for e, err := range place.list(t.Context(), kind, true, nil) {
			if err != nil {
				t.Fatal(err)
			}
			object, _ := testkit.Must2(kind.Decode(e.object))(t)
			object.SetResourceVersion("")
			data := testkit.Must(json.Marshal(object))(t)
			all[kind.Resource+" "+e.key()] = string(data)
		}
	}
	return all
}

func copyAll() Copy { return Copy{Kinds: reportKinds(), Out: io.Discard, Err: io.Discard} }

// reportKinds are all kinds of reports.
func reportKinds() (kinds []imports.Kind) {
	for _, kind := range registry.Kinds() {
		kinds = append(kinds, apiserver.Movable(kind))
	}
	return kinds
}
