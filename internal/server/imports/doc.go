// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imports writes objects as they were elsewhere: with their UID, times, owners and
// managed fields, which an ordinary create would not keep. It decides for each object whether
// what is already there may be replaced: see Mode.
//
// An annotation of each imported object says where it came from, so that an import can be
// repeated at any time. An imported object is untouched as long as its content still has the
// fingerprint in the annotation. In mode Tail clients already write to the destination, and
// only untouched objects are changed.
//
// Importer.Import is the entry point. It starts goroutines for the items of a call, and waits
// for them.
package imports
