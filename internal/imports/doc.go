// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imports writes reports as they were elsewhere: with their UID, times,
// owners and managed fields, which no ordinary create would keep. It decides, for
// each report, whether what is already there may be replaced: see Mode.
//
// Report lists what came from where in an annotation of the report itself, so that
// an import can be repeated at any time. An imported report is untouched as long as
// its content still has the fingerprint that the annotation names. In mode Tail,
// clients already write to the destination, and only untouched reports are changed.
//
// Importer.Import is the entry point; it runs as many goroutines as the items of a
// call need, and waits for them.
package imports
