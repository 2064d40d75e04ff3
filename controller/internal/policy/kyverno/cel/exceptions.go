// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"time"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// celExceptions returns those of the exceptions that name the policy and have not expired.
func celExceptions(object *unstructured.Unstructured, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	named := base.Referring(all, policy.CELGroup, []string{"spec", "policyRefs"}, func(reference map[string]any) bool {
		return reference["name"] == object.GetName() && reference["kind"] == object.GetKind()
	})
	out := named[:0]
	for _, exception := range named {
		// The reference has no namespace: it is to the policy beside it.
		beside := object.GetNamespace() == "" || object.GetNamespace() == exception.GetNamespace()
		if beside && !expired(exception) {
			out = append(out, exception)
		}
	}
	return out
}

func expired(exception *unstructured.Unstructured) bool {
	at := policy.ExpiryOf(exception)
	return !at.IsZero() && time.Now().After(at)
}

func decodeCELExceptions(objects []*unstructured.Unstructured) ([]*policiesv1beta1.PolicyException, error) {
	out := make([]*policiesv1beta1.PolicyException, 0, len(objects))
	for _, object := range objects {
		exception := &policiesv1beta1.PolicyException{}
		if err := base.Decode(object, exception); err != nil {
			return nil, fmt.Errorf("an exception of the policy: %w", err)
		}
		out = append(out, exception)
	}
	return out, nil
}
