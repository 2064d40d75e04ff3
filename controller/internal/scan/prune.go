// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
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

// unknown returns what could not be listed.
func (i *inventory) unknown(catalog *served.Catalog, snapshot *policies.Snapshot) *unknown {
	rest := &unknown{policyKinds: map[string]bool{}, subjectKinds: map[schema.GroupKind]bool{}, groups: map[string]bool{}, known: map[schema.GroupKind]bool{}}
	for version := range catalog.Failed() {
		rest.groups[version.Group] = true
	}
	for kind := range snapshot.Missing {
		if policy.Kinds()[kind] != "" || policy.KyvernoKinds()[kind] != "" {
			rest.policyKinds[kind.Kind] = true
		}
	}
	for _, k := range i.all() {
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
