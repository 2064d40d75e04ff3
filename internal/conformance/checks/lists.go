// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaLists = "Listing"

	listMetaPage       = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-meta/"
	labelSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering"
	fieldSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#supported-fields"
	chunksAnchor       = "#retrieving-large-results-sets-in-chunks"
	listVersionsAnchor = "#semantics-for-get-and-list"
)

func lists() []conformance.Check {
	return slices.Concat(listsAtOnce(), listsInPages(), listsOfSelected(), listsOfVersions())
}

func listsAtOnce() []conformance.Check {
	return []conformance.Check{
		{
			ID: "list-kind", Area: areaLists,
			Rule:        "A list has a kind that ends with List, the apiVersion of the group version, and an array as items, also if it is empty.",
			Detail:      "Lists nothing, then one object.",
			Reference:   apiConventions + "#types-kinds",
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listKind,
		},
		{
			ID: "list-resource-version", Area: areaLists,
			Rule:        "A list has a metadata.resourceVersion, which is not 0 and not older than its items.",
			Detail:      "Lists objects of one namespace and of all. Which is older is compared only if the resourceVersions are numbers.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listResourceVersion,
		},
		{
			ID: "list-complete", Area: areaLists,
			Rule:        "What was created is in the very next list, with all its content.",
			Detail:      "Lists right after creating, and compares all but metadata and status with what GET answers.",
			Reference:   apiConcepts + listVersionsAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listComplete,
		},
		{
			ID: "list-items", Area: areaLists,
			Rule:        "The items of a list have the same metadata as GET shows.",
			Detail:      "Compares name, namespace, uid, resourceVersion, generation, labels, annotations and the like.",
			Reference:   apiConventions + "#metadata",
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listItems,
		},
		{
			ID: "list-all-namespaces", Area: areaLists,
			Rule:        "A list without a namespace has the objects of all namespaces, one of a namespace only those of that namespace.",
			Detail:      "Makes objects in two namespaces, and lists everywhere and in both.",
			Reference:   apiConcepts + "#resource-uris",
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listAllNamespaces,
		},
	}
}

func listsInPages() []conformance.Check {
	return []conformance.Check{
		{
			ID: "list-pages", Area: areaLists,
			Rule:        "Pages of a list have at most as many items as limit says, together each object once, and the last one has no continue.",
			Detail:      "Lists five objects with limit=2. The server may ignore limits, if it shows everything then.",
			Reference:   apiConcepts + chunksAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listPages,
		},
		{
			ID: "list-snapshot", Area: areaLists,
			Rule:        "All pages of a list show one state: what is created or deleted meanwhile makes no difference.",
			Detail:      "Creates and deletes an object after the first page. All pages have the same resourceVersion, unless the server says 410 because it has the state no more.",
			Reference:   apiConcepts + chunksAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list", "delete"},
			Run: listSnapshot,
		},
		{
			ID: "list-remaining", Area: areaLists,
			Rule:        "A list has remainingItemCount only if there are more pages, and not if objects are selected.",
			Detail:      "Lists with and without limit and selector. The server may leave the count out, and it may be an estimate.",
			Reference:   listMetaPage,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listRemaining,
		},
		{
			ID: "list-continue-invalid", Area: areaLists,
			Rule:        "A continue token that the server has not made is refused with 400, 410 or 422, never answered with a list.",
			Detail:      "Sends tokens that are no tokens. It does not apply to servers without pages.",
			Reference:   apiConcepts + chunksAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listContinueInvalid,
		},
	}
}

func listsOfSelected() []conformance.Check {
	return []conformance.Check{
		{
			ID: "list-label-selector", Area: areaLists,
			Rule:        "A labelSelector selects with =, ==, !=, in, notin, key and !key; != and notin also select objects without the label.",
			Detail:      "Makes three objects with different labels, and lists with each operator.",
			Reference:   labelSelectorPage,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listLabelSelector,
		},
		{
			ID: "list-field-selector", Area: areaLists,
			Rule:        "A fieldSelector selects by metadata.name and metadata.namespace.",
			Detail:      "Lists with = and != by both; resources without namespaces only by the name.",
			Reference:   fieldSelectorPage,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: listFieldSelector,
		},
		{
			ID: "list-field-selector-unknown", Area: areaLists,
			Rule:        "A fieldSelector about a field by which the server can't select is refused with 400 or 422, never ignored.",
			Detail:      "Selects by a field that does not exist.",
			Reference:   fieldSelectorPage,
			PerResource: true, Verbs: []string{"list"},
			Run: listFieldSelectorUnknown,
		},
		{
			ID: "list-selector-malformed", Area: areaLists,
			Rule:        "A selector that can't be parsed is refused with 400 or 422.",
			Detail:      "Sends several labelSelectors, and a fieldSelector, that are none.",
			Reference:   labelSelectorPage,
			PerResource: true, Verbs: []string{"list"},
			Run: listSelectorMalformed,
		},
	}
}

func listsOfVersions() []conformance.Check {
	return []conformance.Check{
		{
			ID: "list-version-any", Area: areaLists,
			Rule:        "A list with resourceVersion=0 is answered with a list, of any age.",
			Detail:      "Lists with and without resourceVersionMatch=NotOlderThan.",
			Reference:   apiConcepts + listVersionsAnchor,
			PerResource: true, Verbs: []string{"list"},
			Run: listVersionAny,
		},
		{
			ID: "list-version-exact", Area: areaLists,
			Rule:        "A list with resourceVersionMatch=Exact shows the state of that resourceVersion, or is answered with 410.",
			Detail:      "Lists, changes an object and makes another one, and lists again with the resourceVersion of the first list.",
			Reference:   apiConcepts + listVersionsAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list", "update"},
			Run: listVersionExact,
		},
		{
			ID: "list-version-not-older", Area: areaLists,
			Rule:        "A list with resourceVersionMatch=NotOlderThan shows what was written at that resourceVersion.",
			Detail:      "Changes an object, and lists with its new resourceVersion.",
			Reference:   apiConcepts + listVersionsAnchor,
			PerResource: true, Verbs: []string{"create", "get", "list", "update"},
			Run: listVersionNotOlder,
		},
		{
			ID: "list-version-future", Area: areaLists,
			Rule:        "A list with a resourceVersion that there is not yet is answered with an error, never with an older list.",
			Detail:      "Adds a large number to the resourceVersion of a list. The server may wait first.",
			Reference:   apiConcepts + "#unavailable-resource-versions",
			PerResource: true, Verbs: []string{"list"}, Slow: true,
			Run: listVersionFuture,
		},
		{
			ID: "list-version-malformed", Area: areaLists,
			Rule:        "A list with a resourceVersion that is none is refused with 400 or 422.",
			Detail:      "Sends resourceVersion=abc, if the resourceVersions of the server are numbers.",
			Reference:   apiConcepts + "#resource-versions",
			PerResource: true, Verbs: []string{"list"},
			Run: listVersionMalformed,
		},
		{
			ID: "list-match-without-version", Area: areaLists,
			Rule:        "A list with resourceVersionMatch but without resourceVersion is refused with 400 or 422.",
			Detail:      "Sends both matches there are, and with a resourceVersion one that there is not.",
			Reference:   apiConcepts + listVersionsAnchor,
			PerResource: true, Verbs: []string{"list"},
			Run: listMatchWithoutVersion,
		},
	}
}
