// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"

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
// results. Two policies of the same kind and name are an error, since their results could not be told apart.
func Compile(compiler policy.Compiler, policies, exceptions []manifest.Object) ([]policy.Policy, error) {
	if err := unique(policies); err != nil {
		return nil, err
	}
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
	return compiled, group.Wait()
}

// unique refuses two objects of one kind, namespace and name.
func unique(objects []manifest.Object) error {
	type key struct{ group, kind, namespace, name string }
	first := make(map[key]string, len(objects))
	var errs []error
	for _, object := range objects {
		k := key{object.GroupVersionKind().Group, object.GetKind(), object.GetNamespace(), object.GetName()}
		if other, ok := first[k]; ok {
			errs = append(errs, fmt.Errorf("%s: the %s %s is also in %s; give only one of them", object.Origin, k.kind, cache.MetaObjectToName(object), other))
			continue
		}
		first[k] = object.Origin
	}
	return errors.Join(errs...)
}
