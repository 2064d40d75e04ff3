// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// newAdmissionOptions returns all plugins, quotas included.
func newAdmissionOptions() *genericoptions.AdmissionOptions {
	o := genericoptions.NewAdmissionOptions()
	addQuota(o)
	return o
}

// addQuota makes ResourceQuotas hold for reports: kube-apiserver enforces them for
// what it stores itself only, although kube-controller-manager counts the objects of
// every server. The plugin comes last, as in kube-apiserver: what another plugin
// refuses must not be charged.
func addQuota(o *genericoptions.AdmissionOptions) {
	resourcequota.Register(o.Plugins)
	o.RecommendedPluginOrder = append(o.RecommendedPluginOrder, resourcequota.PluginName)
}

// quotaInitializer tells the quota plugin what to count: of each resource the number
// of objects (count/<resource>.<group>), which it does by itself for any resource.
type quotaInitializer struct{}

// Initialize implements admission.PluginInitializer.
func (quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(generic.NewConfiguration(nil, nil))
	}
}
