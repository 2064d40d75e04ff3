// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestNoMemoryForResources: resources for which there is no memory are requested when they are evaluated, again if
// a request fails, and all results are there. Not parallel: a policy of another test that goes while a resource is
// requested for it would leave a request without an evaluation.
func TestNoMemoryForResources(t *testing.T) {
	w := newWorld(t)
	w.namespace(t, "tight")
	w.configMap(t, "tight", "a", "team", "x")
	w.configMap(t, "tight", "b")
	w.policy(t, "tight", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	var gets atomic.Int64
	r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, "/namespaces/tight/configmaps/b") && gets.Add(1) <= 2 {
			return nil, errors.New("connection refused")
		}
		return next.RoundTrip(request)
	})
	w.start(t, r, func(c *scan.Config) { c.Memory = 1 })
	r.want(t, "ClusterPolicy/tight ConfigMap/tight/", "ClusterPolicy/tight ConfigMap/tight/a has-team=pass", "ClusterPolicy/tight ConfigMap/tight/b has-team=fail")
	testkit.Settles(t, func() string {
		if n, evaluated := int(gets.Load()), r.compiler.count("", "ConfigMap/tight/b"); n < 3 || n > 2+evaluated {
			return fmt.Sprintf("%d requests for a resource that was evaluated %d times", n, evaluated)
		}
		return ""
	})
	w.update(t, configMaps, "tight", "b", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "y"}) })
	r.want(t, "ClusterPolicy/tight ConfigMap/tight/", "ClusterPolicy/tight ConfigMap/tight/a has-team=pass", "ClusterPolicy/tight ConfigMap/tight/b has-team=pass")
	w.remove(t, configMaps, "tight", "a")
	r.want(t, "ClusterPolicy/tight ConfigMap/tight/", "ClusterPolicy/tight ConfigMap/tight/b has-team=pass")
}
