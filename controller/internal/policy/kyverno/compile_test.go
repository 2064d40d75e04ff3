// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

func compiler(tb testing.TB) *Compiler {
	tb.Helper()
	out, err := NewCompiler(Config{ExceptionNamespaces: []string{policy.AllNamespaces}})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// compile compiles a policy that has to be fine.
func compile(tb testing.TB, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	out := compileAny(tb, text, exceptions...)
	if problem := out.Problem(); problem != nil {
		tb.Fatalf("%s: %v", out.Identity(), problem)
	}
	return out
}

func compileAny(tb testing.TB, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	var others []*unstructured.Unstructured
	for _, exception := range exceptions {
		others = append(others, object(tb, exception))
	}
	return compiler(tb).Compile(object(tb, text), others)
}

func withEntries(tb testing.TB, entries policy.Entries) *Compiler {
	tb.Helper()
	out, err := NewCompiler(Config{Entries: entries})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func compileIn(t *testing.T, c *Compiler, text string) policy.Policy {
	t.Helper()
	p := c.Compile(object(t, text), nil)
	if p.Problem() != nil {
		t.Fatal(p.Problem())
	}
	return p
}
