// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// classicExceptions returns those of the exceptions that name the policy.
func classicExceptions(object *unstructured.Unstructured, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	name := cache.MetaObjectToName(object).String()
	return base.Referring(all, policy.KyvernoGroup, []string{"spec", "exceptions"}, func(reference map[string]any) bool {
		return reference["policyName"] == name
	})
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
		if err := base.Decode(object, exception); err != nil {
			return nil, err
		}
		withResize(exception.Spec.Match.Any, exception.Spec.Match.All)
		out = append(out, exception)
	}
	return out, nil
}

func (s selector) Find(policyName, ruleName string) ([]*kyvernov2.PolicyException, error) {
	var found []*kyvernov2.PolicyException
	for _, exception := range s {
		if exception.Contains(policyName, ruleName) {
			found = append(found, exception)
		}
	}
	return found, nil
}
