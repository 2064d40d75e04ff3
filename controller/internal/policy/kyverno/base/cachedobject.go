// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// ErrNotCached says that the cluster has to be asked.
var ErrNotCached = errors.New("the context cache does not have it")

// CachedObject returns the JSON of one object of the cluster from the context cache, which then watches it, so that
// many evaluations make no requests. The error is errNotCached if the caller has to ask the cluster, which may
// allow a request but no watch, or knows the reason better.
func CachedObject(ctx context.Context, entries policy.Entries, path, namespace string) ([]byte, error) {
	if entries == nil {
		return nil, ErrNotCached
	}
	value, err := entries.Query(ctx, policy.Query{Entry: policy.Entry{Path: path}, Namespace: namespace})
	switch {
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, ErrNotCached
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// IsWatchedObject reports whether a path is that of one object that the cache can watch for sure. Of a kind that
// can't be watched it would poll, so groups that other servers may have are left out, as are Secrets, which nobody
// should keep, and lists, which may take any amount of memory: policies can ask for those with cache: true.
func IsWatchedObject(path string) bool {
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

// PathOf returns the path that a client asks for, before it makes another one of dots and slashes.
func PathOf(version schema.GroupVersion, resource, namespace, name string) string {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + resource
	if name != "" {
		path += "/" + name
	}
	return path
}
