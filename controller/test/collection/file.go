// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
)

// fileName is how the files of tests are called.
const fileName = "kyverno-test.yaml"

// maxFileSize is far above what people write by hand.
const maxFileSize = 4 << 20

// file is a test file. Further fields of the format are in others.
type file struct {
	// path is the file, as seen from the folder of the collection.
	path string
	dir  string

	content fileContent
	// others are the names of all fields that a runner without mocks does not know.
	others []string
}

type fileContent struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Policies   []string   `json:"policies"`
	Resources  []string   `json:"resources"`
	Exceptions []string   `json:"exceptions"`
	Variables  string     `json:"variables"`
	Values     *values    `json:"values"`
	Results    []expected `json:"results"`
}

// expected is what the results of a rule for some resources are to be.
type expected struct {
	Policy        string         `json:"policy"`
	Rule          string         `json:"rule"`
	Kind          string         `json:"kind"`
	Resources     []string       `json:"resources"`
	ResourceSpecs []resourceSpec `json:"resourceSpecs"`
	Result        report.Outcome `json:"result"`
	Operation     string         `json:"operation"`
}

// resourceSpec is a resource with all parts of its name.
type resourceSpec struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// values are mocks. Those of namespaces are simple enough to be used.
type values struct {
	NamespaceSelector []struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"namespaceSelector"`
	Namespaces []struct {
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"namespaces"`
	Policies     []json.RawMessage          `json:"policies"`
	GlobalValues map[string]json.RawMessage `json:"globalValues"`
	Subresources []json.RawMessage          `json:"subresources"`
}

// knownFields are the fields of a test file that matter here; name and metadata do not.
var knownFields = []string{
	"apiVersion", "kind", "metadata", "name", "policies", "resources", "exceptions", "variables", "values", "results",
}

// find returns the test files below a folder, in order.
func find(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && entry.Name() == fileName {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: there is no %s in it; give the folder of a collection of policies", dir, fileName)
	}
	return paths, nil
}

// readFile reads a test file below the folder root.
func readFile(root, path string) (*file, error) {
	relative, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.ToSlash(relative), dir: filepath.Dir(path)}
	if err := readYAML(path, &f.content, &f.others); err != nil {
		return nil, err
	}
	if f.content.Kind != "Test" || f.content.APIVersion != "cli.kyverno.io/v1alpha1" {
		return nil, fmt.Errorf("%s: is a %s of %q and no Test of cli.kyverno.io/v1alpha1", path, f.content.Kind, f.content.APIVersion)
	}
	for i, e := range f.content.Results {
		if !slices.Contains(report.Outcomes(), e.Result) {
			return nil, fmt.Errorf("%s: results[%d].result: %q is none of %v", path, i, e.Result, report.Outcomes())
		}
	}
	if f.content.Variables != "" {
		f.content.Values = &values{}
		if err := readYAML(f.resolve(f.content.Variables), f.content.Values, nil); err != nil {
			return nil, fmt.Errorf("%s: variables: %w", path, err)
		}
	}
	return f, nil
}

// resolve returns a path that the file names.
func (f *file) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.dir, filepath.FromSlash(path))
}

// remote reports whether a path is not one of a file.
func remote(path string) bool {
	return strings.Contains(path, "://")
}

// labels returns those of namespaces that the values give.
func (v *values) labels() map[string]map[string]string {
	all := map[string]map[string]string{}
	if v == nil {
		return all
	}
	for _, namespace := range v.Namespaces {
		all[namespace.Metadata.Name] = namespace.Metadata.Labels
	}
	for _, namespace := range v.NamespaceSelector {
		all[namespace.Name] = namespace.Labels
	}
	return all
}

// readYAML decodes a file with one document. If others is not nil, it gets the fields that are set and not known.
func readYAML(path string, into any, others *[]string) error {
	data, err := readBounded(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if others == nil {
		return nil
	}
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for field, value := range fields {
		if !slices.Contains(knownFields, field) && value != nil {
			*others = append(*others, field)
		}
	}
	slices.Sort(*others)
	return nil
}

func readBounded(path string) (_ []byte, err error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	data, err := io.ReadAll(io.LimitReader(opened, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("%s: has more than the %d bytes that a file of tests may have", path, maxFileSize)
	}
	return data, nil
}
