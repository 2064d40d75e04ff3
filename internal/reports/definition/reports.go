// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	_ "embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed reports.yaml
var reports []byte

// Reports returns the definitions of reports, which are built in, by group and then with the namespaced kind first.
func Reports() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var read struct {
		// Schemas and Columns are only there to be referred to within the document.
		Schemas     any                                            `json:"schemas"`
		Columns     any                                            `json:"columns"`
		Definitions []apiextensionsv1.CustomResourceDefinitionSpec `json:"definitions"`
	}
	if err := yaml.UnmarshalStrict(reports, &read); err != nil {
		return nil, fmt.Errorf("read the definitions of reports: %w", err)
	}
	all := make([]*apiextensionsv1.CustomResourceDefinition, len(read.Definitions))
	for i, spec := range read.Definitions {
		all[i] = &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: spec.Names.Plural + "." + spec.Group},
			Spec:       spec,
			Status:     apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: spec.Names},
		}
	}
	return all, nil
}
