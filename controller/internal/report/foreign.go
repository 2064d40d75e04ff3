// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreign is what others have added to the metadata of a report, as of one resourceVersion. It goes into the
// update of that version: if somebody adds something meanwhile, the update is a conflict.
type foreign struct {
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	finalizers          []string
}

// foreignOf returns what others have added to an object, with which it shares nothing; nil, for most reports,
// if there is nothing.
func foreignOf(object metav1.Object) *foreign {
	f := foreign{
		labels: othersOf(object.GetLabels()), annotations: othersOf(object.GetAnnotations()),
		owners: slices.Clone(object.GetOwnerReferences()), finalizers: slices.Clone(object.GetFinalizers()),
	}
	if len(f.labels) == 0 && len(f.annotations) == 0 && len(f.owners) == 0 && len(f.finalizers) == 0 {
		return nil
	}
	return &f
}

// othersOf returns the keys that are not ours.
func othersOf(all map[string]string) map[string]string {
	others := maps.Clone(all)
	maps.DeleteFunc(others, func(key, _ string) bool { return isOurs(key) })
	return others
}

// addTo adds it to a report that has only our metadata. f may be nil.
func (f *foreign) addTo(object metav1.Object) {
	if f == nil {
		return
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	maps.Copy(labels, f.labels)
	maps.Copy(annotations, f.annotations)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	object.SetOwnerReferences(f.owners)
	object.SetFinalizers(f.finalizers)
}
