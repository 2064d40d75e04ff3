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
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// Kind is one row of the table of served kinds, and what only reports have. Rows are
// read-only.
type Kind struct{ kinds.Kind[object] }

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
func Kinds() []Kind { return slices.Clone(table()) }

// Made once is the purpose of this variable: the rows are read-only, and not cheap to make.
var table = sync.OnceValue(func() []Kind {
	var rows []Kind
	for _, row := range slices.Concat(openreportsKinds(), kyvernoKinds(), wgpolicyKinds()) {
		rows = append(rows, Kind{row})
	}
	return rows
})

// Groups returns the names of all groups in [Kinds], in order.
func Groups() []string { return slices.Clone(groups()) }

// Made once is the purpose of this variable: every request asks for them.
var groups = sync.OnceValue(func() []string {
	var names []string
	for _, kind := range table() {
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

type row = kinds.Kind[object]

func openreportsKinds() []row {
	return []row{{
		GroupVersionKind: openreports.SchemeGroupVersion.WithKind("Report"),
		Resource:         "reports",
		Singular:         "report",
		ShortNames:       []string{"reps"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[openreports.Report]() },
		NewList:          func() runtime.Object { return document.NewList[openreports.Report]() },
		Columns:          scopedColumns(kinds.WideOnly),
		SelectableFields: scopedFields(),
		Rules:            rules(),
	}, {
		GroupVersionKind: openreports.SchemeGroupVersion.WithKind("ClusterReport"),
		Resource:         "clusterreports",
		Singular:         "clusterreport",
		ShortNames:       []string{"creps"},
		New:              func() runtime.Object { return document.New[openreports.ClusterReport]() },
		NewList:          func() runtime.Object { return document.NewList[openreports.ClusterReport]() },
		Columns:          scopedColumns(kinds.WideOnly),
		SelectableFields: scopedFields(),
		Rules:            rules(),
	}}
}

func kyvernoKinds() []row {
	return []row{{
		GroupVersionKind: kyverno.SchemeGroupVersion.WithKind("EphemeralReport"),
		Resource:         "ephemeralreports",
		Singular:         "ephemeralreport",
		ShortNames:       []string{"ephr"},
		Categories:       []string{"kyverno"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[kyverno.EphemeralReport]() },
		NewList:          func() runtime.Object { return document.NewList[kyverno.EphemeralReport]() },
		Columns:          ephemeralColumns(kinds.WideOnly),
		SelectableFields: ephemeralFields(),
		Rules:            rules(),
	}, {
		GroupVersionKind: kyverno.SchemeGroupVersion.WithKind("ClusterEphemeralReport"),
		Resource:         "clusterephemeralreports",
		Singular:         "clusterephemeralreport",
		ShortNames:       []string{"cephr"},
		Categories:       []string{"kyverno"},
		New:              func() runtime.Object { return document.New[kyverno.ClusterEphemeralReport]() },
		NewList:          func() runtime.Object { return document.NewList[kyverno.ClusterEphemeralReport]() },
		Columns:          ephemeralColumns(kinds.Always),
		SelectableFields: ephemeralFields(),
		Rules:            rules(),
	}}
}

func wgpolicyKinds() []row {
	return []row{{
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("PolicyReport"),
		Resource:         "policyreports",
		Singular:         "policyreport",
		ShortNames:       []string{"polr"},
		Namespaced:       true,
		New:              func() runtime.Object { return document.New[wgpolicy.PolicyReport]() },
		NewList:          func() runtime.Object { return document.NewList[wgpolicy.PolicyReport]() },
		Columns:          scopedColumns(kinds.Always),
		SelectableFields: scopedFields(),
		Rules:            rules(),
	}, {
		GroupVersionKind: wgpolicy.SchemeGroupVersion.WithKind("ClusterPolicyReport"),
		Resource:         "clusterpolicyreports",
		Singular:         "clusterpolicyreport",
		ShortNames:       []string{"cpolr"},
		New:              func() runtime.Object { return document.New[wgpolicy.ClusterPolicyReport]() },
		NewList:          func() runtime.Object { return document.NewList[wgpolicy.ClusterPolicyReport]() },
		Columns:          scopedColumns(kinds.Always),
		SelectableFields: scopedFields(),
		Rules:            rules(),
	}}
}
