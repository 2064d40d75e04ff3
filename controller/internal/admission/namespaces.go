// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"golang.org/x/sync/singleflight"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

var namespaceResource = served.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Watchable: true,
}

// namespaces knows all namespaces as policies see them.
type namespaces struct {
	*source.Mirror[*corev1.Namespace]

	client dynamic.Interface
	source *source.Source
	single singleflight.Group
}

func newNamespaces(client dynamic.Interface, clock clock.WithTicker) *namespaces {
	return &namespaces{
		Mirror: source.NewMirror(source.MirrorConfig[*corev1.Namespace]{
			Strip: policy.Strip,
			Keep: func(object *unstructured.Unstructured, _ *corev1.Namespace) (*corev1.Namespace, error) {
				return policy.NamespaceOf(object)
			},
		}),
		client: client,
		source: source.New(source.Config{Resource: namespaceResource, Client: client, Clock: clock, Changed: func(error) {}}),
	}
}

// none stands for a namespace that does not exist, and for the lack of a namespace.
var none = &corev1.Namespace{}

// of returns a namespace, which must not be changed. One that is not known yet is read; for one that does not exist,
// it returns none.
func (n *namespaces) of(ctx context.Context, name string) (*corev1.Namespace, error) {
	if name == "" {
		return none, nil
	}
	if namespace, known := n.Get(types.NamespacedName{Name: name}); known {
		return namespace, nil
	}
	answers := n.single.DoChan(name, func() (any, error) {
		// Other requests may wait for it, too, so it must not end with ctx.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), policy.DefaultReviewTimeout)
		defer cancel()
		object, err := n.client.Resource(namespaceResource.GroupVersionResource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		if err != nil {
			return nil, err
		}
		return policy.NamespaceOf(object)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("read the namespace %s: %w", name, ctx.Err())
	case answer := <-answers:
		if answer.Err != nil {
			return nil, fmt.Errorf("read the namespace %s: %w", name, answer.Err)
		}
		namespace, _ := answer.Val.(*corev1.Namespace)
		return namespace, nil
	}
}
