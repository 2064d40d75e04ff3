// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// celCompiler makes policies that the CEL engines evaluate. It is safe for concurrent use.
type celCompiler struct {
	*setup
	// library answers with errors if there is no cluster.
	library *library
	schemas *mutation.Schemas
}

var _ policy.Compiler = (*celCompiler)(nil)

// newCELCompiler returns a compiler. The setup is that of the configuration.
func newCELCompiler(c Config, with *setup) *celCompiler {
	out := &celCompiler{setup: with, schemas: c.Schemas}
	if out.schemas == nil {
		out.schemas = mutation.NewSchemas(nil)
	}
	if c.hasCluster() {
		out.library = newLibrary(c.Client, c.Mapper, c.Entries, with.registries)
	} else {
		out.library = newLibrary(nil, nil, c.Entries, with.registries)
	}
	return out
}

// Compile is that of [policy.Compiler], for the policies of policies.kyverno.io. Exceptions that have
// expired are left out: compile again when one expires.
func (c *celCompiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	return compileProtected(object, func(kind schema.GroupKind) policy.Policy {
		if kind.Group != policy.CELGroup {
			return nil
		}
		switch kind.Kind {
		case policy.ValidatingPolicy, policy.NamespacedValidatingPolicy:
			return c.compileCEL(object, exceptions)
		case policy.ImageValidatingPolicy, policy.NamespacedImageValidatingPolicy:
			return c.compileImages(object, exceptions)
		case policy.MutatingPolicy, policy.NamespacedMutatingPolicy:
			return c.compileMutating(object, exceptions)
		}
		if policy.OnlyKyverno(kind.Kind) {
			return describeOnly(object)
		}
		return nil
	})
}
