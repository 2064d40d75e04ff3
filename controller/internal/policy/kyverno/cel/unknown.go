// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// celUnknownFields returns the paths of the fields in the spec of a policy that Kyverno's types don't have, such as
// those of a newer version: the engine goes by the others alone. A field of a wrong type is no matter of this.
func unknownFields(object *unstructured.Unstructured) []string {
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	switch object.GetKind() {
	case policy.ImageValidatingPolicy, policy.NamespacedImageValidatingPolicy:
		return base.Strangers("spec", spec, &policiesv1beta1.ImageValidatingPolicySpec{})
	case policy.MutatingPolicy, policy.NamespacedMutatingPolicy:
		return base.Strangers("spec", spec, &policiesv1beta1.MutatingPolicySpec{})
	default:
		return base.Strangers("spec", spec, &policiesv1beta1.ValidatingPolicySpec{})
	}
}
