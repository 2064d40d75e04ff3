// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	_ "embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/reports/document"
	schemas "github.com/docket-project/docket/internal/reports/schema"
)

//go:embed reports.yaml
var reports []byte

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
	var read struct {
		// Columns are only there to be referred to within the document.
		Columns     any                                            `json:"columns"`
		Definitions []apiextensionsv1.CustomResourceDefinitionSpec `json:"definitions"`
	}
	if err := yaml.UnmarshalStrict(reports, &read); err != nil {
		return nil, fmt.Errorf("read the definitions of reports: %w", err)
	}
	rows := make([]Kind, 0, len(read.Definitions))
	for i := range read.Definitions {
		row, err := reportKind(&read.Definitions[i])
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func reportKind(spec *apiextensionsv1.CustomResourceDefinitionSpec) (Kind, error) {
	version := &spec.Versions[0]
	gv := schema.GroupVersion{Group: spec.Group, Version: version.Name}
	judge, err := schemas.Of(gv.WithKind(spec.Names.Kind))
	if err != nil {
		return Kind{}, err
	}
	version.Served, version.Storage = true, true
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: judge.Published()}
	row := newKind(&apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Names.Plural + "." + spec.Group},
		Spec:       *spec,
		Status:     apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: spec.Names},
	}, &document.Kind{
		GroupVersionKind: gv.WithKind(spec.Names.Kind), ListKind: gv.WithKind(spec.Names.ListKind), Schema: judge,
		StoredVersion: version.Name, Proven: true, NewView: views[spec.Names.Kind],
	})
	if spec.Group == kyverno.SchemeGroupVersion.Group {
		row.SelectableFields = fieldsOf("spec.owner.uid", "spec.owner.kind", "spec.owner.name")
	} else {
		row.SelectableFields = append(fieldsOf("scope.uid", "scope.kind", "scope.name", "scope.namespace"),
			selectableField{Name: "source", Value: object.Source})
	}
	return row, nil
}

func fieldsOf(names ...string) []selectableField {
	var fields []selectableField
	for _, name := range names {
		fields = append(fields, fieldOf(name))
	}
	return fields
}
