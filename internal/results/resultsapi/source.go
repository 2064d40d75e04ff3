// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// source is where results are read.
type source struct {
	questions engine.Questions
	// cluster is the name that the database has for the cluster.
	cluster string
	// served returns the kinds of objects whose results are served now.
	served func() []mapping.Kind
	// timeout bounds a question.
	timeout time.Duration
}

// scope is which reports are meant.
type scope struct {
	// namespaced includes reports in namespaces, global reports outside them.
	namespaced, global bool
	// namespace is the only one; "" for all.
	namespace string
}

// kinds returns the kinds of reports in a scope, in the order of their names.
func (in scope) kinds(s *source) []engine.ReportKind {
	var kinds []engine.ReportKind
	for _, kind := range s.served() {
		if kind.Namespaced && in.namespaced || !kind.Namespaced && in.global {
			kinds = append(kinds, engine.ReportKind{Kind: kind.Kind, Resource: store.StoredAs(kind.GroupResource())})
		}
	}
	slices.SortFunc(kinds, func(a, b engine.ReportKind) int { return strings.Compare(a.Kind, b.Kind) })
	return kinds
}

// only returns the one namespace, nil for all.
func (in scope) only() *string {
	switch {
	case in.namespace != "":
		return &in.namespace
	case !in.namespaced:
		return new(string)
	}
	return nil
}

// Kinds returns the kinds of reports that have result rows, of some groups, and others that have them by a mapping.
func Kinds(groups []string, mapped ...mapping.Kind) []mapping.Kind {
	kinds := slices.Clone(mapped)
	for _, kind := range registry.Kinds() {
		if of := kind.GroupVersionKind; results.HasRows(of.Kind) && slices.Contains(groups, of.Group) {
			kinds = append(kinds, mapping.Kind{Group: of.Group, Version: of.Version, Kind: of.Kind, Resource: kind.Resource, Namespaced: kind.Namespaced})
		}
	}
	return kinds
}

// ReportKinds returns some kinds as engines know them, in the order of their names.
func ReportKinds(kinds []mapping.Kind) []engine.ReportKind {
	return scope{namespaced: true, global: true}.kinds(&source{served: func() []mapping.Kind { return kinds }})
}

// bounded returns a context that ends when a question has taken long enough.
func (s *source) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}
