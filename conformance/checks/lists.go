// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

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
			if p.Namespace != "" {
				wantListVersion(p, p.Resource.CollectionPath(""))
			}
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
			wantNames(p, everywhere, ours(p), own, other)
			wantNames(p, p.Collection(), ours(p), own)
			wantNames(p, p.Resource.CollectionPath(namespace), ours(p), other)
		},
	},
	{
		ID: "list-pages", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A page of a list has at most limit items, all pages together have each object once, and the last one has no continue token.",
		Detail:    "Lists five objects with limit=2; those that are there where clients don't create any. The server may ignore limit if it then returns everything.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			names := some(p, pagedObjects)
			seen, last := readPages(p, names)
			if p.Resource.ShownOnly() {
				// What has gone meanwhile need not be on any page.
				now := sets.New(shown(p)...)
				names = slices.DeleteFunc(names, func(name string) bool { return !now.Has(name) })
			}
			for _, name := range names {
				if !seen[name] {
					last.Fail("%s on one of the pages; this is the last one", name)
				}
			}
		},
	},
	{
		ID: "list-snapshot", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list", "delete"},
		Rule:      "All pages of a list show the same state, whatever is created or deleted in the meantime.",
		Detail:    "Creates and deletes an object after the first page. All pages must have the same resourceVersion, unless the server returns 410 because it no longer has that state.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			names := makeSome(p, pagedObjects)
			first := firstPage(p, pageSize)
			later := slices.DeleteFunc(names, func(name string) bool { return first.item(name) != nil })
			if first.token() == "" || len(later) == 0 {
				runner.Leave(noPages)
			}
			deleted := later[len(later)-1]
			p.Prepare("delete the object", runner.Delete(p.Path(deleted), runner.DeleteNow()))
			created := p.Make()
			shown := false
			page := first
			for count := 1; page.token() != "" && count < mostPages; count++ {
				if page = snapshotPage(p, page); page == nil {
					return
				}
				if page.version() != first.version() {
					page.FailBecause(fmt.Sprintf("it is %q", page.version()), "a page with the metadata.resourceVersion of the first one, %s", first.version())
				}
				if page.item(created.GetName()) != nil {
					page.Fail("a page without %s, which was created after the first page was shown", created.GetName())
				}
				shown = shown || page.item(deleted) != nil
			}
			if !shown && page.token() == "" {
				page.Fail("%s on one of the pages, because it was deleted after the first page was shown; this is the last one", deleted)
			}
		},
	},
	{
		ID: "list-remaining", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A list has remainingItemCount only if there are more pages and no selector.",
		Detail:    "Lists with and without limit and selector. The server may omit the count, and it may be an estimate.",
		Reference: listMetaPage,
		Run: func(p *runner.Probe) {
			makeSome(p, 2)
			for _, query := range [][]string{nil, {"limit", "1"}} {
				selected := readOurs(p, query...)
				if count, ok := selected.metadata["remainingItemCount"]; ok && count != nil {
					selected.FailBecause(fmt.Sprintf("it is %v", count), "a list without metadata.remainingItemCount, because it has selected objects only")
				}
			}
			all := readList(p, p.Collection(), "limit", "1")
			count, ok := all.metadata["remainingItemCount"]
			if !ok || count == nil {
				return
			}
			if all.token() == "" {
				all.FailBecause(fmt.Sprintf("it is %v", count), "a list without metadata.remainingItemCount, because there is no metadata.continue")
			}
			if number, err := strconv.ParseFloat(jsonOf(count), 64); err != nil || number < 1 {
				all.FailBecause(fmt.Sprintf("it is %v", count), "a list whose metadata.remainingItemCount is a number of at least 1, because there is metadata.continue")
			}
		},
	},
	{
		ID: "list-continue-invalid", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A continue token that the server did not issue gets 400, 410, or 422, never a list.",
		Detail:    "Sends malformed tokens. Does not apply to servers without pages.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			makeSome(p, pageSize+1)
			first := firstPage(p, pageSize)
			if first.token() == "" {
				runner.Leave(noPages)
			}
			// The second one is {} in base64.
			for _, token := range []string{"conformance", "e30"} {
				p.Send(runner.Get(p.Collection(), ours(p, "limit", fmt.Sprint(pageSize), "continue", token)...)).WantStatus("", http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity)
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

const (
	pagedObjects = 5
	pageSize     = 2
	// mostPages is more than a server needs that has empty pages, too.
	mostPages = 20
)

// noPages is why checks of pages are left out.
const noPages = "the server shows everything at once, whatever limit says"

// firstPage asks for the first page of what the probe has made, with at most so many objects.
func firstPage(p *runner.Probe, limit int) *listed {
	return readOurs(p, "limit", fmt.Sprint(limit))
}

// pageAfter returns the next page. It is nil if the server has the state of the list no more.
func pageAfter(p *runner.Probe, page *listed, limit int) *listed {
	response := p.Send(runner.Get(p.Collection(), ours(p, "limit", fmt.Sprint(limit), "continue", page.token())...))
	switch {
	case response.Code == http.StatusGone:
		return nil
	case !response.OK():
		response.Fail("the next page, or 410 Gone")
	}
	return listOf(response)
}

// readPages returns the names on all pages, and the last page. No name is on two pages. There are some objects.
func readPages(p *runner.Probe, names []string) (seen map[string]bool, last *listed) {
	limit := max(pageSize, len(names)/pagedObjects)
	page := firstPage(p, limit)
	if page.token() == "" && len(page.items) == len(names) {
		runner.Leave(noPages)
	}
	seen = map[string]bool{}
	for count := 1; ; count++ {
		if len(page.items) > limit {
			page.FailBecause(fmt.Sprintf("it has %d", len(page.items)), "a page of at most %d items", limit)
		}
		for _, name := range page.names() {
			if seen[name] {
				page.Fail("a page without %s, which was on a page before", name)
			}
			seen[name] = true
		}
		if page.token() == "" {
			return seen, page
		}
		if count == mostPages {
			page.Fail("a page without metadata.continue: %d pages have shown %d objects", count, len(seen))
		}
		page = pageAfter(p, page, limit)
		if page == nil {
			runner.Leave("the continue token has expired")
		}
	}
}

// snapshotPage is pageAfter, but leaves out what another check finds wrong with pages.
func snapshotPage(p *runner.Probe, page *listed) (next *listed) {
	err := runner.Try(func() { next = pageAfter(p, page, pageSize) })
	if failure, ok := errors.AsType[*runner.Failure](err); ok {
		runner.Leave("there is no further page: %s", failure)
	}
	runner.StopOn(err)
	return next
}
