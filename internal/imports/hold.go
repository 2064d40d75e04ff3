// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

// Hold says what a server does with requests for the reports of a group while they
// are being moved.
type Hold string

// The kinds of holds.
const (
	// NoHold serves requests.
	NoHold Hold = ""
	// HoldWait lets requests wait until the hold ends, and answers those that wait
	// for too long with 503 and Retry-After.
	HoldWait Hold = "wait"
	// HoldMoved answers that the reports are elsewhere now: 429 with Retry-After, so
	// that clients try again and reach the place where they are. Watches end with 410
	// in the stream.
	HoldMoved Hold = "moved"
)

// Valid says whether h is one of the kinds.
func (h Hold) Valid() bool { return h == NoHold || h == HoldWait || h == HoldMoved }

// HoldHeader is the header of requests that ask to be let through a hold. Those are who
// may post to Path.
const HoldHeader = "Docket-Migration"

// HoldRequest sets the hold of groups.
type HoldRequest struct {
	Groups []string `json:"groups"`
	Hold   Hold     `json:"hold"`
}

// FloorRequest asks for revisions above those of another store.
type FloorRequest struct {
	// Above is the highest revision that clients may hold from the other store.
	Above int64 `json:"above"`
	// Force raises the floor although it is high enough, which ends all watches.
	Force bool `json:"force,omitempty"`
}

// FloorResponse is the state after that.
type FloorResponse struct {
	// Floor is the revision below which all watches end with 410.
	Floor int64 `json:"floor"`
	// Revision of the last change.
	Revision int64 `json:"revision"`
	// Raised says that the floor had to be moved.
	Raised bool `json:"raised"`
}

// Paths of the requests.
const (
	Path      = "/import"
	HoldPath  = "/import/hold"
	FloorPath = "/import/floor"
)
