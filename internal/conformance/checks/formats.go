// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaFormats = "Tables and metadata"

	aboutTables   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables"
	aboutMetadata = "https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"
	// aboutBoth has what the other pages leave out: includeObject, and how it is in watches.
	aboutBoth = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2334-graduate-server-side-get-and-partial-objects-to-GA"
)

func formats() []conformance.Check { return slices.Concat(tableFormats(), metadataFormats()) }

func tableFormats() []conformance.Check {
	return []conformance.Check{
		{
			ID: "table-list", Area: areaFormats,
			Rule:        "A list as a Table has a row for each object, with a cell for each column and the metadata of the object.",
			Detail:      "There has to be a column Name of the type string and the format name, which has the names. Servers without tables refuse them with 406.",
			Reference:   aboutTables,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: tableList,
		},
		{
			ID: "table-object", Area: areaFormats,
			Rule:        "An object as a Table has one row.",
			Detail:      "Gets an object as a Table. The row has to have a cell for each column and the metadata of the object. Servers without tables refuse them with 406.",
			Reference:   aboutTables,
			PerResource: true, Verbs: []string{"create", "get"},
			Run: tableObject,
		},
		{
			ID: "table-include-object", Area: areaFormats,
			Rule:        "The rows of a Table have no object with includeObject=None, and the whole one with includeObject=Object.",
			Detail:      "Lists as a Table in both ways. Servers without tables refuse them with 406.",
			Reference:   aboutBoth,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: tableIncludeObject,
		},
		{
			ID: "table-watch", Area: areaFormats,
			Rule:        "The events of a watch as Tables have a Table with one row each, the first one with columns.",
			Detail:      "Makes an object, deletes it and makes another one. Later Tables may leave the columns out. Servers without tables refuse them with 406.",
			Reference:   aboutBoth,
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"},
			Run: steadily(tableWatch),
		},
		{
			ID: "table-fallback", Area: areaFormats,
			Rule:        "A client that accepts a Table or else plain JSON gets what the server has of it.",
			Detail:      "Lists with an Accept header like that of kubectl, and with one whose version of Table nobody has.",
			Reference:   aboutTables,
			PerResource: true, Verbs: []string{"list"},
			Run: tableFallback,
		},
	}
}

func metadataFormats() []conformance.Check {
	return []conformance.Check{
		{
			ID: "metadata-object", Area: areaFormats,
			Rule:        "An object as PartialObjectMetadata has all of its metadata and nothing else.",
			Detail:      "Gets an object in both ways. Of the annotations, only one that the object was made with is looked at. Servers that can't do so refuse it with 406.",
			Reference:   aboutMetadata,
			PerResource: true, Verbs: []string{"create", "get"},
			Run: metadataObject,
		},
		{
			ID: "metadata-list", Area: areaFormats,
			Rule:        "A list as PartialObjectMetadataList has the metadata of the objects and nothing else.",
			Detail:      "Lists two objects. Servers that can't do so refuse it with 406.",
			Reference:   aboutMetadata,
			PerResource: true, Verbs: []string{"create", "get", "list"},
			Run: metadataList,
		},
		{
			ID: "metadata-watch", Area: areaFormats,
			Rule:        "The events of a watch as PartialObjectMetadata have the metadata of the objects and nothing else.",
			Detail:      "Makes an object, changes it twice, deletes it and makes another one. Servers that can't do so refuse it with 406.",
			Reference:   aboutMetadata,
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
			Run: steadily(metadataWatch),
		},
	}
}
