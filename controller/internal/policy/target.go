// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is a set of resources. In each field "*" stands for any text and "?" for any character;
// an empty Group is the core group, an empty Kind or Resource is any.
type Target struct {
	Group, Version string
	// Policies name either kinds (Pod) or resources (pods).
	Kind, Resource string
	// Subresource is empty for the object itself.
	Subresource string
}

// Matches reports whether the target matches the resource itself, not a subresource.
func (t Target) Matches(kind schema.GroupVersionKind, resource string) bool {
	return t.Subresource == "" && t.MatchesResource(kind, resource)
}

// MatchesResource reports whether the target matches the resource or any subresource of it.
func (t Target) MatchesResource(kind schema.GroupVersionKind, resource string) bool {
	return matches(t.Group, kind.Group) && matches(t.Version, kind.Version) &&
		(t.Kind == "" || matches(t.Kind, kind.Kind)) && (t.Resource == "" || matches(t.Resource, resource))
}

// MatchesSubresource reports whether the target matches a subresource, or, if that is empty, the resource itself.
func (t Target) MatchesSubresource(subresource string) bool {
	return matches(t.Subresource, subresource)
}

// matches reports whether a text matches a pattern. An invalid pattern matches nothing: names of kinds and groups
// have no brackets or backslashes.
func matches(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// ResourceOf returns the resource of a kind, and guesses it from the word if there is no mapper that knows it.
func ResourceOf(mapper meta.RESTMapper, kind schema.GroupVersionKind) schema.GroupVersionResource {
	if mapper != nil {
		if mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			return mapping.Resource
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural
}
