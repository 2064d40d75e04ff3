// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/reports/registry"
)

// REST is what serves a kind, for tests.
func (r *Reports) REST(kind registry.Kind) *registry.REST {
	for _, served := range r.opened {
		if served.Kind().GroupVersionKind == kind.GroupVersionKind {
			return served
		}
	}
	return nil
}

// Notes returns the annotations of an object of the servers' own.
func Notes(ctx context.Context, reports *Reports, resource, name string) (map[string]string, error) {
	object := &unstructured.Unstructured{}
	err := ownResource(reports.Store, resource).Get(ctx, "/docket.dev/"+resource+"/"+name, storage.GetOptions{IgnoreNotFound: true}, object)
	return object.GetAnnotations(), err
}
