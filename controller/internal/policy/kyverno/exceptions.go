// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"time"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/policy"
)

// classicExceptions returns those of the exceptions that name the policy.
func classicExceptions(object *unstructured.Unstructured, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	name := cache.MetaObjectToName(object).String()
	return referring(all, policy.KyvernoGroup, []string{"spec", "exceptions"}, func(reference map[string]any) bool {
		return reference["policyName"] == name
	})
}

// celExceptions returns those of the exceptions that name the policy and have not expired.
func celExceptions(object *unstructured.Unstructured, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	named := referring(all, policy.CELGroup, []string{"spec", "policyRefs"}, func(reference map[string]any) bool {
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

func referring(
	all []*unstructured.Unstructured, group string, path []string, matches func(map[string]any) bool,
) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, exception := range all {
		if exception.GetKind() != policy.Exception || exception.GroupVersionKind().Group != group {
			continue
		}
		references, _, err := unstructured.NestedFieldNoCopy(exception.Object, path...)
		if err != nil {
			continue
		}
		list, _ := references.([]any)
		for _, item := range list {
			if reference, ok := item.(map[string]any); ok && matches(reference) {
				out = append(out, exception)
				break
			}
		}
	}
	return out
}

// selector has the exceptions of one policy.
type selector []*kyvernov2.PolicyException

// newSelector returns nil if there are no exceptions.
func newSelector(objects []*unstructured.Unstructured) (engineapi.PolicyExceptionSelector, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	var out selector
	for _, object := range objects {
		exception := &kyvernov2.PolicyException{}
		if err := decode(object, exception); err != nil {
			return nil, err
		}
		out = append(out, exception)
	}
	return out, nil
}

// Find is that of the engine's selectors.
func (s selector) Find(policyName, ruleName string) ([]*kyvernov2.PolicyException, error) {
	var found []*kyvernov2.PolicyException
	for _, exception := range s {
		if exception.Contains(policyName, ruleName) {
			found = append(found, exception)
		}
	}
	return found, nil
}

func decodeCELExceptions(objects []*unstructured.Unstructured) ([]*policiesv1beta1.PolicyException, error) {
	out := make([]*policiesv1beta1.PolicyException, 0, len(objects))
	for _, object := range objects {
		exception := &policiesv1beta1.PolicyException{}
		if err := decode(object, exception); err != nil {
			return nil, fmt.Errorf("an exception of the policy: %w", err)
		}
		out = append(out, exception)
	}
	return out, nil
}
