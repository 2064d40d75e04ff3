// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Bytes that are read: of a file, and of one definition as JSON, which is etcd's limit for an object.
const (
	maxFileSize       = 3 << 20
	maxDefinitionSize = 3 << 19
)

// Read returns the definitions in files and folders, ordered by their names, as [Check] leaves them. Of a folder it
// reads the files that end in .yaml, .yml or .json; hidden ones and folders in it are passed over.
func Read(paths ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	from := map[string]string{}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			for _, crd := range found {
				if other, ok := from[crd.Name]; ok {
					return nil, fmt.Errorf("%s and %s both give the definition %s: remove it from one of them", other, file, crd.Name)
				}
				from[crd.Name] = file
			}
			all = append(all, found...)
		}
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// filesOf returns a file, or the files of a folder.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		switch filepath.Ext(file) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		// Files of a ConfigMap are links into a hidden folder.
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no file *.yaml, *.yml or *.json with a definition", path)
	}
	return files, nil
}

func readFile(path string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("the file is larger than %d MiB: split it", maxFileSize>>20)
	}
	return readAll(data)
}

// readAll reads the documents of a file.
func readAll(data []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		asJSON, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		found, err := readDocument(asJSON)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		all = append(all, found...)
	}
}

// readDocument reads a definition, or a list of them.
func readDocument(document []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if string(document) == "null" {
		return nil, nil // A document with comments.
	}
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

// Digest returns what changes whenever the content of files and folders does.
func Digest(paths ...string) (digest [sha256.Size]byte, err error) {
	sum := sha256.New()
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return digest, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return digest, err
			}
			fmt.Fprintf(sum, "%q %d\n", filepath.Base(file), len(data))
			_, _ = sum.Write(data) // A hash never fails.
		}
	}
	return [sha256.Size]byte(sum.Sum(nil)), nil
}
