// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	_ "embed" // The samples.
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/manifests"
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
	err := manifests.Documents(data, func(place string, document []byte) error {
		var value any
		// Fields that are there twice are wrong: nobody knows which one counts.
		twice, err := json.UnmarshalStrict(document, &value)
		if err := errors.Join(err, errors.Join(twice...)); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		return r.add(value, place)
	})
	if err != nil {
		return nil, err
	}
	if len(r.objects) == 0 {
		return nil, errors.New("there are no objects")
	}
	return r.objects, nil
}

type sampleReader struct {
	objects []*unstructured.Unstructured
	// places says where the object of a kind is.
	places map[schema.GroupVersionKind]string
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
