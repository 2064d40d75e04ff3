// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
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

	// body is the path of summary and results; nil if they are at the top.
	body *field.Path
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

// Kinds returns the table of all served kinds, ordered by group and then with the
// namespaced kind first.
func Kinds() []Kind {
	return slices.Concat(openreportsKinds(), kyvernoKinds(), wgpolicyKinds())
}

// Groups returns the names of all groups in [Kinds], in order.
func Groups() []string {
	var groups []string
	for _, kind := range Kinds() {
		groups = append(groups, kind.GroupVersionKind.Group)
	}
	return slices.Compact(groups)
}

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
		New:              func() runtime.Object { return &openreports.Report{} },
		NewList:          func() runtime.Object { return &openreports.ReportList{} },
		Columns:          scopedColumns(),
		SelectableFields: scopedFields(),
	}, {
		GroupVersionKind: openreports.SchemeGroupVersion.WithKind("ClusterReport"),
		Resource:         "clusterreports",
		Singular:         "clusterreport",
		ShortNames:       []string{"creps"},
		New:              func() runtime.Object { return &openreports.ClusterReport{} },
		NewList:          func() runtime.Object { return &openreports.ClusterReportList{} },
		Columns:          scopedColumns(),
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
		New:              func() runtime.Object { return &kyverno.EphemeralReport{} },
		NewList:          func() runtime.Object { return &kyverno.EphemeralReportList{} },
		Columns:          ephemeralColumns(wideOnly),
		SelectableFields: ephemeralFields(),
		body:             field.NewPath("spec"),
	}, {
		GroupVersionKind: kyverno.SchemeGroupVersion.WithKind("ClusterEphemeralReport"),
		Resource:         "clusterephemeralreports",
		Singular:         "clusterephemeralreport",
		ShortNames:       []string{"cephr"},
		Categories:       []string{"kyverno"},
		New:              func() runtime.Object { return &kyverno.ClusterEphemeralReport{} },
		NewList:          func() runtime.Object { return &kyverno.ClusterEphemeralReportList{} },
		Columns:          ephemeralColumns(always),
		SelectableFields: ephemeralFields(),
		body:             field.NewPath("spec"),
	}}
}

func wgpolicyKinds() []Kind {
	return []Kind{{
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("PolicyReport"),
		Resource:         "policyreports",
		Singular:         "policyreport",
		ShortNames:       []string{"polr"},
		Namespaced:       true,
		New:              func() runtime.Object { return &wgpolicy.PolicyReport{} },
		NewList:          func() runtime.Object { return &wgpolicy.PolicyReportList{} },
		Columns:          scopedColumns(),
		SelectableFields: scopedFields(),
	}, {
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("ClusterPolicyReport"),
		Resource:         "clusterpolicyreports",
		Singular:         "clusterpolicyreport",
		ShortNames:       []string{"cpolr"},
		New:              func() runtime.Object { return &wgpolicy.ClusterPolicyReport{} },
		NewList:          func() runtime.Object { return &wgpolicy.ClusterPolicyReportList{} },
		Columns:          scopedColumns(),
		SelectableFields: scopedFields(),
	}}
}
