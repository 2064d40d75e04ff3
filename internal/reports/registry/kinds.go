// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/docket-project/docket/internal/reports/definition"
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
	schemas "github.com/docket-project/docket/internal/reports/schema"
)

// object is what rules and fields read.
type object = *document.Object

type selectableField = kinds.SelectableField[object]

// Kind is a served version of a kind. It is read-only.
type Kind struct {
	kinds.Kind[object]

	definition *apiextensionsv1.CustomResourceDefinition
	document   *document.Kind
}

// version returns what the definition says of the served version.
func (k Kind) version() *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range k.definition.Spec.Versions {
		if v := &k.definition.Spec.Versions[i]; v.Name == k.GroupVersionKind.Version {
			return v
		}
	}
	return &apiextensionsv1.CustomResourceDefinitionVersion{} // Not reached: the kind was made from one.
}

// newer returns the newest served version that is not deprecated and newer than the kind's, empty if there is none.
func (k Kind) newer() string {
	found := ""
	for _, v := range k.definition.Spec.Versions {
		if v.Served && !v.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, cmp.Or(found, k.GroupVersionKind.Version)) > 0 {
			found = v.Name
		}
	}
	return found
}

// CRD returns the definition. Those of reports are as the policy engines publish them, without descriptions. The caller
// may change it.
func (k Kind) CRD() *apiextensionsv1.CustomResourceDefinition { return k.definition.DeepCopy() }

// Codec returns what encodes objects as they are stored.
func (k Kind) Codec() runtime.Codec { return document.NewCodec(k.document) }

// Object returns an object of the kind, which states its type: what the machinery of API servers takes for an internal
// version states none, and the library's scale subresource has objects of its own.
func (k Kind) Object(obj runtime.Object) (*document.Object, error) {
	switch o := obj.(type) {
	case *document.Object:
		return o.To(k.document)
	case runtime.Unstructured:
		read := document.New(k.document)
		return read, runtime.DefaultUnstructuredConverter.FromUnstructured(o.UnstructuredContent(), read)
	}
	return nil, fmt.Errorf("a %T is no %s", obj, k.GroupVersionKind.Kind)
}

// Report says whether the kind is one of [Kinds].
func (k Kind) Report() bool { return k.document.NewView != nil }

// Stored reports whether objects are stored in this version of the kind.
func (k Kind) Stored() bool { return k.document.StoredVersion == k.GroupVersionKind.Version }

// Decode returns an object that another server stored, in whatever version of its kind, and
// the fields that the kind doesn't have, which are left out. It is an error if the types in
// api/ can't hold a report; what else the schema says is not checked.
func (k Kind) Decode(data []byte) (decoded *document.Object, unknown []string, err error) {
	decoded = document.New(k.document)
	unknown, err = decoded.Read(data)
	return decoded, unknown, err
}

// FromDefinition returns the served versions of a definition that package definition has checked.
func FromDefinition(crd *apiextensionsv1.CustomResourceDefinition) ([]Kind, error) {
	all := map[string]*schemas.Schema{}
	var stored string
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		s, err := schemas.New(crd, version.Name)
		if err != nil {
			return nil, err
		}
		all[version.Name] = s
		if version.Storage {
			stored = version.Name
		}
	}
	var served []Kind
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if !version.Served {
			continue
		}
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		kind := newKind(crd, &document.Kind{
			GroupVersionKind: gv.WithKind(crd.Spec.Names.Kind), ListKind: gv.WithKind(crd.Spec.Names.ListKind),
			Schema: all[version.Name], Schemas: all, StoredVersion: stored,
			// Objects with a status are created without it: a default for a whole member shows when they are read.
			Proven: definition.Proven(crd) && all[version.Name].Stored([]byte("{}")),
		})
		for _, field := range version.SelectableFields {
			kind.SelectableFields = append(kind.SelectableFields, fieldOf(strings.TrimPrefix(field.JSONPath, ".")))
		}
		if version.Subresources != nil && version.Subresources.Status != nil {
			kind.Rules = withStatus(kind.Rules)
		}
		served = append(served, kind)
	}
	return served, nil
}

func newKind(crd *apiextensionsv1.CustomResourceDefinition, of *document.Kind) Kind {
	names := crd.Spec.Names
	return Kind{
		Kind: kinds.Kind[object]{
			GroupVersionKind: of.GroupVersionKind,
			List:             names.ListKind,
			Resource:         names.Plural,
			Singular:         names.Singular,
			ShortNames:       names.ShortNames,
			Categories:       names.Categories,
			Namespaced:       crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			New:              func() runtime.Object { return document.New(of) },
			NewList:          func() runtime.Object { return document.NewList(of) },
			Rules:            rules(),
		},
		definition: crd, document: of,
	}
}

// fieldOf returns the field of a body with a name such as spec.owner.
func fieldOf(name string) selectableField {
	path := strings.Split(name, ".")
	return selectableField{Name: name, Value: func(o object) string { return o.Text(path...) }}
}

// Kinds returns the table of the kinds of reports, ordered by group and then with the
// namespaced kind first.
func Kinds() []Kind { return slices.Clone(reportTable()) }

// Made once is the purpose of this variable: the rows are read-only, and not cheap to make.
var reportTable = sync.OnceValue(func() []Kind {
	rows, err := reportKinds()
	if err != nil {
		panic(err) // The definitions are part of the program.
	}
	return rows
})

// KindsOf returns the kinds of reports of some groups.
func KindsOf(groups []string) []Kind {
	return slices.DeleteFunc(Kinds(), func(kind Kind) bool { return !slices.Contains(groups, kind.GroupVersionKind.Group) })
}

// Groups returns the names of all groups in [Kinds], in order.
func Groups() []string { return slices.Clone(groups()) }

// Made once is the purpose of this variable: every request asks for them.
var groups = sync.OnceValue(func() []string {
	var names []string
	for _, kind := range reportTable() {
		names = append(names, kind.GroupVersionKind.Group)
	}
	return slices.Compact(names)
})

// KindOf returns the row of the given resource.
func KindOf(resource schema.GroupResource) (Kind, error) {
	for _, kind := range Kinds() {
		if kind.GroupResource() == resource {
			return kind, nil
		}
	}
	return Kind{}, fmt.Errorf("resource %s is not a kind of report: groups with reports are %s",
		resource, strings.Join(Groups(), ", "))
}
