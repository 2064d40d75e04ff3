// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bufio"
	"bytes"
	_ "embed" // The samples.
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxSamples is how large a file with samples may be: a server takes no larger object, either.
const maxSamples = 3 << 20

// ReadSamples reads objects from YAML or JSON: one or more documents, which may be lists of objects.
// There is at most one object of each kind.
func ReadSamples(data []byte) ([]*unstructured.Unstructured, error) {
	if len(data) > maxSamples {
		return nil, fmt.Errorf("%d bytes are too many for samples: the limit is %d", len(data), maxSamples)
	}
	r := &sampleReader{places: map[schema.GroupVersionKind]string{}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.chunk(document)
		} else {
			err = fmt.Errorf("document %d: %w", r.count+1, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(r.objects) == 0 {
		return nil, errors.New("there are no objects")
	}
	return r.objects, nil
}

type sampleReader struct {
	count   int // of documents
	objects []*unstructured.Unstructured
	// places says where the object of a kind is.
	places map[schema.GroupVersionKind]string
}

// chunk reads what is between separators of YAML: a document, or several ones of JSON.
func (r *sampleReader) chunk(chunk []byte) error {
	if len(bytes.TrimSpace(chunk)) == 0 {
		return nil
	}
	documents, isJSON := jsonDocuments(chunk)
	if !isJSON {
		documents = [][]byte{chunk}
	}
	for _, document := range documents {
		r.count++
		value, err := readDocument(document, isJSON)
		if err != nil {
			return fmt.Errorf("document %d: %w", r.count, err)
		}
		if value == nil {
			continue // Comments only.
		}
		if err := r.add(value, fmt.Sprintf("document %d", r.count)); err != nil {
			return err
		}
	}
	return nil
}

// jsonDocuments takes documents of JSON apart that follow each other. It returns false if the chunk
// is something else: YAML may begin like JSON.
func jsonDocuments(chunk []byte) (documents [][]byte, ok bool) {
	decoder := stdjson.NewDecoder(bytes.NewReader(chunk))
	for {
		var document stdjson.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, len(documents) > 0
		}
		if err != nil {
			return nil, false
		}
		documents = append(documents, document)
	}
}

// readDocument does not accept fields that are there twice: nobody knows which one counts.
func readDocument(document []byte, isJSON bool) (value any, err error) {
	if !isJSON {
		if document, err = yaml.YAMLToJSONStrict(document); err != nil {
			return nil, err
		}
	}
	twice, err := json.UnmarshalStrict(document, &value)
	return value, errors.Join(err, errors.Join(twice...))
}

// add takes an object, or those of a list.
func (r *sampleReader) add(value any, place string) error {
	content, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: expected an object, found %s", place, shownType(value))
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetAPIVersion() == "" {
		return fmt.Errorf("%s: apiVersion is missing", place)
	}
	if object.GetKind() == "" {
		return fmt.Errorf("%s: kind is missing", place)
	}
	if _, err := schema.ParseGroupVersion(object.GetAPIVersion()); err != nil {
		return fmt.Errorf("%s: apiVersion: %w", place, err)
	}
	if items, ok := content["items"].([]any); ok && strings.HasSuffix(object.GetKind(), "List") {
		for i, item := range items {
			if err := r.add(item, fmt.Sprintf("%s, item %d", place, i+1)); err != nil {
				return err
			}
		}
		return nil
	}
	kind := object.GroupVersionKind()
	if other := r.places[kind]; other != "" {
		return fmt.Errorf("%s: it is of kind %s (%s) as %s is, but there is one sample of a kind", place, object.GetKind(), object.GetAPIVersion(), other)
	}
	r.places[kind] = place
	r.objects = append(r.objects, object)
	return nil
}

// ReadSampleFiles reads the objects in files.
func ReadSampleFiles(paths []string) ([]*unstructured.Unstructured, error) {
	var samples []*unstructured.Unstructured
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := ReadSamples(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		samples = append(samples, found...)
	}
	return samples, nil
}

//go:embed samples.yaml
var samplesFile []byte

//go:embed changes.yaml
var changesFile []byte

// The built-in samples, and the changes that servers of a kind are known to allow. Tests read the files.
var (
	knownSamples = sync.OnceValue(func() map[schema.GroupVersionKind]*unstructured.Unstructured { return byKind(samplesFile) })
	knownChanges = sync.OnceValue(func() map[schema.GroupVersionKind]*unstructured.Unstructured { return byKind(changesFile) })
)

func byKind(file []byte) map[schema.GroupVersionKind]*unstructured.Unstructured {
	objects, err := ReadSamples(file)
	if err != nil {
		panic(err) // The files are part of the program.
	}
	found := map[schema.GroupVersionKind]*unstructured.Unstructured{}
	for _, one := range objects {
		found[one.GroupVersionKind()] = one
	}
	return found
}

// patchesOf returns the known changes of the content or the status of a kind as merge patches, which may be an empty
// list; false if nothing is known about them.
func patchesOf(kind schema.GroupVersionKind, name string) (patches []map[string]any, known bool) {
	of := knownChanges()[kind]
	if of == nil {
		return nil, false
	}
	list, known := of.Object[name].([]any)
	for _, one := range list {
		if patch, ok := one.(map[string]any); ok {
			patches = append(patches, patch)
		}
	}
	return patches, known
}
