// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// refusing makes loaders that fail on entries whose source is missing. Kyverno's own loader leaves them out.
func refusing(inner engineapi.ContextLoaderFactory, setup *base.Setup) engineapi.ContextLoaderFactory {
	return func(policy kyvernov1.PolicyInterface, rule kyvernov1.Rule) engineapi.ContextLoader {
		out := &contextLoader{inner: inner(policy, rule), setup: setup}
		if policy.IsNamespaced() {
			out.scope.Namespace = policy.GetNamespace()
		}
		return out
	}
}

type contextLoader struct {
	inner engineapi.ContextLoader
	setup *base.Setup
	scope reach.Scope
}

// Load keeps the order of the entries, which may use earlier ones.
func (l *contextLoader) Load(
	ctx context.Context, query jmespath.Interface, client engineapi.RawClient, registries engineapi.RegistryClientFactory,
	entries []kyvernov1.ContextEntry, target enginecontext.Interface,
) error {
	for i := range entries {
		if declared, ok := declaredBy(&entries[i], l.setup.Frozen); ok {
			if err := l.loadCached(ctx, entries[i].Name, declared, target); err != nil {
				return err
			}
			continue
		}
		var err error
		switch {
		case entries[i].ImageRegistry != nil && l.setup.Registries == nil:
			err = addLoader(target, entries[i].Name, &failingLoader{document: target, cause: fmt.Errorf("context entry %s: imageRegistry: %w", entries[i].Name, registry.ErrNone)})
		case entries[i].APICall != nil:
			err = addLoader(target, entries[i].Name, &callLoader{
				ctx: ctx, entry: &entries[i], scope: l.scope, client: client, services: l.setup.Services, entries: l.setup.Entries, expressions: query, document: target,
			})
		default:
			err = l.inner.Load(reach.With(ctx, l.scope), query, client, registries, entries[i:i+1], target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addLoader registers a loader. The engine then calls it when an expression names the variable.
func addLoader(target enginecontext.Interface, variable string, loader enginecontext.Loader) error {
	deferred, err := enginecontext.NewDeferredLoader(variable, loader, logr.Discard())
	if err != nil {
		return fmt.Errorf("context entry %s: %w", variable, err)
	}
	return target.AddDeferredLoader(deferred)
}

var errForeignDocument = errors.New("the context cache has no way into this document")

func (l *contextLoader) loadCached(ctx context.Context, variable string, declared declaration, target enginecontext.Interface) error {
	into, ok := target.(*document)
	if !ok {
		return fmt.Errorf("context entry %s: %w", variable, errForeignDocument)
	}
	loader := &cachedLoader{
		ctx: ctx, entries: l.setup.Entries, document: into, variable: variable, declared: declared, namespace: l.scope.Namespace,
	}
	return addLoader(target, variable, loader)
}

// failingLoader stands for an entry that can't be loaded. It tells the document, since the engine
// takes some failures for an answer, such as those in the preconditions of a foreach.
type failingLoader struct {
	document enginecontext.Interface
	cause    error
}

func (f *failingLoader) HasLoaded() bool { return false }

func (f *failingLoader) LoadData() error {
	if document, ok := f.document.(*document); ok {
		document.missing = f.cause
	}
	return f.cause
}
