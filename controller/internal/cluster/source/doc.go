// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source keeps a [Store] in sync with the objects of one resource: a [Source] is a reflector that never
// gives up and says what it waits for. A [Mirror] is a store that keeps a value for each object.
//
// Goroutines: those of client-go's reflector, owned by [Source.Start] and ended by [Source.Stop].
package source
