// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// watch wakes the registrar when somebody changes the configuration, until ctx is done. Where it
// may not watch, looking each minute has to do.
func (r *Registrar) watch(ctx context.Context) {
	client := r.config.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, r.config.Name).String()
	one := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = byName
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = byName
			return client.Watch(ctx, options)
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(one, r.config.Client),
		ObjectType:    &admissionregistrationv1.ValidatingWebhookConfiguration{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { r.trigger.Fire() },
			UpdateFunc: func(any, any) { r.trigger.Fire() },
			DeleteFunc: func(any) { r.trigger.Fire() },
		},
	})
	informer.RunWithContext(ctx)
}
