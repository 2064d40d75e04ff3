// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachedobjects "github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Item is a resource and the policies to evaluate for it.
type Item struct {
	Subject  policy.Subject
	Policies []policy.Policy
	// Place is where the resource is defined; empty if it comes from a cluster.
	Place manifest.Place
	// Others are further definitions of the same resource, such as those of other folders, without policies.
	Others []Item
}

// Source has the resources of a scan.
type Source interface {
	// Each calls visit for each resource that policies may match, from one goroutine, until
	// visit returns an error or ctx ends.
	Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error
}

// Files is the source for objects that were read from files.
type Files struct {
	// Unreadable are the objects that are wrong. All others are evaluated.
	Unreadable []*manifest.UnreadableError

	items      []Item
	objects    int
	namespaces map[string]bool
	// partial is set if the files have more than what was read.
	partial bool
}

// FilesOptions say what files don't.
type FilesOptions struct {
	// Namespace is given to namespaced objects without one; empty for default.
	Namespace string
	// NamespaceLabels are the labels of namespaces that are not among the objects, by name.
	NamespaceLabels map[string]map[string]string
	// Partial says that the files have resources that could not be read.
	Partial bool
	// Cluster has the namespaces that are not among the objects; nil for none.
	Cluster namespaces
	// Kinds are those that are known; nil for what can be known from the objects.
	Kinds *served.Catalog
}

// defaultNamespace is where kubectl creates objects without a namespace.
const defaultNamespace = "default"

// NewFiles returns a source of objects as a cluster would have them: in a namespace, if their kind is
// namespaced, with the labels of the Namespace among the objects. It changes the objects, and owns them from
// then on.
func NewFiles(objects []manifest.Object, options FilesOptions) *Files {
	if options.Namespace == "" {
		options.Namespace = defaultNamespace
	}
	if options.Kinds == nil {
		options.Kinds = cachedobjects.KindsOf(plain(objects), &served.Catalog{})
	}
	files := &Files{namespaces: map[string]bool{}, partial: options.Partial}
	resources := resourcesOf(objects, options.Kinds)
	spaces := namespaces{}
	maps.Copy(spaces, options.Cluster)
	for name, given := range options.NamespaceLabels {
		spaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: policy.NamespaceLabels(name, given)}}
	}
	var good []manifest.Object
	for _, object := range objects {
		r := resources[object.GroupVersionKind()]
		switch {
		case r.Namespaced && object.GetNamespace() == "":
			object.SetNamespace(options.Namespace)
		case r.Group == "" && r.Resource == "namespaces":
			if err := spaces.add(object.Unstructured); err != nil {
				files.refuse(object, err)
				continue
			}
		}
		good = append(good, object)
	}
	first := make(map[policy.Reference]int, len(good))
	for _, object := range good {
		policy.Strip(object.Unstructured)
		subject, err := policy.NewSubject(object.Unstructured, resources[object.GroupVersionKind()].GroupVersionResource, spaces, true)
		if err != nil {
			files.refuse(object, err)
			continue
		}
		files.add(first, Item{Subject: subject, Place: object.Place})
	}
	return files
}

// refuse leaves an object out.
func (f *Files) refuse(object manifest.Object, cause error) {
	f.Unreadable = append(f.Unreadable, &manifest.UnreadableError{Origin: object.Origin, Place: object.Place, Cause: cause})
	f.partial = true
}

// add takes an item, to the first one of the same resource if there is one.
func (f *Files) add(first map[policy.Reference]int, item Item) {
	f.objects++
	f.namespaces[item.Subject.Object.GetNamespace()] = true
	reference := policy.ReferenceTo(item.Subject.Object)
	if i, ok := first[reference]; ok {
		f.items[i].Others = append(f.items[i].Others, item)
		return
	}
	first[reference] = len(f.items)
	f.items = append(f.items, item)
}

// resourcesOf returns the resources of the kinds of objects.
func resourcesOf(objects []manifest.Object, kinds *served.Catalog) map[schema.GroupVersionKind]served.Resource {
	found := map[schema.GroupVersionKind]served.Resource{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if _, ok := found[kind]; !ok {
			found[kind], _ = kinds.Find(func(r *served.Resource) bool { return r.GVK() == kind })
		}
	}
	return found
}

// Covers reports whether the files describe the namespace of a subject, or what is in no namespace. They do if
// they have any object there, and nothing that can't be read, which may be anywhere.
func (f *Files) Covers(subject policy.Reference) bool {
	return !f.partial && f.namespaces[subject.Namespace]
}

// Complete is false: other files may have other resources.
func (f *Files) Complete() bool { return false }

// Len returns the number of objects.
func (f *Files) Len() int { return f.objects }

// Each implements [Source]: every policy is evaluated for every object.
func (f *Files) Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error {
	for _, item := range f.items {
		if err := ctx.Err(); err != nil {
			return err
		}
		item.Policies = policies
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}
