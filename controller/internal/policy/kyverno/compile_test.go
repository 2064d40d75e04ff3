// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func compiler(tb testing.TB) *Compiler {
	tb.Helper()
	return testkit.Must(NewCompiler(base.Config{ExceptionNamespaces: []string{policy.AllNamespaces}}))(tb)
}

// compile compiles a policy that has to be fine.
func compile(tb testing.TB, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	return enginetest.Compile(tb, compiler(tb), text, exceptions...)
}

func compileAny(tb testing.TB, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	return enginetest.CompileAny(tb, compiler(tb), text, exceptions...)
}

func withEntries(tb testing.TB, entries policy.Entries) *Compiler {
	tb.Helper()
	return testkit.Must(NewCompiler(base.Config{Entries: entries}))(tb)
}
