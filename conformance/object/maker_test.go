// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestNewFromSchema(t *testing.T) {
	const more = `
Quantity: {description: None of the library.}
io.k8s.apimachinery.pkg.api.resource.Quantity: {oneOf: [{type: string}, {type: number}]}
Loop: {type: object, required: [next], properties: {next: {$ref: "#/components/schemas/Loop"}, a: {type: string}}}
`
	for _, test := range []struct{ name, spec, want string }{
		{"nothing is required", `{type: object, properties: {a: {type: string}}}`, `{}`},
		{"defaults", `{type: object, required: [a, b, c, d], properties: {a: {type: string, default: x}, b: {type: integer, default: 7}, c: {type: boolean, default: true}, d: {default: {e: f}, type: object, required: [e, g], properties: {e: {type: string}, g: {type: string}}}}}`, `{a: x, b: 7, c: true, d: {e: f, g: conformance}}`},
		{"defaults of Go", `{type: object, required: [a, b, c], properties: {a: {type: string, default: ""}, b: {type: integer, default: 0}, c: {default: {}, allOf: [{type: object, required: [e], properties: {e: {type: string}}}]}}}`, `{a: conformance, b: 1, c: {e: conformance}}`},
		{"enums", `{type: object, required: [a, b, c], properties: {a: {type: string, enum: ["", x, z]}, b: {type: integer, enum: [0]}, c: {type: string, enum: [x, z], default: z}}}`, `{a: x, b: 0, c: z}`},
		{"examples", `{type: object, required: [a], properties: {a: {type: string, example: x}}}`, `{a: x}`},
		{"numbers", `{type: object, required: [a, b, c, d, e, f], properties: {a: {type: integer, minimum: 5}, b: {type: integer, maximum: -3}, c: {type: integer, minimum: 5, exclusiveMinimum: true}, d: {type: integer, minimum: 5, multipleOf: 4}, e: {type: number, minimum: 0.2, maximum: 0.4}, f: {type: number, minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true}}}`, `{a: 5, b: -3, c: 6, d: 8, e: 0.30000000000000004, f: 0.5}`},
		{"numbers of version 3.1", `{type: [object], required: [a], properties: {a: {type: [integer, "null"], exclusiveMinimum: 5}}}`, `{a: 6}`},
		{"nothing runs", `{type: object, required: [replicas, minReplicas, suspend], properties: {replicas: {type: integer}, minReplicas: {type: integer, minimum: 1}, suspend: {type: boolean}}}`, `{replicas: 0, minReplicas: 1, suspend: false}`},
		{"formats", `{type: object, required: [a, b, c, d], properties: {a: {type: string, format: date-time}, b: {type: string, format: byte}, c: {type: string, format: ipv6}, d: {type: string, format: unheard}}}`, `{a: "2026-01-01T00:00:00Z", b: Y29uZm9ybWFuY2U=, c: "2001:db8::1", d: conformance}`},
		{"names", `{type: object, required: [apiVersion, kind, name, namespace], properties: {apiVersion: {type: string}, kind: {type: string}, name: {type: string}, namespace: {type: string}}}`, `{apiVersion: v1, kind: ConfigMap, name: conformance, namespace: default}`},
		{"lengths", `{type: object, required: [a, b], properties: {a: {type: string, minLength: 20}, b: {type: string, maxLength: 3}}}`, `{a: aaaaaaaaaaaaaaaaaaaa, b: a}`},
		{"lists", `{type: object, required: [a, b, c], properties: {a: {type: array, items: {type: string}}, b: {type: array, minItems: 2, uniqueItems: true, items: {type: string}}, c: {type: array, minItems: 2, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k, v], properties: {k: {type: string}, v: {type: integer}}}}}}`, `{a: [], b: [conformance, conformance-1], c: [{k: conformance, v: 1}, {k: conformance-1, v: 1}]}`},
		{"maps", `{type: object, required: [a, b], properties: {a: {type: object, additionalProperties: {type: string}}, b: {type: object, minProperties: 2, additionalProperties: {type: string}}}}`, `{a: {}, b: {key-1: conformance, key-2: conformance}}`},
		{"int-or-string", `{type: object, required: [a, b], properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}, b: {format: int-or-string, oneOf: [{type: integer}, {type: string}]}}}`, `{a: 1, b: 1}`},
		{"quantities", `{type: object, required: [a], properties: {a: {allOf: [{$ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}]}}}`, `{a: "1"}`},
		{"branches", `{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}`, `{a: conformance}`},
		{"embedded resources", `{type: object, required: [a], properties: {a: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`, `{a: {apiVersion: v1, kind: ConfigMap, metadata: {name: conformance}}}`},
		{"required without a schema", `{type: object, x-kubernetes-preserve-unknown-fields: true, required: [a]}`, `{a: conformance}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			maker := NewMaker(things, schemasOf(t, "spec: "+test.spec+"\nstatus: {type: object}", more), nil)
			want := fieldsOf(t, thing(t, "{spec: "+test.want+"}"))
			if diff := cmp.Diff(want, fieldsOf(t, maker.New())); diff != "" {
				t.Error(diff)
			}
			if maker.Origin() != "the OpenAPI schema" {
				t.Errorf("the origin is %q", maker.Origin())
			}
		})
	}
	t.Run("what never ends", func(t *testing.T) {
		NewMaker(things, schemasOf(t, `spec: {$ref: "#/components/schemas/Loop"}`, more), nil).New()
	})
}

func TestPatterns(t *testing.T) {
	for _, pattern := range []string{
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, `^[a-zA-Z0-9]+/[a-z]+$`, `^(\d+h)?(\d+m)?(\d+s)$`, `^x{3}-\d{4,6}$`, `^sha256:[0-9a-f]{64}$`, `^(?:foo|bar)_[A-Z]{2}$`,
		`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`, `^([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]+$`, `^\S+@\S+$`, `^$|^[ä-ü]+$`,
	} {
		schemas := schemasOf(t, fmt.Sprintf("spec: {type: object, required: [a], properties: {a: {type: string, pattern: '%s'}}}", pattern))
		object := NewMaker(things, schemas, nil).New()
		text, _, _ := unstructured.NestedString(object.Object, "spec", "a")
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s does not match %q", pattern, text)
		}
		changes := NewMaker(things, schemas, nil).ContentChanges(object)
		if len(changes) == 0 {
			t.Errorf("there is no other text for %s than %q", pattern, text)
			continue
		}
		other, _, _ := unstructured.NestedString(changes[0].Object, "spec", "a")
		if other == text || !regexp.MustCompile(pattern).MatchString(other) {
			t.Errorf("%s: after %q comes %q", pattern, text, other)
		}
	}
}

func TestNewFromSample(t *testing.T) {
	sample := thing(t, `
metadata:
  name: mine
  namespace: there
  uid: u
  resourceVersion: "7"
  generateName: g
  finalizers: [example.com/f]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: u}]
  labels: {a: b}
  annotations: {c: d, kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec: {color: red}
status: {phase: Done}
`)
	maker := NewMaker(things, nil, sample)
	first := maker.New()
	want := fieldsOf(t, thing(t, "{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {color: red}}"))
	if diff := cmp.Diff(want, fieldsOf(t, first)); diff != "" {
		t.Error(diff)
	}
	testkit.NoError(t, unstructured.SetNestedField(first.Object, "green", "spec", "color"))
	testkit.NoDiff(t, cmp.Diff(want, fieldsOf(t, maker.New())), "the maker's objects share something")
	if maker.Origin() != "the sample file" || sample.GetName() != "mine" {
		t.Errorf("the origin is %q, the sample is now %v", maker.Origin(), sample.Object)
	}
}

func TestNewOfUnknownKinds(t *testing.T) {
	maker := NewMaker(things, nil, nil)
	if got := maker.New(); len(got.Object) != 2 || got.GroupVersionKind() != things {
		t.Errorf("the object is %v", got.Object)
	}
	if !strings.HasPrefix(maker.Origin(), "nothing but its kind") {
		t.Errorf("the origin is %q", maker.Origin())
	}
}

func TestPlace(t *testing.T) {
	for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "Event"}, {Group: "events.k8s.io", Version: "v1", Kind: "Event"}, {Version: "v1", Kind: "Pod"}} {
		maker := NewMaker(kind, nil, nil)
		object := maker.New()
		maker.Place(object, "here")
		about, _, _ := unstructured.NestedString(object.Object, "involvedObject", "namespace")
		regarding, _, _ := unstructured.NestedString(object.Object, "regarding", "namespace")
		if isEvent := kind.Kind == "Event"; object.GetNamespace() != "here" || (about+regarding == "here") != isEvent {
			t.Errorf("%s is %v", kind, object.Object)
		}
	}
}

// TestBuiltInSamples: nothing runs because of them, and there are changes only of kinds that have one.
func TestBuiltInSamples(t *testing.T) {
	for kind := range knownSamples() {
		maker := NewMaker(kind, nil, nil)
		if maker.Origin() != "a built-in sample" {
			t.Errorf("the origin of %s is %q", kind, maker.Origin())
		}
		objects := append([]*unstructured.Unstructured{maker.New()}, maker.ContentChanges(maker.New())...)
		for _, object := range objects {
			lookForPods(t, kind.String(), object.Object)
		}
	}
	for kind := range knownChanges() {
		content, _ := patchesOf(kind, "content")
		status, _ := patchesOf(kind, "status")
		for _, patch := range append(content, status...) {
			if len(patch) != 1 {
				t.Errorf("a change of %s is %v", kind, patch)
			}
			if starts(fmt.Sprint(patch)) {
				t.Errorf("a change of %s may start something: %v", kind, patch)
			}
		}
	}
}

// lookForPods looks for specs of pods that could run.
func lookForPods(t *testing.T, path string, fields map[string]any) {
	t.Helper()
	if _, ok := fields["containers"]; ok {
		if never, _, _ := unstructured.NestedString(fields, "nodeSelector", "conformance.docket.dev/never"); never != "true" {
			t.Errorf("%s is for any node", path)
		}
	}
	if replicas, ok := fields["replicas"]; ok && !same(replicas, int64(0)) {
		t.Errorf("%s.replicas is %v", path, replicas)
	}
	if _, ok := fields["template"]; ok && strings.Contains(path, "batch") && strings.HasSuffix(path, "spec") && fields["suspend"] != true {
		t.Errorf("%s is not suspended", path)
	}
	for name, value := range fields {
		if inner, ok := value.(map[string]any); ok {
			lookForPods(t, path+"."+name, inner)
		}
	}
}
