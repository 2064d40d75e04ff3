// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const policyReports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/%s/policyreports"

// TestServing installs all groups in a generic API server and asks it as clients
// do. Each subtest has its own namespace.
// polr is what a request about a PolicyReport begins with.
const polr = `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport",`

func TestServing(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	for name, test := range map[string]func(*testing.T, *testServer, string){
		"discovery":        testDiscovery,
		"openapi":          testOpenAPI,
		"create":           testCreate,
		"put":              testPut,
		"patch":            testPatch,
		"apply":            testApply,
		"field-validation": testFieldValidation,
		"invalid":          testInvalid,
		"selectors":        testSelectors,
		"media-types":      testMediaTypes,
		"every-kind":       testEveryKind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server, fmt.Sprintf(policyReports, name))
		})
	}
}

func testDiscovery(t *testing.T, server *testServer, _ string) {
	var lines []string
	for _, group := range Groups() {
		version := ""
		for _, kind := range Kinds() {
			if kind.GroupVersionKind.Group == group {
				version = kind.GroupVersionKind.Version
			}
		}
		list := server.request(t, "GET", "/apis/"+group+"/"+version, "").want(t, 200)
		resources, _ := list.field(t, "resources").([]any)
		for _, resource := range resources {
			r := resource.(map[string]any)
			lines = append(lines, fmt.Sprintf("%s/%s %v %v %v namespaced=%v short=%v categories=%v verbs=%v",
				group, version, r["name"], r["singularName"], r["kind"], r["namespaced"], r["shortNames"], r["categories"], r["verbs"]))
		}
	}
	compareGolden(t, "discovery.golden", strings.Join(lines, "\n")+"\n")
}

func testOpenAPI(t *testing.T, server *testServer, _ string) {
	v2 := server.request(t, "GET", "/openapi/v2", "").want(t, 200)
	for _, kind := range Kinds() {
		name := modelName(kind)
		v3 := server.request(t, "GET", "/openapi/v3/apis/"+kind.GroupVersion().String(), "").want(t, 200)
		// kubectl apply would send what is refused.
		if strings.Contains(v3.body, "strategic-merge-patch") || !strings.Contains(v3.body, "merge-patch+json") {
			t.Errorf("OpenAPI v3 of %s offers other patches than there are", kind.GroupVersion())
		}
		want := []any{map[string]any{
			"group": kind.GroupVersionKind.Group, "version": kind.GroupVersionKind.Version, "kind": kind.GroupVersionKind.Kind,
		}}
		for document, schema := range map[string]any{
			"v2": v2.field(t, "definitions", name), "v3": v3.field(t, "components", "schemas", name),
		} {
			properties, _ := schema.(map[string]any)
			testkit.NoDiff(t, cmp.Diff(want, properties["x-kubernetes-group-version-kind"]), "%s in OpenAPI %s (-want +got)", name, document)
		}
	}
}

func testCreate(t *testing.T, server *testServer, path string) {
	created := server.request(t, "POST", path, polr+`"metadata":{"name":"x","generation":7},"results":[{"policy":"p"}]}`).want(t, 201)
	if got := created.field(t, "metadata", "generation"); got != 1.0 {
		t.Errorf("generation is %v, want 1", got)
	}
	if created.field(t, "metadata", "uid") == nil || created.field(t, "metadata", "creationTimestamp") == nil {
		t.Errorf("uid or creationTimestamp is missing: %s", created.body)
	}
	if got := created.field(t, "summary"); got != nil {
		t.Errorf("summary was made up: %v", got)
	}
	server.request(t, "POST", path, polr+`"metadata":{"name":"x"}}`).want(t, 409)

	generated := server.request(t, "POST", path, polr+`"metadata":{"generateName":"polr-"}}`).want(t, 201)
	if got, _ := generated.field(t, "metadata", "name").(string); !strings.HasPrefix(got, "polr-") || got == "polr-" {
		t.Errorf("generated name is %q", got)
	}
	warned := server.request(t, "POST", path, polr+`"metadata":{"name":"y","finalizers":["mine"]}}`).want(t, 201)
	if !strings.Contains(warned.header.Get("Warning"), "mine") {
		t.Errorf("no warning of the finalizer: %v", warned.header)
	}
	dry := server.request(t, "POST", path+"?dryRun=All", polr+`"metadata":{"name":"dry"}}`).want(t, 201)
	if dry.field(t, "metadata", "uid") == nil {
		t.Errorf("dry run has no uid: %s", dry.body)
	}
	server.request(t, "GET", path+"/dry", "").want(t, 404)
}

