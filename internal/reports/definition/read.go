// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/manifests"
)

// Bytes that are read: of a file, and of one definition as JSON, which is etcd's limit for an object.
const (
	maxFileSize       = 3 << 20
	maxDefinitionSize = 3 << 19
)

// Files are files with definitions, with the content that they had at one time.
type Files []file

type file struct {
	path string
	data []byte
}

// Open reads files and folders, of a folder the files that end in .yaml, .yml or .json. Hidden ones and folders in it
// are passed over.
func Open(paths ...string) (Files, error) {
	var all Files
	for _, path := range paths {
		found, err := manifests.Find(path)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: there is no file *.yaml, *.yml or *.json with a definition", path)
		}
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			data, err := manifests.Read(path, maxFileSize)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, file{path, data})
		}
	}
	return all, nil
}

// Digest returns what changes whenever the content of the files does.
func (f Files) Digest() [sha256.Size]byte {
	sum := sha256.New()
	for _, one := range f {
		fmt.Fprintf(sum, "%q %d\n", filepath.Base(one.path), len(one.data))
		_, _ = sum.Write(one.data) // A hash never fails.
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// Definitions returns the definitions, ordered by their names, as [Check] leaves them.
func (f Files) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	from := map[string]string{}
	for _, one := range f {
		err := manifests.Documents(one.data, func(place string, document []byte) error {
			found, err := readDocument(document)
			if err != nil {
				return fmt.Errorf("%s: %w", place, err)
			}
			all = append(all, found...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.path, err)
		}
		for _, crd := range all[len(from):] {
			if other, ok := from[crd.Name]; ok {
				return nil, fmt.Errorf("%s and %s both give the definition %s: remove it from one of them", other, one.path, crd.Name)
			}
			from[crd.Name] = one.path
		}
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Read returns the definitions in files and folders, as [Open] and [Files.Definitions] do.
func Read(paths ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := Open(paths...)
	if err != nil {
		return nil, err
	}
	return files.Definitions()
}

// readDocument reads a definition, or a list of them.
func readDocument(document []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var head struct {
		metav1.TypeMeta
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return nil, fmt.Errorf("it is no Kubernetes object: %w", err)
	}
	group := apiextensionsv1.SchemeGroupVersion.String()
	switch {
	case head.Kind == "List" && head.APIVersion == "v1", head.Kind == "CustomResourceDefinitionList" && head.APIVersion == group:
		var all []*apiextensionsv1.CustomResourceDefinition
		for i, item := range head.Items {
			found, err := readDocument(item)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			all = append(all, found...)
		}
		return all, nil
	case head.Kind != "CustomResourceDefinition":
		return nil, fmt.Errorf("%s %q of %q is no CustomResourceDefinition: remove it from the file", head.Kind, head.Metadata.Name, head.APIVersion)
	case head.APIVersion != group:
		return nil, fmt.Errorf("definition %s: apiVersion: %s is not served since Kubernetes 1.22: state the definition in %s",
			head.Metadata.Name, head.APIVersion, group)
	case len(document) > maxDefinitionSize:
		return nil, fmt.Errorf("definition %s: it has %d bytes as JSON, and etcd takes at most %d: leave out descriptions, or versions that nobody uses",
			head.Metadata.Name, len(document), maxDefinitionSize)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(document, crd)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("definition %s: %w: correct or remove it", head.Metadata.Name, err)
	}
	if err := Check(crd); err != nil {
		return nil, err
	}
	return []*apiextensionsv1.CustomResourceDefinition{crd}, nil
}
