// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/reports/kinds"
)

const statusMember = "status"

// withStatus returns rules for kinds whose status has a subresource of its own: all other writes leave it as it is.
func withStatus(rules kinds.Rules[object]) kinds.Rules[object] {
	rules.Prepare = func(incoming, stored object) {
		prepare(incoming, stored)
		incoming.TakeMember(statusMember, stored)
	}
	rules.ResetFields = []string{statusMember}
	return rules
}

// status is what an update through the subresource changes.
func status() kinds.Part[object] {
	return kinds.Part[object]{
		Keep: func(incoming, stored object) {
			kept := *stored
			kept.ObjectMeta = *stored.DeepCopy()
			kept.SetManagedFields(incoming.GetManagedFields())
			kept.TakeMember(statusMember, incoming)
			*incoming = kept
		},
		Validate: func(ctx context.Context, incoming, stored object) field.ErrorList {
			errs := apivalidation.ValidateObjectMetaAccessorUpdate(incoming, stored, field.NewPath("metadata"))
			if bytes.Equal(incoming.Body(), stored.Body()) {
				return errs
			}
			return append(errs, incoming.ValidateStatus(ctx, stored)...)
		},
		ResetFields: []string{"metadata", "spec"},
	}
}
