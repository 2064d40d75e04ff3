// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// policyKind has all objects of a kind of policies or exceptions. An object is never changed, only replaced by
// another one.
type policyKind struct {
	*source.Mirror[*unstructured.Unstructured]

	kind      schema.GroupKind
	plural    schema.GroupResource
	exception bool
	// source is nil while the API doesn't serve the kind. Only the planner uses it.
	source *source.Source
}

// newKinds returns all kinds in a fixed order, including, if kyvernos is set, those that only Kyverno evaluates. When
// an object has changed, changed is called without a lock.
func newKinds(kyvernos bool, changed func()) []*policyKind {
	var list []*policyKind
	add := func(kinds map[schema.GroupKind]string, exception bool) {
		for kind, plural := range kinds {
			list = append(list, &policyKind{
				Mirror: source.NewMirror(source.MirrorConfig[*unstructured.Unstructured]{Strip: strip, Keep: keep, Changed: changed}),
				kind:   kind, plural: schema.GroupResource{Group: kind.Group, Resource: plural}, exception: exception,
			})
		}
	}
	add(policy.Kinds(), false)
	if kyvernos {
		add(policy.KyvernoKinds(), false)
	}
	add(policy.ExceptionKinds(), true)
	slices.SortFunc(list, func(a, b *policyKind) int { return strings.Compare(a.kind.String(), b.kind.String()) })
	return list
}

// strip removes what can change without changing the policy.
func strip(object *unstructured.Unstructured) {
	policy.Strip(object)
	object.SetResourceVersion("")
	delete(object.Object, "status")
}

// keep returns before if it is equal to object.
func keep(object, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if before != nil && apiequality.Semantic.DeepEqual(before.Object, object.Object) {
		return before, nil
	}
	return object, nil
}

// list returns the objects that are not being deleted, by name.
func (s *policyKind) list() []*unstructured.Unstructured {
	objects := s.All()
	list := make([]*unstructured.Unstructured, 0, len(objects))
	for _, name := range slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		if object := objects[name]; object.GetDeletionTimestamp() == nil {
			list = append(list, object)
		}
	}
	return list
}
