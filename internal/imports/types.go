// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"
)

// Mode says what may happen to reports that the destination already holds.
type Mode string

// The modes of an import.
const (
	// Mirror: nobody but the import writes to the destination. The source is right.
	Mirror Mode = "mirror"
	// Tail: clients write to the destination. Only what they left untouched follows
	// the source.
	Tail Mode = "tail"
	// Fill: only reports that the destination lacks are written, and without an
	// annotation. What differs is kept.
	Fill Mode = "fill"
	// Replace is Mirror without an annotation: for a copy that clients never see
	// beside its source.
	Replace Mode = "replace"
)

// annotates says whether imported reports say so.
func (m Mode) annotates() bool { return m == Mirror || m == Tail }

// Item is a report to write or to delete.
type Item struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Version is the resource version at the source, by which a newer state is told
	// from an older one; 0 where the source has none.
	Version uint64 `json:"version,omitempty"`
	// Known says that the report had been imported before. In mode Tail a client
	// deleted it, if it is not there.
	Known bool `json:"known,omitempty"`
	// Absent says that the destination was seen without the report a moment ago, which
	// saves a look if it is still so.
	Absent bool `json:"absent,omitempty"`
	// Object to write, as JSON.
	Object json.RawMessage `json:"object,omitempty"`
	// Delete names the report to delete.
	Delete *Deletion `json:"delete,omitempty"`
}

// Deletion names a report that the source does not have any more.
type Deletion struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID of the report at the source; "" for any.
	UID string `json:"uid,omitempty"`
}

// Request is a batch of items.
type Request struct {
	Mode  Mode   `json:"mode"`
	Items []Item `json:"items"`
}

// Result says what became of an item.
type Result string

// The results of items.
const (
	Created Result = "created"
	Updated Result = "updated"
	Deleted Result = "deleted"
	// Same: the destination already had it so, or newer.
	Same Result = "same"
	// Kept: a client changed the report at the destination, which was left alone.
	Kept Result = "kept"
	// Gone: a client deleted the report at the destination, which was left so.
	Gone Result = "gone"
	// Failed: it can't be imported; Message says why.
	Failed Result = "failed"
	// Again: it was not done, and may work later.
	Again Result = "again"
)

// Outcome of an item.
type Outcome struct {
	Result  Result `json:"result"`
	Message string `json:"message,omitempty"`
	// Unknown are fields of the object that its kind doesn't have.
	Unknown []string `json:"unknown,omitempty"`
	// NewUID says that the object came without a UID and was given one.
	NewUID bool `json:"newUID,omitempty"`
}

// Response has an outcome for each item, in their order.
type Response struct {
	Outcomes []Outcome `json:"outcomes"`
}
