// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"strconv"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// world is what a test of semantics works with.
type world struct {
	*testServer
	// url of the database, for a second replica.
	url string
	// namespace that no other test uses.
	namespace string
	// shared tells that other replicas may open the database.
	shared bool
}

// TestSemantics has one test for each line of what the API promises, on every
// engine. They share a server and have a namespace each. Lines 14 and 18 are
// TestSemantics14Outage and TestSemantics18BadInput.
func TestSemantics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"01 write on replica A, watch on replica B", writeHereWatchThere},
		{"02 a watch shows its own namespace only", watchOneNamespace},
		{"03 selector watches: leaving is DELETED, entering is ADDED", watchSelector},
		{"04 resume delivers missed deletes without replay", watchResume},
		{"05 resource versions rise over restarts and replicas", versionsRise},
		{"06 stale PUT is 409", stalePut},
		{"07 POST twice is 409 AlreadyExists", postTwice},
		{"08 PUT of a missing object is 404, of another 200", putCodes},
		{"09 server-side apply", serverSideApply},
		{"10 field selectors", fieldSelectors},
		{"11 paging is consistent, and expires with 410", paging},
		{"12a sendInitialEvents and bookmarks", initialEvents},
		{"12b Table and PartialObjectMetadata", otherForms},
		{"13 a stalled watcher does not slow writers", stalledWatcher},
		{"15a finalizers and preconditions", finalizers},
		{"15b deletecollection and the verbs that controllers need", deleteCollection},
		{"16 metadata is kept", metadataRules},
		{"17 patch types", patchTypes},
		{"19 a label selector finds one among many", labelSelector},
		{"20 OpenAPI v2 and v3", openAPI},
	}
	for engineName, newURL := range databases() {
		t.Run(engineName, func(t *testing.T) {
			if engineName == "etcd" {
				testkit.Full(t)
			}
			t.Parallel()
			url := newURL(t)
			server := startServer(t, url)
			// A group, so that the server lives until the parallel tests have ended.
			t.Run("lines", func(t *testing.T) {
				for i, test := range tests {
					t.Run(test.name, func(t *testing.T) {
						t.Parallel()
						test.run(t, world{
							testServer: server, url: url, namespace: "line-" + strconv.Itoa(i), shared: engineName != "sqlite",
						})
					})
				}
			})
		})
	}
}
