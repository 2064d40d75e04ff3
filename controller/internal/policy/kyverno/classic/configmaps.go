// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"encoding/json"
	"errors"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// configMapPath returns the path of a ConfigMap.
func configMapPath(namespace, name string) string {
	return base.PathOf(schema.GroupVersion{Version: "v1"}, "configmaps", namespace, name)
}

// configMapEntry returns the entry for a ConfigMap whose name and namespace have no variables, so that its changes
// cause new evaluations.
func configMapEntry(context *kyvernov1.ContextEntry) (policy.Entry, bool) {
	from := context.ConfigMap
	if from == nil || from.Name == "" || from.Namespace == "" || hasVariable(from.Name) || hasVariable(from.Namespace) {
		return policy.Entry{}, false
	}
	return policy.Entry{Path: configMapPath(from.Namespace, from.Name)}, true
}

// configMaps is the engine's resolver of ConfigMaps.
type configMaps struct {
	client  kubernetes.Interface
	entries policy.Entries
}

var _ engineapi.ConfigmapResolver = (*configMaps)(nil)

func (c *configMaps) Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	scope, _ := reach.Of(ctx) // The guard of the client refuses requests without one.
	data, err := base.CachedObject(ctx, c.entries, configMapPath(namespace, name), scope.Namespace)
	if errors.Is(err, base.ErrNotCached) {
		return c.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	found := &corev1.ConfigMap{}
	return found, json.Unmarshal(data, found)
}
