// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/object"
)

// Resource is one that is checked.
type Resource struct {
	// APIResource is what discovery says of it.
	metav1.APIResource

	GroupVersion schema.GroupVersion
	// Subresources are those that discovery has, by their names without the resource's: status.
	Subresources map[string]metav1.APIResource
	// Maker makes objects.
	Maker *object.Maker

	// readOnly is why nothing is written; empty if it is.
	readOnly string
	// tried tells that an object may have been made before that was known.
	tried bool
}

// GVK returns the kind of its objects.
func (r *Resource) GVK() schema.GroupVersionKind { return r.GroupVersion.WithKind(r.Kind) }

// Has reports whether discovery lists all these verbs.
func (r *Resource) Has(verbs ...string) bool {
	for _, verb := range verbs {
		if !slices.Contains(r.Verbs, verb) {
			return false
		}
	}
	return true
}

// ShownOnly reports whether clients create no objects of the resource: they are made of something else.
func (r *Resource) ShownOnly() bool { return r.Has("get", "list") && !r.Has("create") }

// HasSubresource reports whether there is a subresource with all these verbs.
func (r *Resource) HasSubresource(name string, verbs ...string) bool {
	sub, ok := r.Subresources[name]
	for _, verb := range verbs {
		ok = ok && slices.Contains(sub.Verbs, verb)
	}
	return ok
}

// GroupVersionPath is the path below which a group version is served.
func GroupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// CollectionPath is the path of all objects, or of those of a namespace.
func (r *Resource) CollectionPath(namespace string) string {
	path := GroupVersionPath(r.GroupVersion)
	if r.Namespaced && namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + r.Name
}

// ObjectPath is the path of an object, or of a subresource of it.
func (r *Resource) ObjectPath(namespace, name string, subresource ...string) string {
	return strings.Join(append([]string{r.CollectionPath(namespace), url.PathEscape(name)}, subresource...), "/")
}
