// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The names of engines that can be processes of their own.
const (
	// ClassicEngine is Kyverno's for the policies of [KyvernoGroup].
	ClassicEngine = "kyverno-classic"
	// CELEngine is Kyverno's for the policies of [CELGroup].
	CELEngine = "kyverno-cel"
)

// Engines returns the API groups of the policies of engines that can be processes of their own, by the name of the
// engine.
func Engines() map[string]string {
	return map[string]string{ClassicEngine: KyvernoGroup, CELEngine: CELGroup}
}

// AwayError says that the engine of a policy is away: it is a process of its own that has ended, or was never
// there. Nothing is known about the subject then, so that earlier results have to stay as they are.
type AwayError struct {
	// Engine is its name.
	Engine string
	Cause  error
}

// Error implements error.
func (e *AwayError) Error() string {
	return fmt.Sprintf("the engine %s is away: %v", e.Engine, e.Cause)
}

// Unwrap returns the cause.
func (e *AwayError) Unwrap() error { return e.Cause }

// Apart is a [Policy] whose engine is a process of its own, which may be away: Evaluate and Review then fail with
// an [*AwayError].
type Apart interface {
	Policy
	// Away returns an [*AwayError] while the engine is away; nil while it is there.
	Away() error
	// Await waits until the engine is there. It fails with the error of ctx.
	Await(ctx context.Context) error
	// Outdated reports whether the policy has to be compiled again once the engine is there: it was away when
	// the policy was to be compiled, or has come back in another version.
	Outdated() bool
	// Batch prepares the evaluation of policies of the same engine for a subject, each for at most limit (0
	// means no limit). With the context that it returns, Evaluate takes the results from there. The caller
	// calls end when it calls no more Evaluate; those that it has called may still go on.
	Batch(ctx context.Context, policies []Policy, subject Subject, limit time.Duration) (batch context.Context, end func())
	// Engine identifies the engine. It is comparable.
	Engine() any
}

// Away returns an [*AwayError] while the engine of a policy is away; nil while it is there.
func Away(p Policy) error {
	if apart, ok := p.(Apart); ok {
		return apart.Away()
	}
	return nil
}

// Outdated reports whether a policy has to be compiled again, see [Apart].
func Outdated(p Policy) bool {
	apart, ok := p.(Apart)
	return ok && apart.Outdated()
}

// Await waits until the engine of a policy is there.
func Await(ctx context.Context, p Policy) error {
	if apart, ok := p.(Apart); ok {
		return apart.Await(ctx)
	}
	return nil
}

// Batch prepares the evaluation of policies for a subject, see [Apart]: each engine that is a process of its own
// is asked once for all of its policies. Other policies are left out.
func Batch(ctx context.Context, policies []Policy, subject Subject, limit time.Duration) (batch context.Context, end func()) {
	var engines []any
	groups := map[any][]Policy{}
	for _, p := range policies {
		apart, ok := p.(Apart)
		if !ok {
			continue
		}
		engine := apart.Engine()
		if !slices.Contains(engines, engine) {
			engines = append(engines, engine)
		}
		groups[engine] = append(groups[engine], p)
	}
	var ends []func()
	for _, engine := range engines {
		group := groups[engine]
		first, _ := group[0].(Apart)
		ctx, end = first.Batch(ctx, group, subject, limit) //nolint:fatcontext // There are few engines.
		ends = append(ends, end)
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}

// Changing is a [Compiler] whose engine may be away or replaced.
type Changing interface {
	// Subscribe calls changed whenever an engine has gone or come back, until unsubscribe is called. changed must
	// return quickly.
	Subscribe(changed func()) (unsubscribe func())
}

// Subscribe calls changed whenever an engine of a compiler has gone or come back.
func Subscribe(compiler Compiler, changed func()) (unsubscribe func()) {
	if changing, ok := compiler.(Changing); ok {
		return changing.Subscribe(changed)
	}
	return func() {}
}

// Subscribe implements [Changing].
func (b ByGroup) Subscribe(changed func()) (unsubscribe func()) {
	ends := []func(){Subscribe(b.Compiler, changed)}
	for _, compiler := range b.Groups {
		ends = append(ends, Subscribe(compiler, changed))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
