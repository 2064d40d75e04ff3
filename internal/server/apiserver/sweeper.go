// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/namespaces"
)

// applySweeper makes what deletes the reports of ended namespaces, if namespaces can be
// watched: admission has asked for that.
func (o CompletedOptions) applySweeper(c *Config, client kubernetes.Interface) error {
	unmet := slices.ContainsFunc(c.Unmet, func(u Unmet) bool { return u.Part == lifecycle.PluginName })
	if unmet || !o.wants(lifecycle.PluginName) {
		return nil
	}
	own, err := metadata.NewForConfig(c.Generic.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("client of this server: %w", err)
	}
	c.Sweeper, err = namespaces.NewSweeper(namespaces.SweeperConfig{
		Cluster: client, Namespaces: c.Generic.SharedInformerFactory.Core().V1().Namespaces(),
		Objects: own, Resources: func() []schema.GroupVersionResource { return namespaced(c.kinds()) },
		Swept: func(objects int) { sweptReports.Add(float64(objects)) },
	})
	return err
}

// namespaced returns the resources of kinds that are in namespaces, each in one of its versions.
func namespaced(kinds []registry.Kind) []schema.GroupVersionResource {
	var resources []schema.GroupVersionResource
	for _, kind := range kinds {
		known := slices.ContainsFunc(resources, func(r schema.GroupVersionResource) bool { return r.GroupResource() == kind.GroupResource() })
		if kind.Namespaced && !known {
			resources = append(resources, kind.GroupVersionResource())
		}
	}
	return resources
}
