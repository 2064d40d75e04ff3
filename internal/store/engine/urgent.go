// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

type urgentKey struct{}

// Urgent returns a context for the one reader of an engine that all others depend on: the calls with it don't wait behind
// theirs. Two such calls at a time have to be enough.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

// IsUrgent reports whether a context is from Urgent.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
