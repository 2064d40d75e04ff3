// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Item is a resource and the policies to evaluate for it.
type Item struct {
	Subject  policy.Subject
	Policies []policy.Policy
	// Place is where the resource is defined; empty if it comes from a cluster.
	Place manifest.Place
}

// Source has the resources of a scan.
type Source interface {
	// Each calls visit for each resource that policies may match, from one goroutine, until
	// visit returns an error or ctx ends.
	Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error
}

// Files is the source for objects that were read from files.
type Files struct {
	subjects   []policy.Subject
	places     []manifest.Place
	namespaces map[string]bool
}

// FilesOptions say what files don't.
type FilesOptions struct {
	// Namespace is given to namespaced objects without one; empty for default.
	Namespace string
	// NamespaceLabels are the labels of namespaces that are not among the objects, by name.
	NamespaceLabels map[string]map[string]string
	// AllowDuplicates allows two objects of the same kind and name.
	AllowDuplicates bool
}

// defaultNamespace is where kubectl creates objects without a namespace.
const defaultNamespace = "default"

// NewFiles returns a source of objects as a cluster would have them: in a namespace, if their kind is
// namespaced, with the labels of the Namespace among the objects. It changes the objects, and owns them from
// then on. The error names all objects that are wrong.
func NewFiles(objects []manifest.Object, options FilesOptions) (*Files, error) {
	if options.Namespace == "" {
		options.Namespace = defaultNamespace
	}
	known := newKinds(objects)
	spaces := make(namespaces, len(options.NamespaceLabels))
	for name, given := range options.NamespaceLabels {
		spaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: policy.NamespaceLabels(name, given)}}
	}
	var errs []error
	for _, object := range objects {
		gvr, namespaced := known.of(object.GroupVersionKind())
		switch {
		case namespaced && object.GetNamespace() == "":
			object.SetNamespace(options.Namespace)
		case gvr.Group == "" && gvr.Resource == "namespaces":
			if err := spaces.add(object.Unstructured); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", object.Origin, err))
			}
		}
	}
	if !options.AllowDuplicates {
		errs = append(errs, unique(objects))
	}
	files := &Files{subjects: make([]policy.Subject, len(objects)), places: make([]manifest.Place, len(objects)), namespaces: map[string]bool{}}
	for i, object := range objects {
		gvr, _ := known.of(object.GroupVersionKind())
		files.namespaces[object.GetNamespace()] = true
		files.places[i] = object.Place
		policy.Strip(object.Unstructured)
		var err error
		if files.subjects[i], err = policy.NewSubject(object.Unstructured, gvr, spaces, true); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", object.Origin, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return files, nil
}

// Covers reports whether the files describe the namespace of a subject, or what is in no namespace. They do if
// they have any object there.
func (f *Files) Covers(subject policy.Reference) bool {
	return f.namespaces[subject.Namespace]
}

// Complete is false: other files may have other resources.
func (f *Files) Complete() bool { return false }

// Len returns the number of resources.
func (f *Files) Len() int { return len(f.subjects) }

// Each implements [Source]: every policy is evaluated for every object.
func (f *Files) Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error {
	for i, subject := range f.subjects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(Item{Subject: subject, Policies: policies, Place: f.places[i]}); err != nil {
			return err
		}
	}
	return nil
}
