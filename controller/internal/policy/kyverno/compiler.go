// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/cel"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
)

// Compiler makes policies that Kyverno's engines evaluate. It is safe for concurrent use.
type Compiler struct {
	classic *classic.Compiler
	cel     *cel.Compiler
}

var _ policy.Compiler = (*Compiler)(nil)

// NewCompiler returns a compiler. The first one in a process silences the logger of Kyverno's
// engines, which is that of controller-runtime, unless klog's verbosity is 8 or higher.
func NewCompiler(config base.Config) (*Compiler, error) {
	setup, err := base.NewSetup(config)
	if err != nil {
		return nil, err
	}
	older, err := classic.NewCompiler(setup)
	if err != nil {
		return nil, err
	}
	return &Compiler{classic: older, cel: cel.NewCompiler(setup)}, nil
}

// Compile implements [policy.Compiler]. [policy.IgnoredExceptions] returns the exceptions that don't count.
func (c *Compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	if object.GroupVersionKind().Group == policy.KyvernoGroup {
		return c.classic.Compile(object, exceptions)
	}
	return c.cel.Compile(object, exceptions)
}
