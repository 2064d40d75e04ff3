// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"
)

// Mode says what may happen to objects that the destination already has.
type Mode string

// The modes of an import.
const (
	// Mirror: only the import writes to the destination, which becomes equal to the source.
	Mirror Mode = "mirror"
	// Tail: clients write to the destination. Only objects that they left untouched follow
	// the source.
	Tail Mode = "tail"
	// Fill: only objects that the destination lacks are written, without an annotation.
	// Objects that differ are kept.
	Fill Mode = "fill"
	// Replace is Mirror without an annotation: for a copy that clients never see beside its
	// source.
	Replace Mode = "replace"
)

// annotates reports whether imported objects get an Annotation.
func (m Mode) annotates() bool { return m == Mirror || m == Tail }

// Item is an object to write or to delete.
type Item struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Version is the resource version at the source, which orders its states; 0 if the source
	// has none.
	Version uint64 `json:"version,omitempty"`
	// Known reports whether the object was imported before. If it is missing in mode Tail, a
	// client deleted it.
	Known bool `json:"known,omitempty"`
	// Absent reports whether the destination lacked the object a moment ago, which saves a
	// read if it still does.
	Absent bool `json:"absent,omitempty"`
	// Object to write, as JSON.
	Object json.RawMessage `json:"object,omitempty"`
	// Delete names the object to delete.
	Delete *Deletion `json:"delete,omitempty"`
}

// Deletion names an object that the source no longer has.
type Deletion struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID of the object at the source; "" for any.
	UID string `json:"uid,omitempty"`
}

// Request is a batch of items.
type Request struct {
	Mode  Mode   `json:"mode"`
	Items []Item `json:"items"`
}

// Result is what happened to an item.
type Result string

// The results of items.
const (
	Created Result = "created"
	Updated Result = "updated"
	Deleted Result = "deleted"
	// Same: the destination already had this state, or a newer one.
	Same Result = "same"
	// Kept: a client changed the object at the destination, and it was left alone.
	Kept Result = "kept"
	// Gone: a client deleted the object at the destination, and it was not recreated.
	Gone Result = "gone"
	// Failed: the item can't be imported; Message says why.
	Failed Result = "failed"
	// Again: the item was not imported, and may succeed later.
	Again Result = "again"
)

// Outcome of an item.
type Outcome struct {
	Result  Result `json:"result"`
	Message string `json:"message,omitempty"`
	// Unknown lists fields of the object that its kind doesn't have.
	Unknown []string `json:"unknown,omitempty"`
	// NewUID reports whether the object came without a UID and was given one.
	NewUID bool `json:"newUID,omitempty"`
}

// Response has an outcome for each item, in the order of the items.
type Response struct {
	Outcomes []Outcome `json:"outcomes"`
}
