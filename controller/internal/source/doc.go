// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source keeps a store like the objects of one resource: a reflector that never gives up,
// and that says what it is waiting for.
//
// Goroutines: those of client-go's reflector, owned by [Source.Start] and ended by [Source.Stop].
package source
