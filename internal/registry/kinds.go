// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/document"
)

// Kind is one row of the table of served kinds. Rows are read-only.
type Kind struct {
	// GroupVersionKind is what clients see; it is also the stored version.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in URLs.
	Resource string
	// Singular, ShortNames and Categories are further names that kubectl accepts.
	Singular   string
	ShortNames []string
	Categories []string
	// Namespaced is false for kinds that live outside of namespaces.
	Namespaced bool
	// New and NewList return an empty object and an empty list.
	New     func() runtime.Object
	NewList func() runtime.Object
	// Columns are printed after the name.
	Columns []Column
	// SelectableFields can be used in field selectors, besides metadata.name and,
	// in namespaced kinds, metadata.namespace.
	SelectableFields []SelectableField
}

// GroupVersion returns the group and version in which k is served and stored.
func (k Kind) GroupVersion() schema.GroupVersion {
	return k.GroupVersionKind.GroupVersion()
}

// GroupResource returns the name under which objects of k are stored.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.Resource}
}

// GroupVersionResource returns the name of k in URLs.
func (k Kind) GroupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// ListKind returns the kind of a list of k.
func (k Kind) ListKind() schema.GroupVersionKind {
	return k.GroupVersion().WithKind(k.GroupVersionKind.Kind + "List")
}

// Decode returns a report that another server stored, in whatever version of its kind, and
// the fields that the kind doesn't have, which are left out. It is an error if the types in
// api/ can't hold the report; what else the published schema says is not checked.
func (k Kind) Decode(data []byte) (decoded report.Accessor, unknown []string, err error) {
	readable, ok := k.New().(interface {
		report.Accessor
		Read(data []byte) ([]string, error)
	})
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a report", k.New())
	}
	unknown, err = readable.Read(data)
	return readable, unknown, err
}

// Kinds returns the table of all served kinds, ordered by group and then with the
// namespaced kind first.
func Kinds() []Kind {
	return slices.Concat(openreportsKinds(), kyvernoKinds(), wgpolicyKinds())
}

// Groups returns the names of all groups in [Kinds], in order.
func Groups() []string { return slices.Clone(groups()) }

// Every request asks for them, and to make the table of kinds is not cheap.
//
//nolint:gochecknoglobals // Made once is the purpose of this variable.
var groups = sync.OnceValue(func() []string {
	var names []string
	for _, kind := range Kinds() {
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

func openreportsKinds() []Kind {
	return []Kind{{
		GroupVersionKind: openreports.SchemeGroupVersion.WithKind("Report"),
		Resource:         "reports",
		Singular:         "report",
		ShortNames:       []string{"reps"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[openreports.Report]() },
		NewList:          func() runtime.Object { return document.NewList[openreports.Report]() },
		Columns:          scopedColumns(wideOnly),
		SelectableFields: scopedFields(),
	}, {
		GroupVersionKind: openreports.SchemeGroupVersion.WithKind("ClusterReport"),
		Resource:         "clusterreports",
		Singular:         "clusterreport",
		ShortNames:       []string{"creps"},
		New:              func() runtime.Object { return document.New[openreports.ClusterReport]() },
		NewList:          func() runtime.Object { return document.NewList[openreports.ClusterReport]() },
		Columns:          scopedColumns(wideOnly),
		SelectableFields: scopedFields(),
	}}
}

func kyvernoKinds() []Kind {
	return []Kind{{
		GroupVersionKind: kyverno.SchemeGroupVersion.WithKind("EphemeralReport"),
		Resource:         "ephemeralreports",
		Singular:         "ephemeralreport",
		ShortNames:       []string{"ephr"},
		Categories:       []string{"kyverno"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[kyverno.EphemeralReport]() },
		NewList:          func() runtime.Object { return document.NewList[kyverno.EphemeralReport]() },
		Columns:          ephemeralColumns(wideOnly),
		SelectableFields: ephemeralFields(),
	}, {
		GroupVersionKind: kyverno.SchemeGroupVersion.WithKind("ClusterEphemeralReport"),
		Resource:         "clusterephemeralreports",
		Singular:         "clusterephemeralreport",
		ShortNames:       []string{"cephr"},
		Categories:       []string{"kyverno"},
		New:              func() runtime.Object { return document.New[kyverno.ClusterEphemeralReport]() },
		NewList:          func() runtime.Object { return document.NewList[kyverno.ClusterEphemeralReport]() },
		Columns:          ephemeralColumns(always),
		SelectableFields: ephemeralFields(),
	}}
}

func wgpolicyKinds() []Kind {
	return []Kind{{
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("PolicyReport"),
		Resource:         "policyreports",
		Singular:         "policyreport",
		ShortNames:       []string{"polr"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[wgpolicy.PolicyReport]() },
		NewList:          func() runtime.Object { return document.NewList[wgpolicy.PolicyReport]() },
		Columns:          scopedColumns(always),
		SelectableFields: scopedFields(),
	}, {
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("ClusterPolicyReport"),
		Resource:         "clusterpolicyreports",
		Singular:         "clusterpolicyreport",
		ShortNames:       []string{"cpolr"},
		New:              func() runtime.Object { return document.New[wgpolicy.ClusterPolicyReport]() },
		NewList:          func() runtime.Object { return document.NewList[wgpolicy.ClusterPolicyReport]() },
		Columns:          scopedColumns(always),
		SelectableFields: scopedFields(),
	}}
}
