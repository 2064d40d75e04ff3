// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/reports/definition"
)

// views are the Go types by which reports are read.
var views = map[string]func() report.Accessor{
	"Report":                 func() report.Accessor { return &openreports.Report{} },
	"ClusterReport":          func() report.Accessor { return &openreports.ClusterReport{} },
	"EphemeralReport":        func() report.Accessor { return &kyverno.EphemeralReport{} },
	"ClusterEphemeralReport": func() report.Accessor { return &kyverno.ClusterEphemeralReport{} },
	"PolicyReport":           func() report.Accessor { return &wgpolicy.PolicyReport{} },
	"ClusterPolicyReport":    func() report.Accessor { return &wgpolicy.ClusterPolicyReport{} },
}

// reportKinds returns the kinds of reports. Besides what their definitions say, they can be selected by what they are
// about and by their source.
func reportKinds() ([]Kind, error) {
	definitions, err := definition.Reports()
	if err != nil {
		return nil, err
	}
	var rows []Kind
	for _, crd := range definitions {
		of, err := FromDefinition(crd)
		if err != nil {
			return nil, err
		}
		for _, row := range of {
			row.document.Proven, row.document.NewView = true, views[crd.Spec.Names.Kind]
			if crd.Spec.Group == kyverno.SchemeGroupVersion.Group {
				row.SelectableFields = fieldsOf("spec.owner.uid", "spec.owner.kind", "spec.owner.name")
			} else {
				row.SelectableFields = append(fieldsOf("scope.uid", "scope.kind", "scope.name", "scope.namespace"),
					selectableField{Name: "source", Value: object.Source})
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func fieldsOf(names ...string) []selectableField {
	var fields []selectableField
	for _, name := range names {
		fields = append(fields, fieldOf(name))
	}
	return fields
}
