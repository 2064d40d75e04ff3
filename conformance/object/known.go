// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	_ "embed" // The samples.
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// patchesOf returns the known changes of the content or the status of a kind as merge patches; false if none is known,
// not even that there is none.
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
