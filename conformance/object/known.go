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

// changesOf are merge patches; nil if they are not known, empty if there are none.
type changesOf struct{ content, status []map[string]any }

// known are the built-in samples and changes. Tests read the files.
var known = sync.OnceValue(func() (k struct {
	samples map[schema.GroupVersionKind]*unstructured.Unstructured
	changes map[schema.GroupVersionKind]changesOf
},
) {
	k.samples, k.changes = map[schema.GroupVersionKind]*unstructured.Unstructured{}, map[schema.GroupVersionKind]changesOf{}
	for _, one := range mustRead(samplesFile) {
		k.samples[one.GroupVersionKind()] = one
	}
	for _, one := range mustRead(changesFile) {
		k.changes[one.GroupVersionKind()] = changesOf{patches(one, "content"), patches(one, "status")}
	}
	return k
})

func mustRead(file []byte) []*unstructured.Unstructured {
	objects, err := ReadSamples(file)
	if err != nil {
		panic(err) // The files are part of the program.
	}
	return objects
}

func patches(object *unstructured.Unstructured, name string) []map[string]any {
	list, ok := object.Object[name].([]any)
	if !ok {
		return nil
	}
	all := []map[string]any{}
	for _, one := range list {
		if patch, ok := one.(map[string]any); ok {
			all = append(all, patch)
		}
	}
	return all
}

// knownSample returns a copy of the built-in sample of a kind; nil if there is none.
func knownSample(kind schema.GroupVersionKind) *unstructured.Unstructured {
	if sample := known().samples[kind]; sample != nil {
		return sample.DeepCopy()
	}
	return nil
}

// knownChanges returns the changes that servers of a kind are known to allow.
func knownChanges(kind schema.GroupVersionKind) changesOf { return known().changes[kind] }
