// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// AllOperations has them in the order in which [policy.Admission] names them.
var AllOperations = []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}

// Ordered returns operations without those that occur twice.
func Ordered(operations []admissionv1.Operation) []admissionv1.Operation {
	var out []admissionv1.Operation
	for _, operation := range AllOperations {
		if slices.Contains(operations, operation) {
			out = append(out, operation)
		}
	}
	return out
}

// Seconds returns a number of seconds as policies have it; 0 if they have none.
func Seconds(number *int32) time.Duration {
	if number == nil {
		return 0
	}
	return time.Duration(*number) * time.Second
}

// Requested reports whether targets have a resource, or its subresource.
func Requested(targets []policy.Target, kind schema.GroupVersionKind, resource, subresource string) bool {
	return slices.ContainsFunc(targets, func(target policy.Target) bool {
		return target.MatchesResource(kind, resource) && target.MatchesSubresource(subresource)
	})
}

// rawAdmission reads the same of a policy of any kind that may not be readable otherwise. Of its operations it assumes
// those that come with every change; deletions are never refused for a policy that nobody can read.
func rawAdmission(object *unstructured.Unstructured, enabled bool) policy.Admission {
	spec, _ := object.Object["spec"].(map[string]any)
	out := policy.Admission{Enabled: enabled, Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update}}
	failurePolicy := spec["failurePolicy"]
	if object.GroupVersionKind().Group == policy.CELGroup {
		actions, found := spec["validationActions"].([]any)
		out.Enforces = !found || len(actions) == 0 || slices.Contains(actions, any(string(admissionregistrationv1.Deny)))
		out.Warns = slices.Contains(actions, any(string(admissionregistrationv1.Warn)))
	} else {
		out.Enforces = rawEnforces(spec)
		out.Warns = out.Enforces || spec["emitWarning"] == true
		if webhook, ok := spec["webhookConfiguration"].(map[string]any); ok && webhook["failurePolicy"] != nil {
			failurePolicy = webhook["failurePolicy"]
		}
	}
	out.Closed = out.Enforces && failurePolicy != failurePolicyIgnore
	return out
}

// rawEnforces finds a word for enforcement where a policy may have it.
func rawEnforces(value any) bool {
	enforce := func(value any) bool {
		text, _ := value.(string)
		return strings.EqualFold(text, actionEnforce)
	}
	switch typed := value.(type) {
	case []any:
		return slices.ContainsFunc(typed, rawEnforces)
	case map[string]any:
		for key, item := range typed {
			switch key {
			case "validationFailureAction", "failureAction", "action":
				if enforce(item) {
					return true
				}
			case "rules", "validate", "validationFailureActionOverrides", "failureActionOverrides":
				if rawEnforces(item) {
					return true
				}
			}
		}
	}
	return false
}
