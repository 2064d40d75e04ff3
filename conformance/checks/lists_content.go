// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func listsContentRules() []rule {
	return []rule{listKind{}, listResourceVersion{}, listComplete{}, listItems{}, listAllNamespaces{}}
}

type listKind struct{}

func (r listKind) check() runner.Check {
	return runner.Check{
		ID: "list-kind", Area: areaLists,
		Rule:        "A list has a kind that ends with List, the apiVersion of the group version, and an array as items, even if it is empty.",
		Detail:      "Lists no objects, then one. Where clients don't create any: those that are there.",
		Reference:   apiConventions + "#types-kinds",
		PerResource: true, Verbs: []string{"get", "list"}, Run: r.run,
	}
}

func (listKind) run(ctx context.Context, p *runner.Probe) error {
	if err := wantListKind(ctx, p); err != nil {
		return err
	}
	if _, err := some(ctx, p, 1); err != nil {
		return err
	}
	return wantListKind(ctx, p)
}

func (listKind) broken() broken.Server {
	return broken.That("answers with lists of the kind List", onLists(broken.And(), func(list map[string]any, _ []any) { list["kind"] = "List" }))
}

func wantListKind(ctx context.Context, p *runner.Probe) error {
	response, err := p.Prepare(ctx, "list objects", runner.Get(p.Collection(), ours(p)...))
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

// onLists has edit change lists, if nothing but lists of whole objects is accepted.
func onLists(match broken.Match, edit func(list map[string]any, items []any)) func(http.Handler) http.Handler {
	whole := func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") }
	return broken.OnAnswered(broken.And(broken.Listing, whole, match), func(list map[string]any) {
		if items, ok := list["items"].([]any); ok {
			edit(list, items)
		}
	})
}

type listResourceVersion struct{}

func (r listResourceVersion) check() runner.Check {
	return runner.Check{
		ID: "list-resource-version", Area: areaLists,
		Rule:        "A list has a metadata.resourceVersion, which is not 0 and not older than its items.",
		Detail:      "Lists the objects of one namespace and of all. Ages are compared only if the resourceVersions are numbers.",
		Reference:   apiConcepts + "#efficient-detection-of-changes",
		PerResource: true, Verbs: []string{"get", "list"}, Run: r.run,
	}
}

func (listResourceVersion) run(ctx context.Context, p *runner.Probe) error {
	if _, err := some(ctx, p, 2); err != nil {
		return err
	}
	if err := wantListVersion(ctx, p, p.Collection()); err != nil || p.Namespace == "" {
		return err
	}
	return wantListVersion(ctx, p, p.Resource.CollectionPath(""))
}

func (listResourceVersion) broken() broken.Server {
	return broken.That("has an old resourceVersion for lists over all namespaces", onLists(everywhere, func(list map[string]any, _ []any) { broken.FieldsOf(list, "metadata")["resourceVersion"] = "1" }))
}

func wantListVersion(ctx context.Context, p *runner.Probe, path string) error {
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

// everywhere matches requests about the objects of all namespaces.
func everywhere(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && p.Namespace == ""
}

type listComplete struct{}

func (r listComplete) check() runner.Check {
	return runner.Check{
		ID: "list-complete", Area: areaLists,
		Rule:        "A list shows an object completely as soon as its creation was answered.",
		Detail:      "Lists right after creating an object, and compares all but metadata and status with what GET returns. Where clients don't create any: one that is there.",
		Reference:   apiConcepts + listVersionsAnchor,
		PerResource: true, Verbs: []string{"get", "list"}, Run: r.run,
	}
}

func (listComplete) run(ctx context.Context, p *runner.Probe) error {
	names, err := some(ctx, p, 1)
	if err != nil {
		return err
	}
	name := names[0]
	list, err := readOurs(ctx, p)
	if err != nil {
		return err
	}
	if list.item(name) == nil {
		return list.Fail("a list with %s, which was there before", name)
	}
	object, list, err := readSteady(ctx, p, name)
	if err != nil {
		return err
	}
	item := list.item(name)
	if item == nil {
		return list.Fail("a list with %s, which is there", name)
	}
	for _, field := range fieldsOfContent(object, item) {
		if !reflect.DeepEqual(object.Object[field], item.Object[field]) {
			return list.Fail("%s in the list with the same %s as GET returns", name, field)
		}
	}
	return nil
}

func (listComplete) broken() broken.Server {
	return broken.That("lists objects without their spec", onItems(func(item map[string]any) { delete(item, "spec") }))
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
func readSteady(ctx context.Context, p *runner.Probe, name string) (*unstructured.Unstructured, *listed, error) {
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
	return nil, nil, runner.Leave("others change the objects of the resource all the time")
}

// onItems has edit change the items of lists of whole objects.
func onItems(edit func(item map[string]any)) func(http.Handler) http.Handler {
	return onLists(broken.And(), func(_ map[string]any, items []any) {
		for _, one := range items {
			if item, ok := one.(map[string]any); ok {
				edit(item)
			}
		}
	})
}

type listItems struct{}

func (r listItems) check() runner.Check {
	return runner.Check{
		ID: "list-items", Area: areaLists,
		Rule:        "The items of a list have the same metadata as GET returns.",
		Detail:      "Compares name, namespace, uid, resourceVersion, generation, labels, annotations, and the like of a new object; of one that is there where clients don't create any.",
		Reference:   apiConventions + "#metadata",
		PerResource: true, Verbs: []string{"get", "list"}, Run: r.run,
	}
}

func (listItems) run(ctx context.Context, p *runner.Probe) error {
	name, err := annotatedOrShown(ctx, p)
	if err != nil {
		return err
	}
	object, list, err := readSteady(ctx, p, name)
	if err != nil {
		return err
	}
	item := list.item(name)
	if item == nil {
		return runner.Leave("the object is not in the list")
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	listed, _ := item.Object["metadata"].(map[string]any)
	for _, field := range []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "labels", "annotations", "finalizers", "ownerReferences",
	} {
		if !reflect.DeepEqual(metadata[field], listed[field]) {
			return list.FailBecause(fmt.Sprintf("it is %v", listed[field]), "%s in the list with the metadata.%s %v, as GET returns it", name, field, metadata[field])
		}
	}
	return nil
}

// annotatedOrShown returns the name of a new object with an annotation, or of one that is only shown.
func annotatedOrShown(ctx context.Context, p *runner.Probe) (string, error) {
	if p.Resource.ShownOnly() {
		names, err := some(ctx, p, 1)
		if err != nil {
			return "", err
		}
		return names[0], nil
	}
	object := p.New()
	object.SetAnnotations(map[string]string{sizeLabel: "large"})
	made, err := p.Create(ctx, object)
	if err != nil {
		return "", err
	}
	return made.GetName(), nil
}

func (listItems) broken() broken.Server {
	return broken.That("lists objects without their uid", onItems(func(item map[string]any) { delete(broken.FieldsOf(item, "metadata"), "uid") }))
}

type listAllNamespaces struct{}

func (r listAllNamespaces) check() runner.Check {
	return runner.Check{
		ID: "list-all-namespaces", Area: areaLists,
		Rule:        "A list without a namespace has the objects of all namespaces; a list of one namespace has only its own.",
		Detail:      "Creates objects in two namespaces, and lists all namespaces and each of the two.",
		Reference:   apiConcepts + "#resource-uris",
		PerResource: true, Verbs: []string{"create", "get", "list"}, Run: r.run,
	}
}

func (listAllNamespaces) run(ctx context.Context, p *runner.Probe) error {
	if p.Namespace == "" {
		return runner.Leave("the resource has no namespaces")
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

func (listAllNamespaces) broken() broken.Server {
	return broken.That("lists the objects of one namespace where those of all are wanted", onLists(everywhere, func(list map[string]any, items []any) {
		namespace := func(item any) any {
			object, _ := item.(map[string]any)
			return broken.FieldsOf(object, "metadata")["namespace"]
		}
		list["items"] = slices.DeleteFunc(items, func(item any) bool { return namespace(item) != namespace(items[0]) })
	}))
}

// wantNames returns a failure unless a list has just the objects with these names.
func wantNames(ctx context.Context, p *runner.Probe, path string, query []string, names ...string) error {
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
