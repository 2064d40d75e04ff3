// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/internal/store"
)

// errConflict says that another gateway has changed the record meanwhile.
var errConflict = errors.New("another gateway is working on it; try again")

// namespaceUIDs is a table in the gateway's database. It has for each API group and namespace the UID
// of the namespace that the group's objects are of. A later namespace of the same name has another.
type namespaceUIDs struct{ namespaces storage.Interface }

func newNamespaceUIDs(s *store.Store) *namespaceUIDs {
	return &namespaceUIDs{s.Resource(store.ResourceConfig{
		GroupResource: schema.GroupResource{Group: "gateway.docket.dev", Resource: "namespaces"},
		Prefix:        "/gateway.docket.dev/namespaces",
		Codec:         json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{}),
		OneVersion:    true,
		NewFunc:       func() runtime.Object { return &corev1.Namespace{} },
		NewListFunc:   func() runtime.Object { return &corev1.NamespaceList{} },
	})}
}

func uidKey(group, namespace string) string {
	return "/gateway.docket.dev/namespaces/" + group + "/" + namespace
}

// of returns the UID of the namespace that a group's objects are of, "" if nobody knows.
func (m *namespaceUIDs) of(ctx context.Context, group, namespace string) (types.UID, error) {
	var known corev1.Namespace
	if err := m.namespaces.Get(ctx, uidKey(group, namespace), storage.GetOptions{IgnoreNotFound: true}, &known); err != nil {
		return "", fmt.Errorf("record the UID of namespace %s: %w", namespace, err)
	}
	return known.UID, nil
}

// replace records the UID now, unless another one than old is recorded.
func (m *namespaceUIDs) replace(ctx context.Context, group, namespace string, old, now types.UID) error {
	err := m.namespaces.GuaranteedUpdate(ctx, uidKey(group, namespace), &corev1.Namespace{}, true, nil,
		storage.SimpleUpdate(func(object runtime.Object) (runtime.Object, error) {
			known, ok := object.(*corev1.Namespace)
			if !ok || known.UID != old && known.UID != now {
				return nil, errConflict
			}
			known.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
			known.Name, known.UID = namespace, now
			return known, nil
		}), nil)
	if err != nil {
		return fmt.Errorf("record the UID of namespace %s: %w", namespace, err)
	}
	return nil
}
