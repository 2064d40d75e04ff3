// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// Selection is what to take of a resource. It is comparable.
type Selection struct {
	Resource served.Resource
	// Namespace is empty for all.
	Namespace string
	Selectors
	// Name limits it to one object, which then is all there is to see.
	Name string
	// Bare tells that objects of Kubernetes' own kinds come without kind and version, as they do in lists of the API.
	Bare bool
}

// Selectors leave out objects. Empty ones leave out none.
type Selectors struct {
	Labels, Fields string
	// Filter is a JMESPath expression that is true for what is taken. The store applies it, not the source.
	Filter string
}

// String names a selection in errors.
func (s Selection) String() string {
	text := s.Resource.GroupResource().String()
	if s.Name != "" {
		text += " " + s.Name
	}
	if s.Namespace != "" {
		text += " in namespace " + s.Namespace
	}
	return text + s.Selectors.String()
}

// String names selectors in errors.
func (s Selectors) String() string {
	text, word := "", " with "
	for _, part := range [][2]string{{"labels", s.Labels}, {"fields", s.Fields}, {"filter", s.Filter}} {
		if part[1] != "" {
			text += word + part[0] + " " + part[1]
			word = " and "
		}
	}
	return text
}

// ParsePath returns the list or the object that a path of the API names, such as
// /apis/apps/v1/namespaces/shop/deployments?labelSelector=app=x; nil if it names something else, such as /version.
// [Selection.In] tells what kind it is of.
func ParsePath(path string) (*Selection, error) {
	parsed, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	s := &Selection{}
	parts := strings.Split(strings.Trim(parsed.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		s.Resource.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		s.Resource.Group, s.Resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		s.Namespace, parts = parts[1], parts[2:]
	}
	s.Resource.Resource = parts[0]
	if len(parts) == 2 {
		s.Name = parts[1]
	}
	plain, err := s.readQuery(parsed.RawQuery)
	if err != nil || !plain || len(parts) > 2 {
		return nil, err
	}
	return s, nil
}

// readQuery returns false if a query has more than the selectors of a list.
func (s *Selection) readQuery(text string) (plain bool, err error) {
	query, err := url.ParseQuery(text)
	if err != nil {
		return false, fmt.Errorf("the query %q can't be read: %w", text, err)
	}
	s.Labels, s.Fields = query.Get("labelSelector"), query.Get("fieldSelector")
	if _, err := labels.Parse(s.Labels); err != nil {
		return false, fmt.Errorf("labelSelector %q can't be read: %w", s.Labels, err)
	}
	if _, err := fields.ParseSelector(s.Fields); err != nil {
		return false, fmt.Errorf("fieldSelector %q can't be read: %w", s.Fields, err)
	}
	delete(query, "labelSelector")
	delete(query, "fieldSelector")
	return len(query) == 0 && (s.Name == "" || text == ""), nil
}

// Path returns the path of the API that [ParsePath] reads as the selection, its query apart.
func (s Selection) Path() string {
	path := "/apis/" + s.Resource.GroupVersion().String()
	if s.Resource.Group == "" {
		path = "/api/" + s.Resource.Version
	}
	if s.Namespace != "" {
		path += "/namespaces/" + s.Namespace
	}
	path += "/" + s.Resource.Resource
	if s.Name != "" {
		path += "/" + s.Name
	}
	return path
}

// In returns the selection that a path has named, with all that is known of its resource, and whether it can be
// listed and watched.
func (s Selection) In(all *served.Catalog) (found Selection, watchable bool) {
	r, known := all.Find(func(r *served.Resource) bool { return r.GroupVersionResource == s.Resource.GroupVersionResource })
	if !known {
		return s, false
	}
	s.Resource = r
	// A path without a namespace to an object in one is the API's to refuse.
	return s, r.Watchable && (s.Namespace == "" || r.Namespaced) && (s.Name == "" || r.Namespaced == (s.Namespace != ""))
}

// The fields that all objects have.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// matcher tells which objects of the resource have what the selectors of the selection want. Beside their names,
// objects may be selected by further fields, which are given with the values of objects that lack them.
func (s Selection) matcher(selectable map[string]string) (func(*unstructured.Unstructured) bool, error) {
	byLabels, err := labels.Parse(s.Labels)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	byFields, err := fields.ParseSelector(s.Fields)
	if err != nil {
		return nil, fmt.Errorf("fieldSelector: %w", err)
	}
	for _, requirement := range byFields.Requirements() {
		if _, known := selectable[requirement.Field]; !known && requirement.Field != fieldName && requirement.Field != fieldNamespace {
			return nil, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return func(o *unstructured.Unstructured) bool {
		return (byLabels.Empty() || byLabels.Matches(labelsOf(o))) && (byFields.Empty() || byFields.Matches(&fieldsOf{o, selectable}))
	}, nil
}

// objectLabels are the labels of an object, which are not copied.
type objectLabels map[string]any

func labelsOf(o *unstructured.Unstructured) objectLabels {
	metadata, _ := o.Object["metadata"].(map[string]any)
	found, _ := metadata["labels"].(map[string]any)
	return found
}

// Has implements [labels.Labels].
func (l objectLabels) Has(label string) bool { _, found := l[label]; return found }

// Get implements [labels.Labels].
func (l objectLabels) Get(label string) string { value, _ := l.Lookup(label); return value }

// Lookup implements [labels.Labels].
func (l objectLabels) Lookup(label string) (string, bool) {
	value, found := l[label].(string)
	return value, found
}

// fieldsOf has the fields of an object for selectors.
type fieldsOf struct {
	object   *unstructured.Unstructured
	defaults map[string]string
}

// Has implements [fields.Fields].
func (f *fieldsOf) Has(string) bool { return true }

// Get implements [fields.Fields].
func (f *fieldsOf) Get(field string) string {
	value, found, err := unstructured.NestedFieldNoCopy(f.object.Object, strings.Split(field, ".")...)
	if err != nil || !found {
		return f.defaults[field]
	}
	return fmt.Sprint(value)
}
