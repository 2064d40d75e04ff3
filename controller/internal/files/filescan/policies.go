// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"fmt"
	"reflect"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// namespacedPolicies are the namespaced kinds of policies.
var namespacedPolicies = map[string]bool{
	policy.NamespacedPolicy: true, policy.NamespacedValidatingPolicy: true, policy.NamespacedImageValidatingPolicy: true, policy.NamespacedMutatingPolicy: true,
}

// Sorted is a set of objects, by what a scan does with them.
type Sorted struct {
	Policies, Exceptions []manifest.Object
	// Entries declare what the context cache holds.
	Entries []manifest.Object
	// Others are all other objects.
	Others []manifest.Object
}

// Sort separates policies, exceptions, entries of the context cache, and other objects. Namespaced policies and
// exceptions without a namespace get the given one; empty for default.
func Sort(objects []manifest.Object, namespace string) Sorted {
	if namespace == "" {
		namespace = defaultNamespace
	}
	var sorted Sorted
	policies, exceptions := policy.Kinds(), policy.ExceptionKinds()
	for _, object := range objects {
		kind := object.GroupVersionKind().GroupKind()
		if (namespacedPolicies[kind.Kind] && policies[kind] != "" || exceptions[kind] != "") && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		switch {
		case policies[kind] != "":
			sorted.Policies = append(sorted.Policies, object)
		case exceptions[kind] != "":
			sorted.Exceptions = append(sorted.Exceptions, object)
		case kind.Group == policy.KyvernoGroup && (kind.Kind == policy.CachedContextEntry || kind.Kind == policy.GlobalContextEntry):
			sorted.Entries = append(sorted.Entries, object)
		default:
			sorted.Others = append(sorted.Others, object)
		}
	}
	return sorted
}

// Compile compiles all policies with their exceptions. Policies that can't be evaluated are included, and give error
// results.
func Compile(compiler policy.Compiler, policies, exceptions []manifest.Object) []policy.Policy {
	binding := plain(exceptions)
	compiled := make([]policy.Policy, len(policies))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, object := range policies {
		group.Go(func() error {
			compiled[i] = compiler.Compile(object.Unstructured, binding)
			return nil
		})
	}
	_ = group.Wait() // It has no errors.
	return compiled
}

// distinct returns the first policy of each kind, namespace and name, and errors for others that say something else:
// their results could not be told apart.
func distinct(policies []manifest.Object) (kept []manifest.Object, others []*manifest.UnreadableError) {
	first := map[policy.Identity]manifest.Object{}
	for _, object := range policies {
		id := policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
		switch before, ok := first[id]; {
		case !ok:
			first[id] = object
			kept = append(kept, object)
		case !reflect.DeepEqual(before.Object, object.Object):
			others = append(others, &manifest.UnreadableError{Origin: object.Origin, Place: object.Place, Cause: fmt.Errorf(
				"the %s %s is also in %s, and only that one is evaluated; give only one of them",
				id.Kind, cache.MetaObjectToName(object), before.Origin)})
		}
	}
	return kept, others
}

// refused is a policy that is not evaluated as it stands: it gives an error for what it matches.
type refused struct {
	policy.Policy
	problem error
}

// Problem implements [policy.Policy].
func (r refused) Problem() error { return r.problem }

// Evaluate implements [policy.Policy].
func (r refused) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	results, err := r.Policy.Evaluate(ctx, subject)
	refusals := make([]policy.Result, len(results))
	for i, result := range results {
		refusals[i] = policy.Result{Rule: result.Rule, Outcome: report.OutcomeError, Message: r.problem.Error()}
	}
	return refusals, err
}
