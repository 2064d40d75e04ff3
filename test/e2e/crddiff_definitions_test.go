// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/crddiff"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	// definitionCases and definitionSequences are run on each engine if nothing else is asked for, a sequence for
	// each kind in each version.
	definitionCases, definitionSequences = 1000, 26
	// definitionsVariable is a folder with other definitions to compare.
	definitionsVariable = "DOCKET_CRDDIFF_DEFINITIONS"
	// selfShare is the part of them that compares custom resources with themselves.
	selfShare = 3
)

// TestCRDDiffDefinitions does what TestCRDDiff does with the definitions of public projects and some of our own.
func TestCRDDiffDefinitions(t *testing.T) {
	t.Parallel()
	folder := definitionFolder(t)
	definitions := testkit.Must(crddiff.ReadDefinitions(nil, folder))(t)
	c := newCRDComparison(t, definitions, crddiffWorkOf(t, definitionCases, definitionSequences))
	// What differs between two servers of the same kind is a mistake of the test.
	t.Run("custom resources", func(t *testing.T) {
		testkit.Full(t)
		self := *c
		self.caseLimit, self.sequenceLimit, self.duration = c.caseLimit/selfShare, c.sequenceLimit/selfShare, c.duration/selfShare
		self.cluster = harness.StartCluster(t)
		self.cluster.Install(t, definitions)
		d := self.with(t, "self", "the same", func(seen crddiff.Seen) string {
			if seen.Answers[0] != nil && seen.Answers[0].Code == 0 && seen.Answers[1].Code == 0 {
				return "no answers" // A body in protocol buffers breaks the connection; the error has the address.
			}
			return ""
		})
		d.all(t)
	})
	for engine, arguments := range crddiffEngines() {
		t.Run(engine, func(t *testing.T) {
			d := c.withDocket(t, engine, append(arguments(t), "--custom-resources", folder)...)
			d.all(t)
			if os.Getenv(definitionsVariable) != "" {
				return // The rest is about kinds of our own table.
			}
			t.Run("informers", d.informers)
			t.Run("conformance", func(t *testing.T) {
				testkit.Full(t)
				conformOf(t, "gateway", c.cluster.RESTConfig(t), "gateway.networking.k8s.io/v1", "httproutes", "gatewayclasses")
				conformOf(t, "own", c.cluster.RESTConfig(t), "crddiff.example.com/v1", "workloads")
			})
		})
	}
}

// definitionFolder returns the folder that the environment names, or one with our own definitions and those in
// crddiff/testdata/public.txt, which come from the modules of public projects.
func definitionFolder(t *testing.T) string {
	t.Helper()
	if given := os.Getenv(definitionsVariable); given != "" {
		return given
	}
	folder, own := t.TempDir(), filepath.Join("crddiff", "testdata")
	testkit.NoError(t, os.CopyFS(folder, os.DirFS(own)))
	list := filepath.Join(folder, "public.txt")
	public := testkit.Must(os.ReadFile(list))(t)
	testkit.NoError(t, os.Remove(list))
	for line := range strings.Lines(string(public)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		file := filepath.FromSlash(fields[1])
		text := testkit.Must(os.ReadFile(filepath.Join(harness.Module(t, fields[0]), file)))(t)
		testkit.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o600))
	}
	return folder
}

// runningWorkload is an object of one of our own kinds.
const runningWorkload = `{"apiVersion":"crddiff.example.com/v1","kind":"Workload","metadata":{"name":"a","labels":{"step":"1"}},"spec":{"color":"red"}}`

// informers compares what informers learn about one object.
func (d *differ) informers(t *testing.T) {
	want, got := followed(t, d.reference.RESTConfig(t)), followed(t, d.cluster.RESTConfig(t))
	testkit.NoDiff(t, cmp.Diff(want, got), "what informers are told (-custom resources +other)")
}

// followed changes an object in all ways while an informer follows, and returns what the informer told.
func followed(t *testing.T, config *rest.Config) []string {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "crddiff.example.com", Version: "v1", Resource: "workloads"}
	var told []string
	for _, begin := range []string{"watch-list", "list"} {
		source, object := dynamicSource(t, config, resource)
		var lister cache.ListerWatcher = source
		if begin == "list" {
			lister = listFirst{source}
		}
		i := startInformerOf(t, begin, sample.Kind{}, lister, object)
		client := testkit.Must(dynamic.NewForConfig(config))(t).Resource(resource).Namespace(crddiffNamespace)
		var made unstructured.Unstructured
		testkit.NoError(t, made.UnmarshalJSON([]byte(runningWorkload)))
		testkit.Must(client.Create(t.Context(), &made, metav1.CreateOptions{}))(t)
		for _, change := range []struct{ patch, subresource string }{
			{`{"metadata":{"labels":{"step":"2"}}}`, ""}, {`{"metadata":{"labels":{"step":"3"}},"status":{"phase":"Running"}}`, "status"},
			{`{"spec":{"replicas":5}}`, "scale"}, {`{"metadata":{"labels":{"step":"4"}},"spec":{"replicas":null}}`, ""},
		} {
			var subresources []string
			if change.subresource != "" {
				subresources = append(subresources, change.subresource)
			}
			testkit.Must(client.Patch(t.Context(), "a", types.MergePatchType, []byte(change.patch), metav1.PatchOptions{}, subresources...))(t)
		}
		testkit.NoError(t, client.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		waitSettled(t, 100*time.Millisecond, func() string {
			if events := i.told(); len(events) == 0 || !strings.HasPrefix(events[len(events)-1], "deleted ") {
				return "the informer has not seen the end: " + strings.Join(events, ", ")
			}
			return ""
		})
		told = append(told, begin+": "+strings.Join(i.told(), ", "))
	}
	return told
}
