// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests reads what users give as files in YAML, or in JSON, which is YAML: single ones, and folders such as
// mounted ConfigMaps.
package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Find returns a file, or the files of a folder that end in .yaml, .yml or .json. Hidden ones and folders in it are
// passed over.
func Find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
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
	return files, nil
}

// Read returns the content of a file of at most so many bytes.
func Read(path string, most int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("the file is larger than %d MiB: split it", most>>20)
	}
	return data, err
}

// Documents calls each with the documents of a file as JSON, without those that have only comments. place is what
// errors call a document: they begin with it.
func Documents(data []byte, each func(place string, document []byte) error) error {
	number := 0
	chunks := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		chunk, err := chunks.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number+1, err)
		}
		documents, err := split(chunk)
		if err != nil {
			return fmt.Errorf("document %d: %w", number+1, err)
		}
		for _, document := range documents {
			number++
			if string(document) == "null" {
				continue
			}
			if err := each(fmt.Sprintf("document %d", number), document); err != nil {
				return err
			}
		}
	}
}

// split takes apart what is between separators of YAML: one document, or several of JSON that follow each other.
func split(chunk []byte) (documents []json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(chunk))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) && len(documents) > 0 {
			return documents, nil
		}
		if err != nil { // YAML may begin like JSON.
			document, err := yaml.YAMLToJSONStrict(chunk)
			if err != nil {
				return nil, err
			}
			return []json.RawMessage{document}, nil
		}
		documents = append(documents, document)
	}
}