func testPut(t *testing.T, server *testServer, path string) {
	const kind = `"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport"`
	server.request(t, "PUT", path+"/x", `{`+kind+`,"metadata":{"name":"x"}}`).want(t, 404)
	created := server.request(t, "POST", path, polr+`"metadata":{"name":"x"},"summary":{"pass":1}}`).want(t, 201)
	first := created.field(t, "metadata", "resourceVersion")

	// As custom resources, and unlike many built-in kinds.
	missing := server.request(t, "PUT", path+"/x", `{`+kind+`,"metadata":{"name":"x"}}`).want(t, 422)
	if got := missing.field(t, "details", "causes", 0, "field"); got != "metadata.resourceVersion" {
		t.Errorf("the error is about %v", got)
	}
	same := server.request(t, "PUT", path+"/x", created.body).want(t, 200)
	if got := same.field(t, "metadata", "resourceVersion"); got != first {
		t.Errorf("an update that changes nothing gives resourceVersion %v, want %v", got, first)
	}
	labelled := server.request(t, "PUT", path+"/x",
		strings.Replace(created.body, `"name":"x"`, `"name":"x","labels":{"a":"b"}`, 1)).want(t, 200)
	if got := labelled.field(t, "metadata", "generation"); got != 1.0 {
		t.Errorf("generation after a label is %v, want 1", got)
	}
	server.request(t, "PUT", path+"/x", strings.Replace(created.body, `"pass":1`, `"pass":2`, 1)).want(t, 409)
	changed := server.request(t, "PUT", path+"/x", strings.Replace(labelled.body, `"pass":1`, `"pass":2`, 1)).want(t, 200)
	if got := changed.field(t, "metadata", "generation"); got != 2.0 {
		t.Errorf("generation after a change is %v, want 2", got)
	}
	uid, _ := changed.field(t, "metadata", "uid").(string)
	server.request(t, "PUT", path+"/x", strings.Replace(changed.body, uid, "other", 1)).want(t, 409)
}

