// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Kind is what a CustomResourceDefinition serves in a version.
type Kind struct {
	Group, Version, Kind, Resource string
	Namespaced                     bool
	Schema                         *Schema
	// Status and Scale are the subresources; Scale is nil if there is none.
	Status bool
	Scale  *apiextensionsv1.CustomResourceSubresourceScale
	// Selectable are the paths of fields that lists can be selected by, such as .spec.color.
	Selectable []string
	// Others are the kind in its other served versions.
	Others []Kind
}

// APIVersion is group and version.
func (k Kind) APIVersion() string { return k.Group + "/" + k.Version }

// collection is the path of the objects of a namespace, or of all if it is empty or the kind has none.
func (k Kind) collection(namespace string) string {
	path := "/apis/" + k.APIVersion() + "/"
	if k.Namespaced && namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	return path + k.Resource
}

// ReadDefinitions returns the CustomResourceDefinitions in files or in the files of folders, which are searched
// whole, whose groups are wanted. No groups are all.
func ReadDefinitions(groups []string, folders ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path) //nolint:gosec // In the folder of a module, which nobody changes.
			if err != nil {
				return err
			}
			found, err := definitionsIn(string(data))
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			for _, definition := range found {
				if len(groups) == 0 || slices.Contains(groups, definition.Spec.Group) {
					all = append(all, definition)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the CustomResourceDefinitions of %s: %w", folder, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no CustomResourceDefinition of %v in %v", groups, folders)
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func definitionsIn(text string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, document := range strings.Split("\n"+text, "\n---") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(document), definition); err != nil {
			return nil, err
		}
		if definition.Kind == "CustomResourceDefinition" {
			found = append(found, definition)
		}
	}
	return found, nil
}

// KindsOf returns what a definition serves: one kind for each version.
func KindsOf(definition *apiextensionsv1.CustomResourceDefinition) ([]Kind, error) {
	var kinds []Kind
	for _, version := range definition.Spec.Versions {
		if !version.Served || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		kind := Kind{
			Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind, Resource: definition.Spec.Names.Plural,
			Namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped, Schema: NewSchema(version.Schema.OpenAPIV3Schema),
		}
		if version.Subresources != nil {
			kind.Status, kind.Scale = version.Subresources.Status != nil, version.Subresources.Scale
		}
		for _, field := range version.SelectableFields {
			kind.Selectable = append(kind.Selectable, field.JSONPath)
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%s serves no version with a schema", definition.Name)
	}
	all := slices.Clone(kinds)
	for i := range kinds {
		kinds[i].Others = slices.Concat(all[:i], all[i+1:])
	}
	return kinds, nil
}

// sortedKeys returns the keys of a map in order, since that of a map is another each time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
