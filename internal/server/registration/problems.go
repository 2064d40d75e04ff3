// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Reason names what is wrong with a group, in one word.
type Reason string

// Reasons, from bad to good to know.
const (
	// Outranked: another version of the group has the same resources and comes first.
	Outranked Reason = "Outranked"
	// MissingKind: a CRD, or another server, answers for our version and has resources that this server lacks.
	MissingKind Reason = "MissingKind"
	// Elsewhere: our version is served by something else, such as a CRD.
	Elsewhere Reason = "Elsewhere"
	// NotRegistered: the cluster does not serve our version.
	NotRegistered Reason = "NotRegistered"
	// Unavailable: the cluster gets no answer for our version.
	Unavailable Reason = "Unavailable"
	// Unknown: the cluster can't be asked.
	Unknown Reason = "Unknown"
	// NotServed: the cluster sends requests for a group to a server of reports that doesn't serve it.
	NotServed Reason = "NotServed"
	// OtherVersion: another version of the group has the same resources, but with other
	// objects in them, and comes later.
	OtherVersion Reason = "OtherVersion"
)

// reasons returns all reasons.
func reasons() []Reason {
	return []Reason{Outranked, MissingKind, Elsewhere, NotRegistered, Unavailable, Unknown, NotServed, OtherVersion}
}

// Problem is what keeps clients from the reports of this server.
type Problem struct {
	Reason Reason `json:"reason"`
	// Message says what is wrong, and what to do.
	Message string `json:"message"`
}

// look returns what is wrong with a group version now; never nil. The others that this server serves are no rivals.
func (a *asker) look(ctx context.Context, served Served, all []Served) []Problem {
	versions, err := a.versions(ctx, served.Group)
	versions = slices.DeleteFunc(versions, func(name string) bool {
		return name != served.Version && slices.ContainsFunc(all, func(own Served) bool {
			return own.GroupVersion == schema.GroupVersion{Group: served.Group, Version: name}
		})
	})
	if err != nil && !errors.Is(err, errAbsent) {
		return []Problem{{Unknown, err.Error()}}
	}
	place := slices.Index(versions, served.Version)
	if place < 0 {
		return []Problem{{NotRegistered, fmt.Sprintf(
			"the cluster does not serve %s: create APIService %s (docket bootstrap)", served.GroupVersion, apiService(served.GroupVersion))}}
	}
	problems := []Problem{}
	theirs, ours, err := a.resources(ctx, served.GroupVersion)
	switch {
	case err != nil:
		problems = append(problems, Problem{Unavailable, fmt.Sprintf(
			"the cluster gets no answer for %s: look at the conditions of APIService %s: %v", served.GroupVersion, apiService(served.GroupVersion), err)})
	case !ours:
		if missing := missing(served, theirs); missing != "" {
			problems = append(problems, Problem{MissingKind, fmt.Sprintf(
				"the cluster has %s in %s, which this server does not have: clients lose them once APIService %s leads here. "+
					"Give the server their definitions first (--custom-resources)", missing, served.GroupVersion, apiService(served.GroupVersion))})
		}
		problems = append(problems, Problem{Elsewhere, fmt.Sprintf(
			"%s is answered by somebody else, such as a CRD: apply APIService %s again (docket bootstrap)", served.GroupVersion, apiService(served.GroupVersion))})
	}
	if rivals := a.rivals(ctx, served, versions[:place]); rivals != "" {
		problems = append(problems, Problem{Outranked, fmt.Sprintf(
			"%s come before %s, so that kubectl, quotas, the garbage collector and the deletion of namespaces look there: "+
				"spec.versionPriority of APIService %s must be higher than theirs (docket bootstrap)",
			rivals, served.GroupVersion, apiService(served.GroupVersion))})
	}
	if rivals := a.rivals(ctx, served, versions[place+1:]); rivals != "" {
		problems = append(problems, Problem{OtherVersion, fmt.Sprintf(
			"%s are other objects than those of %s: Docket does not have them, only clients that name their version see them, and they stay when their namespace is deleted",
			rivals, served.GroupVersion)})
	}
	return problems
}

// missing names the resources of others in our version that we don't have; "" if there are none.
func missing(served Served, theirs sets.Set[string]) string {
	var found []string
	for _, name := range sets.List(theirs.Difference(sets.New(served.Resources...))) {
		if !strings.Contains(name, "/") { // Subresources go with their resource.
			found = append(found, name)
		}
	}
	return strings.Join(found, ", ")
}

// lookForUnserved returns what is wrong with a group version that is not served; never nil. It is nobody's
// affair here as long as it isn't registered, or somebody else answers.
func (a *asker) lookForUnserved(ctx context.Context, other Unserved) []Problem {
	versions, err := a.versions(ctx, other.Group)
	switch {
	case err != nil && !errors.Is(err, errAbsent):
		return []Problem{{Unknown, err.Error()}}
	case !slices.Contains(versions, other.Version):
		return []Problem{}
	}
	if _, ours, err := a.resources(ctx, other.GroupVersion); err == nil && !ours {
		return []Problem{}
	}
	return []Problem{{NotServed, fmt.Sprintf(
		"the cluster has APIService %s, but this server does not serve %s: %s. Delete the APIService: while it is not answered, "+
			"the cluster deletes no namespace, and clients complain about discovery", apiService(other.GroupVersion), other.GroupVersion, other.Why)}}
}

// rivals names those of our resources that other versions have as well; "" if there are none.
// A version whose server doesn't answer is assumed to have them.
func (a *asker) rivals(ctx context.Context, served Served, versions []string) string {
	var found []string
	for _, name := range versions {
		version := schema.GroupVersion{Group: served.Group, Version: name}
		theirs, _, err := a.resources(ctx, version)
		same := sets.New(served.Resources...)
		if err == nil {
			same = same.Intersection(theirs)
		}
		for _, resource := range sets.List(same) {
			found = append(found, resource+" of "+version.String())
		}
	}
	return strings.Join(found, ", ")
}

// apiService is the name of the APIService of a version.
func apiService(version schema.GroupVersion) string { return version.Version + "." + version.Group }