func testPatch(t *testing.T, server *testServer, path string) {
	server.request(t, "POST", path, polr+`"metadata":{"name":"x"},"results":[{"policy":"p"}],"summary":{"pass":1}}`).want(t, 201)
	for _, step := range []struct {
		mediaType, patch string
		code             int
		generation       any
	}{
		{"application/merge-patch+json", `{"summary":{"warn":2}}`, 200, 2.0},
		{"application/merge-patch+json", `{"summary":{"warn":2}}`, 200, 2.0},
		{"application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, 2.0},
		{"application/json-patch+json", `[{"op":"replace","path":"/results/0/policy","value":"q"}]`, 200, 3.0},
		{"application/json-patch+json", `[{"op":"test","path":"/results/0/policy","value":"p"}]`, 422, nil},
		{"application/strategic-merge-patch+json", `{"summary":{"pass":null,"skip":1}}`, 415, nil},
		{"application/merge-patch+json", `{"summary":{"pass":null,"skip":1}}`, 200, 4.0},
		{"application/merge-patch+json", `{"results":[{"policy":"p","result":"bad"}]}`, 422, nil},
		{"application/json", `{}`, 415, nil},
	} {
		got := server.request(t, "PATCH", path+"/x", step.patch, "Content-Type", step.mediaType).want(t, step.code)
		if generation := got.field(t, "metadata", "generation"); generation != step.generation {
			t.Errorf("generation after %s is %v, want %v", step.patch, generation, step.generation)
		}
	}
	got := server.request(t, "GET", path+"/x", "").want(t, 200)
	want := map[string]any{"warn": 2.0, "skip": 1.0}
	testkit.NoDiff(t, cmp.Diff(want, got.field(t, "summary")), "summary (-want +got)")
	server.request(t, "PATCH", path+"/missing", `{}`, "Content-Type", "application/merge-patch+json").want(t, 404)
}

func testApply(t *testing.T, server *testServer, path string) {
	apply := func(manager, options, content string) answer {
		body := `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"x"},` + content + `}`
		return server.request(t, "PATCH", path+"/x?fieldManager="+manager+options, body,
			"Content-Type", "application/apply-patch+yaml")
	}
	apply("a", "&dryRun=All", `"summary":{"pass":1}`).want(t, 201)
	server.request(t, "GET", path+"/x", "").want(t, 404)
	apply("a", "", `"summary":{"pass":1},"scope":{"kind":"Pod","name":"w"}`).want(t, 201)
	// Another manager can own another count: what "a" left out was not filled in.
	apply("b", "", `"summary":{"fail":1}`).want(t, 200)
	conflict := apply("b", "", `"summary":{"fail":1,"pass":2}`).want(t, 409)
	if got := conflict.field(t, "details", "causes", 0, "field"); got != ".summary.pass" {
		t.Errorf("the conflict is about %v", got)
	}
	apply("b", "&force=true", `"summary":{"fail":1,"pass":2}`).want(t, 200)
	// The scope is one value: changing a part of it is a conflict over all of it.
	atomic := apply("b", "", `"scope":{"kind":"Pod"}`).want(t, 409)
	if got := atomic.field(t, "details", "causes", 0, "field"); got != ".scope" {
		t.Errorf("the conflict is about %v", got)
	}
	got := apply("b", "", `"summary":{"pass":2}`).want(t, 200)
	testkit.NoDiff(t, cmp.Diff(map[string]any{"pass": 2.0}, got.field(t, "summary")), "summary after dropping a count (-want +got)")
}

func testFieldValidation(t *testing.T, server *testServer, path string) {
	body := func(name string) string {
		return polr + `"metadata":{"name":"` + name + `"},"results":[{"policy":"p","colour":"red","policy":"q"}]}`
	}
	strict := server.request(t, "POST", path+"?fieldValidation=Strict", body("strict")).want(t, 400)
	message, _ := strict.field(t, "message").(string)
	for _, part := range []string{`unknown field "results[0].colour"`, `duplicate field "results[0].policy"`} {
		if !strings.Contains(message, part) {
			t.Errorf("message doesn't say %s: %s", part, message)
		}
	}
	warned := server.request(t, "POST", path+"?fieldValidation=Warn", body("warn")).want(t, 201)
	if warnings := fmt.Sprint(warned.header["Warning"]); !strings.Contains(warnings, `results[0].colour`) {
		t.Errorf("warnings are %s", warnings)
	}
	ignored := server.request(t, "POST", path+"?fieldValidation=Ignore", body("ignore")).want(t, 201)
	if got := ignored.header["Warning"]; len(got) != 0 {
		t.Errorf("Ignore warns: %v", got)
	}
	if got := ignored.field(t, "results", 0, "colour"); got != nil {
		t.Errorf("the unknown field was kept: %v", got)
	}
	patch := server.request(t, "PATCH", path+"/warn?fieldValidation=Strict", `{"colour":"red"}`,
		"Content-Type", "application/merge-patch+json")
	if patch.code != 400 && patch.code != 422 {
		t.Errorf("a strict patch with an unknown field gives %d: %s", patch.code, patch.body)
	}
}

func testInvalid(t *testing.T, server *testServer, path string) {
	invalid := server.request(t, "POST", path, polr+`"metadata":{"name":"x"},"results":[{"policy":"p"},{"result":"bad"}]}`).want(t, 422)
	for i, want := range []string{"results[1].result", "results[1].policy"} {
		if got := invalid.field(t, "details", "causes", i, "field"); got != want {
			t.Errorf("cause %d is about %v, want %s", i, got, want)
		}
	}
	wrongType := server.request(t, "POST", path, polr+`"metadata":{"name":"x"},"results":[{"policy":7}]}`).want(t, 422)
	if got := wrongType.field(t, "details", "causes", 0, "field"); got != "results[0].policy" {
		t.Errorf("the error is about %v: %s", got, wrongType.body)
	}
	server.request(t, "POST", path, polr+`"metadata":`).want(t, 400)
	server.request(t, "POST", path, polr+`"metadata":{"name":"Upper"}}`).want(t, 422)
}

func testSelectors(t *testing.T, server *testServer, path string) {
	for _, uid := range []string{"1", "2"} {
		server.request(t, "POST", path, polr+`"metadata":{"name":"x`+uid+`"},"scope":{"uid":"`+uid+`"}}`).want(t, 201)
	}
	found := server.request(t, "GET", path+"?fieldSelector=scope.uid%3D2", "").want(t, 200)
	if first, second := found.field(t, "items", 0, "metadata", "name"), found.field(t, "items", 1); first != "x2" || second != nil {
		t.Errorf("scope.uid=2 finds %v and %v", first, second)
	}
	const unknown = "fieldSelector=scope.colour%3Dred"
	server.request(t, "GET", path+"?"+unknown, "").want(t, 400)
	server.request(t, "GET", path+"?watch=true&"+unknown, "").want(t, 400)
	server.request(t, "DELETE", path+"?"+unknown, "").want(t, 400)
	server.request(t, "DELETE", path+"?fieldSelector=scope.uid%3D1", "").want(t, 200)
	server.request(t, "GET", path+"/x1", "").want(t, 404)
	server.request(t, "GET", path+"/x2", "").want(t, 200)
	server.request(t, "GET", "/apis/openreports.io/v1alpha1/clusterreports?fieldSelector=metadata.namespace%3Da", "").want(t, 400)
}

func testMediaTypes(t *testing.T, server *testServer, path string) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	yaml := "apiVersion: wgpolicyk8s.io/v1alpha2\nkind: PolicyReport\nmetadata:\n  name: x\nsummary:\n  pass: 1\n"
	server.request(t, "POST", path, yaml, "Content-Type", "application/yaml").want(t, 201)
	server.request(t, "POST", path, "k8s", "Content-Type", protobuf).want(t, 415)
	server.request(t, "GET", path+"/x", "", "Accept", protobuf).want(t, 406)
	server.request(t, "GET", path+"/x", "", "Accept", "text/html").want(t, 406)
	for accept, want := range map[string]string{
		protobuf + ",application/json":                                  "PolicyReport",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json": "Table",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1":  "PartialObjectMetadata",
	} {
		got := server.request(t, "GET", path+"/x", "", "Accept", accept).want(t, 200)
		if kind := got.field(t, "kind"); kind != want {
			t.Errorf("Accept %s gives a %v, want %s", accept, kind, want)
		}
	}
	// Metadata has a protobuf form, which informers of metadata ask for.
	const asMetadata = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	metadata := server.request(t, "GET", path, "",
		"Accept", protobuf+asMetadata+",application/json"+asMetadata).want(t, 200)
	if got := metadata.header.Get("Content-Type"); !strings.HasPrefix(got, protobuf) {
		t.Errorf("metadata comes as %s", got)
	}
	table := server.request(t, "GET", path, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").want(t, 200)
	if got := table.field(t, "rows", 0, "cells", 3); got != 1.0 {
		t.Errorf("the cell of passed rules is %v: %s", got, table.body)
	}
	if got := table.field(t, "rows", 0, "object", "kind"); got != "PartialObjectMetadata" {
		t.Errorf("rows hold a %v", got)
	}
}

// testEveryKind creates, reads, lists and deletes one object of each kind.
func testEveryKind(t *testing.T, server *testServer, _ string) {
	for _, kind := range Kinds() {
		meta := metav1.ObjectMeta{Name: "one", Namespace: "every-kind"}
		collection := "/apis/" + kind.GroupVersion().String() + "/" + kind.Resource
		if kind.Namespaced {
			collection = "/apis/" + kind.GroupVersion().String() + "/namespaces/every-kind/" + kind.Resource
		}
		object := newReport(t, kind, meta, fullContent())
		created := server.request(t, "POST", collection, encode(t, kind.Codec(), object)).want(t, 201)
		if got := created.field(t, "kind"); got != kind.GroupVersionKind.Kind {
			t.Errorf("kind of a new object is %v, want %s", got, kind.GroupVersionKind.Kind)
		}
		list := server.request(t, "GET", collection, "").want(t, 200)
		if got := list.field(t, "kind"); got != kind.ListKind().Kind {
			t.Errorf("kind of a list is %v, want %s", got, kind.ListKind().Kind)
		}
		if got := list.field(t, "items", 0, "metadata", "name"); got != "one" {
			t.Errorf("list of %s starts with %v", kind.Resource, got)
		}
		deleted := server.request(t, "DELETE", collection+"/one", "").want(t, 200)
		if got := deleted.field(t, "kind"); got != "Status" {
			t.Errorf("deleting gives a %v, want a Status as for custom resources", got)
		}
	}
}
