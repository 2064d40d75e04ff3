// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"sync/atomic"

	"k8s.io/apiserver/pkg/admission"
)

// owners lets the aggregator, which is built last, have a say in the admission of the
// servers that are built before it: a CustomResourceDefinition must not take a group
// version that an extension server has.
type owners struct {
	then admission.Interface
	by   atomic.Pointer[admission.Interface]
}

var (
	_ admission.MutationInterface   = &owners{}
	_ admission.ValidationInterface = &owners{}
)

// Handles implements admission.Interface.
func (o *owners) Handles(operation admission.Operation) bool {
	by := o.by.Load()
	return by != nil && (*by).Handles(operation) || o.then.Handles(operation)
}

// Admit implements admission.MutationInterface.
func (o *owners) Admit(ctx context.Context, a admission.Attributes, objects admission.ObjectInterfaces) error {
	if plugin, ok := o.then.(admission.MutationInterface); ok && o.then.Handles(a.GetOperation()) {
		return plugin.Admit(ctx, a, objects)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (o *owners) Validate(ctx context.Context, a admission.Attributes, objects admission.ObjectInterfaces) error {
	if by := o.by.Load(); by != nil && (*by).Handles(a.GetOperation()) {
		if plugin, ok := (*by).(admission.ValidationInterface); ok {
			if err := plugin.Validate(ctx, a, objects); err != nil {
				return err
			}
		}
	}
	if plugin, ok := o.then.(admission.ValidationInterface); ok && o.then.Handles(a.GetOperation()) {
		return plugin.Validate(ctx, a, objects)
	}
	return nil
}
