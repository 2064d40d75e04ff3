// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// Compiler makes policies that the CEL engines evaluate. It is safe for concurrent use.
type Compiler struct {
	*base.Setup
	library *library
}

var _ policy.Compiler = (*Compiler)(nil)

// NewCompiler returns a compiler.
func NewCompiler(setup *base.Setup) *Compiler {
	return &Compiler{Setup: setup, library: newLibrary(setup.Client, setup.Mapper, setup.Entries, setup.Registries)}
}

// Compile is that of [policy.Compiler], for the policies of policies.kyverno.io. Exceptions that have
// expired are left out: compile again when one expires.
func (c *Compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	return base.CompileProtected(object, func(kind schema.GroupKind) policy.Policy {
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
			return base.DescribeOnly(object)
		}
		return nil
	})
}
