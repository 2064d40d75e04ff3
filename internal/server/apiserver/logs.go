// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"log/slog"
	"slices"

	"k8s.io/klog/v2"
)

// databaseLogger passes on what engines say in the background. Their warnings
// become klog errors, since klog has no structured warnings.
func databaseLogger() *slog.Logger { return slog.New(klogHandler{}) }

// klogHandler writes records of log/slog with klog.
type klogHandler struct{ context []any }

// Enabled implements slog.Handler.
func (klogHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h klogHandler) Handle(_ context.Context, record slog.Record) error {
	values := slices.Clone(h.context)
	record.Attrs(func(a slog.Attr) bool {
		values = append(values, a.Key, a.Value.Any())
		return true
	})
	if record.Level >= slog.LevelWarn {
		klog.ErrorS(nil, record.Message, values...)
	} else {
		klog.InfoS(record.Message, values...)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h klogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	values := slices.Clone(h.context)
	for _, a := range attrs {
		values = append(values, a.Key, a.Value.Any())
	}
	return klogHandler{values}
}

// WithGroup implements slog.Handler. Engines don't use groups.
func (h klogHandler) WithGroup(string) slog.Handler { return h }
