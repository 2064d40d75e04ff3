// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaLists = "Listing"

	listMetaPage       = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-meta/"
	labelSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering"
	fieldSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#supported-fields"
	chunksAnchor       = "#retrieving-large-results-sets-in-chunks"
	listVersionsAnchor = "#semantics-for-get-and-list"
)

var lists = []runner.Check{
	{
		ID: "list-kind", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list has a kind that ends with List, the apiVersion of the group version, and an array as items, even if it is empty.",
		Detail:    "Lists no objects, then one. Where clients don't create any: those that are there.",
		Reference: apiConventions + "#types-kinds",
		Run: func(p *runner.Probe) {
			wantListKind(p)
			some(p, 1)
			wantListKind(p)
		},
	},
	{
		ID: "list-resource-version", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list has a metadata.resourceVersion, which is not 0 and not older than its items.",
		Detail:    "Lists the objects of one namespace and of all. Ages are compared only if the resourceVersions are numbers.",
		Reference: apiConcepts + "#efficient-detection-of-changes",
		Run: func(p *runner.Probe) {
			some(p, 2)
			wantListVersion(p, p.Collection())
			if p.Namespace == "" {
				return
			}
			wantListVersion(p, p.Resource.CollectionPath(""))
		},
	},
	{
		ID: "list-complete", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A list shows an object completely as soon as its creation was answered.",
		Detail:    "Lists right after creating an object, and compares all but metadata and status with what GET returns. Where clients don't create any: one that is there.",
		Reference: apiConcepts + listVersionsAnchor,
		Run: func(p *runner.Probe) {
			name := some(p, 1)[0]
			list := readOurs(p)
			if list.item(name) == nil {
				list.Fail("a list with %s, which was there before", name)
			}
			object, list := readSteady(p, name)
			item := list.item(name)
			if item == nil {
				list.Fail("a list with %s, which is there", name)
			}
			content, listed := contentFields(object), contentFields(item)
			for _, field := range slices.Concat(slices.Sorted(maps.Keys(content)), slices.Sorted(maps.Keys(listed))) {
				if !reflect.DeepEqual(content[field], listed[field]) {
					list.Fail("%s in the list with the same %s as GET returns", name, field)
				}
			}
		},
	},
	{
		ID: "list-items", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "The items of a list have the same metadata as GET returns.",
		Detail:    "Compares name, namespace, uid, resourceVersion, generation, labels, annotations, and the like of a new object; of one that is there where clients don't create any.",
		Reference: apiConventions + "#metadata",
		Run: func(p *runner.Probe) {
			name := annotatedOrShown(p)
			object, list := readSteady(p, name)
			item := list.item(name)
			if item == nil {
				runner.Leave("the object is not in the list")
			}
			metadata, _ := object.Object["metadata"].(map[string]any)
			listed, _ := item.Object["metadata"].(map[string]any)
			for _, field := range []string{
				"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "labels", "annotations", "finalizers", "ownerReferences",
			} {
				if !reflect.DeepEqual(metadata[field], listed[field]) {
					list.FailBecause(fmt.Sprintf("it is %v", listed[field]), "%s in the list with the metadata.%s %v, as GET returns it", name, field, metadata[field])
				}
			}
		},
	},
	{
		ID: "list-all-namespaces", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A list without a namespace has the objects of all namespaces; a list of one namespace has only its own.",
		Detail:    "Creates objects in two namespaces, and lists all namespaces and each of the two.",
		Reference: apiConcepts + "#resource-uris",
		Run: func(p *runner.Probe) {
			if p.Namespace == "" {
				runner.Leave("the resource has no namespaces")
			}
			made := p.Make()
			own, everywhere := made.GetName(), p.Resource.CollectionPath("")
			wantNames(p, everywhere, ours(p), own)
			namespace := p.OtherNamespace()
			object := p.New()
			p.Resource.Maker.Place(object, namespace)
			p.Create(object)
			other := object.GetName()
			for _, list := range []struct {
				path  string
				names []string
			}{{everywhere, []string{own, other}}, {p.Collection(), []string{own}}, {p.Resource.CollectionPath(namespace), []string{other}}} {
				wantNames(p, list.path, ours(p), list.names...)
			}
		},
	},
}

func wantListKind(p *runner.Probe) {
	response := p.Prepare("list objects", runner.Get(p.Collection(), ours(p)...))
	value := response.JSON()
	kind, _ := value["kind"].(string)
	if name, isList := strings.CutSuffix(kind, "List"); !isList || name == "" {
		response.FailBecause(fmt.Sprintf("the kind is %q", kind), "a list whose kind is %sList", p.Resource.Kind)
	}
	if version, _ := value["apiVersion"].(string); version != p.GroupVersion.String() {
		response.FailBecause(fmt.Sprintf("the apiVersion is %q", version), "a list whose apiVersion is %s", p.GroupVersion)
	}
	if _, isArray := value["items"].([]any); !isArray {
		response.Fail("a list whose items are an array, [] if there are none")
	}
}

func wantListVersion(p *runner.Probe, path string) {
	list := readList(p, path, ours(p)...)
	version := list.version()
	if version == "" || version == "0" {
		list.FailBecause(fmt.Sprintf("it is %q", version), "a list with a metadata.resourceVersion that is not 0")
	}
	for _, item := range list.items {
		if newer, known := compareVersions(item.GetResourceVersion(), version); known && newer {
			list.FailBecause(fmt.Sprintf("%s has the resourceVersion %s, the list %s", item.GetName(), item.GetResourceVersion(), version),
				"a list whose metadata.resourceVersion is not older than that of its items")
		}
	}
}

// readSteady reads an object, and the list that it is in, at a time when nobody changes it.
func readSteady(p *runner.Probe, name string) (*unstructured.Unstructured, *listed) {
	for range attempts {
		before, list, after := p.Read(name), readOurs(p), p.Read(name)
		if reflect.DeepEqual(before.Object, after.Object) {
			return after, list
		}
	}
	runner.Leave("others change the objects of the resource all the time")
	return nil, nil
}

// annotatedOrShown returns the name of a new object with an annotation, or of one that is only shown.
func annotatedOrShown(p *runner.Probe) string {
	if p.Resource.ShownOnly() {
		return some(p, 1)[0]
	}
	return makeNoted(p, sizeLabel, "large")
}

// wantNames fails the check unless a list has just the objects with these names.
func wantNames(p *runner.Probe, path string, query []string, names ...string) {
	list := readList(p, path, query...)
	wanted := slices.Sorted(slices.Values(names))
	if slices.Equal(list.names(), wanted) {
		return
	}
	list.FailBecause("it has "+namesText(list.names()), "a list of %s", namesText(wanted))
}

func namesText(names []string) string {
	if len(names) == 0 {
		return "no objects"
	}
	return strings.Join(names, ", ")
}
