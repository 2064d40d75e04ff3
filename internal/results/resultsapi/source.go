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
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// source is where results are read.
type source struct {
	questions engine.Questions
	// cluster is the name that the database has for the cluster.
	cluster string
	// namespaced and global are the served kinds of reports in namespaces and outside them.
	namespaced, global []engine.ReportKind
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
	if in.namespaced {
		kinds = append(kinds, s.namespaced...)
	}
	if in.global {
		kinds = append(kinds, s.global...)
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

// projected returns the kinds of reports that have result rows, of some groups.
func projected(groups []string) (namespaced, global []engine.ReportKind) {
	for _, kind := range registry.Kinds() {
		if !results.HasRows(kind.GroupVersionKind.Kind) || !slices.Contains(groups, kind.GroupVersionKind.Group) {
			continue
		}
		stored := engine.ReportKind{Kind: kind.GroupVersionKind.Kind, Resource: store.StoredAs(kind.GroupResource())}
		if kind.Namespaced {
			namespaced = append(namespaced, stored)
		} else {
			global = append(global, stored)
		}
	}
	return namespaced, global
}

// ReportKinds returns the kinds of reports that have result rows, of some groups, in the order of their names.
func ReportKinds(groups []string) []engine.ReportKind {
	var s source
	s.namespaced, s.global = projected(groups)
	return scope{namespaced: true, global: true}.kinds(&s)
}

// bounded returns a context that ends when a question has taken long enough.
func (s *source) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}
