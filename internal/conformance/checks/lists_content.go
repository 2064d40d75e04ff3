// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

func listKind(ctx context.Context, p *conformance.Probe) error {
	if err := wantListKind(ctx, p); err != nil {
		return err
	}
	if _, err := p.Make(ctx); err != nil {
		return err
	}
	return wantListKind(ctx, p)
}

func wantListKind(ctx context.Context, p *conformance.Probe) error {
	response, err := p.Prepare(ctx, "list objects", conformance.Get(p.Collection(), ours(p)...))
	if err != nil {
		return err
	}
	value, err := response.JSON()
	if err != nil {
		return err
	}
	kind, _ := value["kind"].(string)
	if name, isList := strings.CutSuffix(kind, "List"); !isList || name == "" {
		return response.FailBecause(fmt.Sprintf("the kind is %q", kind), "a list whose kind is %sList", p.Resource.Kind)
	}
	if version, _ := value["apiVersion"].(string); version != p.GroupVersion.String() {
		return response.FailBecause(fmt.Sprintf("the apiVersion is %q", version), "a list whose apiVersion is %s", p.GroupVersion)
	}
	if _, isArray := value["items"].([]any); !isArray {
		return response.Fail("a list whose items are an array, [] if there are none")
	}
	return nil
}

func listResourceVersion(ctx context.Context, p *conformance.Probe) error {
	if _, err := makeSome(ctx, p, 2); err != nil {
		return err
	}
	if err := wantListVersion(ctx, p, p.Collection()); err != nil || p.Namespace == "" {
		return err
	}
	return wantListVersion(ctx, p, p.Resource.CollectionPath(""))
}

func wantListVersion(ctx context.Context, p *conformance.Probe, path string) error {
	list, err := readList(ctx, p, path, ours(p)...)
	if err != nil {
		return err
	}
	version := list.version()
	if version == "" || version == "0" {
		return list.FailBecause(fmt.Sprintf("it is %q", version), "a list with a metadata.resourceVersion that is not 0")
	}
	for _, item := range list.items {
		if newer, known := compareVersions(item.GetResourceVersion(), version); known && newer {
			return list.FailBecause(fmt.Sprintf("%s has the resourceVersion %s, the list %s", item.GetName(), item.GetResourceVersion(), version),
				"a list whose metadata.resourceVersion is not older than that of its items")
		}
	}
	return nil
}

func listComplete(ctx context.Context, p *conformance.Probe) error {
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	list, err := readOurs(ctx, p)
	if err != nil {
		return err
	}
	if list.item(made.GetName()) == nil {
		return list.Fail("a list with %s, which was created before", made.GetName())
	}
	object, list, err := readSteady(ctx, p, made.GetName())
	if err != nil {
		return err
	}
	item := list.item(made.GetName())
	if item == nil {
		return list.Fail("a list with %s, which is there", made.GetName())
	}
	for _, field := range fieldsOfContent(object, item) {
		if !reflect.DeepEqual(object.Object[field], item.Object[field]) {
			return list.Fail("%s in the list with the same %s as GET answers", made.GetName(), field)
		}
	}
	return nil
}

// fieldsOfContent returns the names of what objects have besides metadata and status.
func fieldsOfContent(objects ...*unstructured.Unstructured) []string {
	var names []string
	for _, object := range objects {
		for name := range object.Object {
			if !slices.Contains([]string{"kind", "apiVersion", "metadata", "status"}, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readSteady reads an object, and the list that it is in, at a time when nobody changes it.
func readSteady(ctx context.Context, p *conformance.Probe, name string) (*unstructured.Unstructured, *listed, error) {
	for range attempts {
		before, err := p.Read(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		list, err := readOurs(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		after, err := p.Read(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if reflect.DeepEqual(before.Object, after.Object) {
			return after, list, nil
		}
	}
	return nil, nil, conformance.Leave("somebody changes the objects of the resource all the time")
}

func listItems(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	object.SetAnnotations(map[string]string{sizeLabel: "large"})
	made, err := p.Create(ctx, object)
	if err != nil {
		return err
	}
	object, list, err := readSteady(ctx, p, made.GetName())
	if err != nil {
		return err
	}
	item := list.item(made.GetName())
	if item == nil {
		return conformance.Leave("the object is not in the list")
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	listed, _ := item.Object["metadata"].(map[string]any)
	for _, field := range []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "labels", "annotations", "finalizers", "ownerReferences",
	} {
		if !reflect.DeepEqual(metadata[field], listed[field]) {
			return list.FailBecause(fmt.Sprintf("it is %v", listed[field]), "%s in the list with the metadata.%s %v, as GET answers", made.GetName(), field, metadata[field])
		}
	}
	return nil
}

func listAllNamespaces(ctx context.Context, p *conformance.Probe) error {
	if p.Namespace == "" {
		return conformance.Leave("the resource has no namespaces")
	}
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	own, everywhere := made.GetName(), p.Resource.CollectionPath("")
	if err := wantNames(ctx, p, everywhere, ours(p), own); err != nil {
		return err
	}
	namespace, err := p.OtherNamespace(ctx)
	if err != nil {
		return err
	}
	object := p.New()
	p.Resource.Maker.Place(object, namespace)
	if _, err := p.Create(ctx, object); err != nil {
		return err
	}
	other := object.GetName()
	for _, list := range []struct {
		path  string
		names []string
	}{{everywhere, []string{own, other}}, {p.Collection(), []string{own}}, {p.Resource.CollectionPath(namespace), []string{other}}} {
		if err := wantNames(ctx, p, list.path, ours(p), list.names...); err != nil {
			return err
		}
	}
	return nil
}

// wantNames returns a failure unless a list has just the objects with these names.
func wantNames(ctx context.Context, p *conformance.Probe, path string, query []string, names ...string) error {
	list, err := readList(ctx, p, path, query...)
	if err != nil {
		return err
	}
	wanted := slices.Sorted(slices.Values(names))
	if slices.Equal(list.names(), wanted) {
		return nil
	}
	return list.FailBecause("it has "+namesText(list.names()), "a list of %s", namesText(wanted))
}

func namesText(names []string) string {
	if len(names) == 0 {
		return "no objects"
	}
	return strings.Join(names, ", ")
}
