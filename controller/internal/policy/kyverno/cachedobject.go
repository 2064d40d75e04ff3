// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/reach"
)

var errNotCached = errors.New("the context cache does not have it")

// cachedObject returns the JSON of one object of the cluster from the context cache, which then watches it, so that
// many evaluations make no requests. The error is errNotCached if the caller has to ask the cluster, which may
// allow a request but no watch, or knows the reason better.
func cachedObject(ctx context.Context, entries policy.Entries, path, namespace string) ([]byte, error) {
	if entries == nil {
		return nil, errNotCached
	}
	value, err := entries.Query(ctx, policy.Query{Entry: policy.Entry{Path: path}, Namespace: namespace})
	switch {
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, errNotCached
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// isWatchedObject reports whether a path is that of one object that the cache can watch for sure. Of a kind that
// can't be watched it would poll, so groups that other servers may have are left out, as are Secrets, which nobody
// should keep, and lists, which may take any amount of memory: policies can ask for those with cache: true.
func isWatchedObject(path string) bool {
	if strings.ContainsAny(path, "?%") {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3 && builtIn(parts[1]):
		parts = parts[3:]
	default:
		return false
	}
	if len(parts) == 4 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) == 2 && parts[1] != "" && parts[0] != "secrets" && parts[0] != "componentstatuses"
}

// builtIn reports whether kube-apiserver itself serves a group, and all its kinds can be watched.
func builtIn(group string) bool {
	switch group {
	case "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io", "storage.k8s.io", "apiextensions.k8s.io":
		return true
	default:
		return false
	}
}

// configMapPath returns the path of a ConfigMap.
func configMapPath(namespace, name string) string {
	return pathOf(schema.GroupVersion{Version: "v1"}, "configmaps", namespace, name)
}

// configMapEntry returns the entry for a ConfigMap whose name and namespace have no variables. Then a change of it
// has subjects evaluated again.
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

// Get is that of the engine's resolver.
func (c *configMaps) Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	scope, _ := reach.Of(ctx) // The guard of the client refuses requests without one.
	data, err := cachedObject(ctx, c.entries, configMapPath(namespace, name), scope.Namespace)
	if errors.Is(err, errNotCached) {
		return c.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	found := &corev1.ConfigMap{}
	return found, json.Unmarshal(data, found)
}
