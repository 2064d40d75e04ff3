// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaWatches = "Watching"

	apiConcepts = "https://kubernetes.io/docs/reference/using-api/api-concepts/"
)

func watches() []conformance.Check {
	return slices.Concat(watchesOfChanges(), watchesOfSome(), watchesFromStart(), watchStreams())
}

func watchesOfChanges() []conformance.Check {
	return []conformance.Check{
		{
			ID: "watch-events", Area: areaWatches,
			Rule:        "A watch from the resourceVersion of a list delivers the changes after it, in their order, with the objects as they are then.",
			Detail:      "Makes an object, changes a label of it twice, deletes it, and expects ADDED, MODIFIED, MODIFIED and DELETED. What DELETED has is another check's.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
			Run: steadily(watchEvents),
		},
		{
			ID: "watch-versions", Area: areaWatches,
			Rule:        "The objects of ADDED and MODIFIED events have the resourceVersion that a GET after the change shows.",
			Detail:      "Looks for the resourceVersions of three states of an object among its events. Where they are numbers, they must not fall.",
			Reference:   apiConcepts + "#resource-versions",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
			Run: steadily(watchVersions),
		},
		{
			ID: "watch-deleted-state", Area: areaWatches,
			Rule:        "A DELETED event has the last state of the object, with a resourceVersion later than that of the state.",
			Detail:      "Changes a label of an object and deletes it. The event has to have all labels, annotations and contents that the object had.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
			Run: steadily(watchDeletedState),
		},
		{
			ID: "watch-resume", Area: areaWatches,
			Rule:        "A watch from the resourceVersion of an event delivers what came after it: nothing twice, and no change is missing.",
			Detail:      "While there is no watch, changes an object, deletes a second one and makes a third; then goes on from an event that was seen before.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update", "delete"},
			Run: steadily(watchResume),
		},
	}
}

func watchesOfSome() []conformance.Check {
	return []conformance.Check{
		{
			ID: "watch-label-selector", Area: areaWatches,
			Rule:        "For a watch with a labelSelector, an object that stops to match is DELETED, one that starts to match is ADDED, and others do not appear.",
			Detail:      "Changes the label of an object that matches and of one that doesn't. Looks at the types of the events, not at their objects.",
			Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "update"},
			Run: steadily(watchLabelSelector),
		},
		{
			ID: "watch-field-selector", Area: areaWatches,
			Rule:        "A watch with the fieldSelector metadata.name=… shows the object of that name only.",
			Detail:      "Makes and deletes an object that is not selected, then makes the one that is.",
			Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"},
			Run: steadily(watchFieldSelector),
		},
		{
			ID: "watch-namespace", Area: areaWatches,
			Rule:        "A watch in a namespace shows nothing of another one.",
			Detail:      "Makes an object in another namespace, then one in that which is watched, and expects just the second one.",
			Reference:   apiConcepts + "#standard-api-terminology",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
			Run: steadily(watchNamespace),
		},
	}
}

func watchesFromStart() []conformance.Check {
	return []conformance.Check{
		{
			ID: "watch-from-any", Area: areaWatches,
			Rule:        "A watch without a resourceVersion, or with 0, begins with an ADDED event for each object that exists.",
			Detail:      "Makes an object and starts both watches.",
			Reference:   apiConcepts + "#semantics-for-watch",
			PerResource: true, Verbs: []string{"create", "get", "watch"},
			Run: steadily(watchFromAny),
		},
		{
			ID: "watch-initial-events", Area: areaWatches,
			Rule:        "A watch with sendInitialEvents=true has ADDED for each object that exists, then a BOOKMARK that marks their end; servers that can't do so refuse it.",
			Detail:      "Watches with sendInitialEvents=true, resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true. The BOOKMARK has to have the annotation k8s.io/initial-events-end=true; later changes have to follow. A server that refuses with 4xx or an ERROR event is left alone.",
			Reference:   apiConcepts + "#streaming-lists",
			PerResource: true, Verbs: []string{"create", "get", "watch"},
			Run: steadily(watchInitialEvents),
		},
		{
			ID: "watch-too-old", Area: areaWatches,
			Rule:        "A watch from a resourceVersion that is too old fails with 410 Gone; it never begins later without saying so.",
			Detail:      "Watches from the resourceVersion 1. A server that still has all changes since then may deliver them. 410 may be the answer or the Status in an ERROR event.",
			Reference:   apiConcepts + "#410-gone-responses",
			PerResource: true, Verbs: []string{"create", "get", "watch", "delete"},
			Run: watchTooOld,
		},
		{
			ID: "watch-version-malformed", Area: areaWatches,
			Rule:        "A watch from something that is no resourceVersion is refused.",
			Detail:      "Watches from the resourceVersion abc and expects an error, whatever its code. Servers whose resourceVersions are no numbers are left alone.",
			Reference:   apiConcepts + "#semantics-for-watch",
			PerResource: true, Verbs: []string{"create", "get", "watch"},
			Run: watchVersionMalformed,
		},
	}
}

func watchStreams() []conformance.Check {
	return []conformance.Check{
		{
			ID: "watch-bookmarks", Area: areaWatches,
			Rule:        "BOOKMARK events come only if allowWatchBookmarks is true, and their objects have nothing but a resourceVersion.",
			Detail:      "Looks at a watch with and one without allowWatchBookmarks for some seconds. Whether and when bookmarks come is the server's choice. Their objects may have annotations, and fields that are empty.",
			Reference:   apiConcepts + "#watch-bookmarks",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch"}, Slow: true,
			Run: watchBookmarks,
		},
		{
			ID: "watch-timeout", Area: areaWatches,
			Rule:        "A watch with timeoutSeconds ends by itself after that time, without an error.",
			Detail:      "Waits for the end of a watch with timeoutSeconds=2, which may take up to 12 seconds but not less than 1.5.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"list", "watch"}, Slow: true,
			Run: watchTimeout,
		},
		{
			ID: "watch-stream", Area: areaWatches,
			Rule:        "A watch is a stream of JSON objects of the media type application/json, each of which is sent at once.",
			Detail:      "Makes two objects and expects the event of the first one before it makes the second. Events have to have a type that is known and an object.",
			Reference:   apiConcepts + "#efficient-detection-of-changes",
			PerResource: true, Verbs: []string{"create", "get", "list", "watch"},
			Run: steadily(watchStream),
		},
	}
}
