// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"testing"
)

func TestIsWatchedObject(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api/v1/namespaces/team/configmaps/settings":      true,
		"/api/v1/namespaces/team":                          true,
		"/api/v1/nodes/a":                                  true,
		"/apis/apps/v1/namespaces/t/deployments/a":         true,
		"/apis/metrics.k8s.io/v1beta1/namespaces/t/pods/a": false,
		"/api/v1/namespaces/t/secrets/a":                   false,
		"/api/v1/namespaces/t/pods":                        false,
		"/api/v1/namespaces/t/pods/a/log":                  false,
		"/api/v1/nodes/a?pretty=true":                      false,
		"/api/v1/nodes/":                                   false,
		"/version":                                         false,
	} {
		if got := IsWatchedObject(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
