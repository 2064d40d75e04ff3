// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// unknown is what could not be listed. Stored results about it have to stay.
type unknown struct {
	policyKinds  map[string]bool
	subjectKinds map[schema.GroupKind]bool
	// groups are API groups that did not say which kinds they have; the kinds of known are known
	// nevertheless.
	groups map[string]bool
	known  map[schema.GroupKind]bool
}

// pruneUnseen removes stored results about policies and resources that no longer exist. It does so once
// everything that can be listed is evaluated, and again whenever more could be listed.
func (s *Scanner) pruneUnseen(ctx context.Context, catalog *served.Catalog, snapshot *policies.Snapshot, fired int64) {
	for _, k := range s.allKinds() {
		switch {
		case k.source == nil && !k.unused():
			s.waitFor("the list of namespaces")
			return
		case k.source != nil && !k.source.Decided():
			s.waitFor("the list of %s", k.resource.GroupResource())
			return
		}
	}
	s.undecided = false
	if s.planning.Fired() != fired || !s.queue.idle() || !s.slowLaneIdle() {
		s.waitFor("the evaluation of all resources")
		return // The planner is woken when the queue is idle.
	}
	rest := s.unknown(catalog, snapshot)
	summary := rest.String()
	if s.firstScanDone && (s.notListed == "" || s.notListed == summary) {
		return
	}
	kinds := map[schema.GroupVersionKind]*kind{}
	for _, k := range s.allKinds() {
		kinds[k.resource.GVK()] = k
	}
	s.logScanDone(ctx, summary)
	s.config.Results.PruneUnseen(func(id policy.Identity, subject policy.Reference, rule string) bool {
		return rest.has(id, subject) || s.admits(kinds, id, subject, rule)
	})
	s.firstScanDone, s.notListed = true, summary
	s.ready.Store(nil)
}

// waitFor sets what Ready says is missing, until the first scan is complete.
func (s *Scanner) waitFor(format string, args ...any) {
	if !s.firstScanDone {
		err := fmt.Errorf("the first scan waits for "+format, args...)
		s.ready.Store(&err)
	}
}

func (s *Scanner) unknown(catalog *served.Catalog, snapshot *policies.Snapshot) *unknown {
	rest := &unknown{policyKinds: map[string]bool{}, subjectKinds: map[schema.GroupKind]bool{}, groups: map[string]bool{}, known: map[schema.GroupKind]bool{}}
	for version := range catalog.Failed() {
		rest.groups[version.Group] = true
	}
	for kind := range snapshot.Missing {
		if policy.Kinds()[kind] != "" || policy.KyvernoKinds()[kind] != "" {
			rest.policyKinds[kind.Kind] = true
		}
	}
	for _, k := range s.allKinds() {
		if k.source == nil {
			continue
		}
		kind := k.resource.GVK().GroupKind()
		if listed, _ := k.source.State(); listed {
			rest.known[kind] = true
		} else {
			rest.subjectKinds[kind] = true
		}
	}
	return rest
}

// has reports whether results of a policy for a subject can't be told to be obsolete.
func (u *unknown) has(id policy.Identity, subject policy.Reference) bool {
	kind := schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind).GroupKind()
	return u.policyKinds[id.Kind] || u.subjectKinds[kind] || (u.groups[kind.Group] && !u.known[kind])
}

// String lists what is unknown, sorted; it is empty if nothing is.
func (u *unknown) String() string {
	kinds := make([]string, 0, len(u.subjectKinds))
	for kind := range u.subjectKinds {
		kinds = append(kinds, kind.String())
	}
	slices.Sort(kinds)
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"policies", slices.Sorted(maps.Keys(u.policyKinds))}, {"kinds", kinds}, {"API groups", slices.Sorted(maps.Keys(u.groups))}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+" "+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
