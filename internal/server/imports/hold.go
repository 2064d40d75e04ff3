// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import "encoding/json"

// Hold is what a server does with requests for the objects of a group while a migration moves
// them.
type Hold string

// The holds.
const (
	// NoHold serves requests.
	NoHold Hold = ""
	// HoldWait makes requests wait until the hold ends, and answers those that wait too long
	// with 503 and Retry-After.
	HoldWait Hold = "wait"
	// HoldMoved answers that the objects have moved: 429 with Retry-After, so that clients
	// retry and reach them at their new place. Watches end with 410 in the stream.
	HoldMoved Hold = "moved"
)

// Valid reports whether h is a known hold.
func (h Hold) Valid() bool { return h == NoHold || h == HoldWait || h == HoldMoved }

// HoldHeader is the header of requests that ask to pass a hold. Callers who may post to Path
// may use it.
const HoldHeader = "Docket-Migration"

// HoldRequest sets the hold of groups.
type HoldRequest struct {
	Groups []string `json:"groups"`
	Hold   Hold     `json:"hold"`
}

// FloorRequest asks for revisions above the ones that clients have from another store.
type FloorRequest struct {
	// Above is the highest revision that clients may have from the other store.
	Above int64 `json:"above"`
	// Force raises the floor even if it is high enough, which ends all watches.
	Force bool `json:"force,omitempty"`
}

// FloorResponse is the response to a FloorRequest.
type FloorResponse struct {
	// Floor is the revision below which all watches end with 410.
	Floor int64 `json:"floor"`
	// Revision is the revision of the last change.
	Revision int64 `json:"revision"`
	// Raised reports whether the floor was raised.
	Raised bool `json:"raised"`
}

// DefinitionsRequest asks by which definitions a server judges the objects of groups.
type DefinitionsRequest struct {
	Groups []string `json:"groups"`
}

// DefinitionsResponse has a CustomResourceDefinition for each served kind.
type DefinitionsResponse struct {
	Definitions []json.RawMessage `json:"definitions"`
}

// Paths of the requests.
const (
	Path            = "/import"
	HoldPath        = "/import/hold"
	FloorPath       = "/import/floor"
	DefinitionsPath = "/import/definitions"
)
