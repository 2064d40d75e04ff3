// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/kyverno/pkg/engine/apicall"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"github.com/kyverno/kyverno/pkg/engine/context/resolvers"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"k8s.io/client-go/kubernetes"
)

var (
	errNoRegistry      = errors.New("image registries are not asked")
	errNoGlobalContext = errors.New("there are no global context entries")
)

// clusterContexts loads the contexts of rules from a cluster.
func clusterContexts(client kubernetes.Interface) (engineapi.ContextLoaderFactory, error) {
	resolver, err := resolvers.NewClientBasedResolver(client)
	if err != nil {
		return nil, fmt.Errorf("cannot make the resolver of ConfigMaps: %w", err)
	}
	calls := apicall.NewAPICallConfiguration(maxContextBytes, defaultTimeout)
	return refusing(factories.DefaultContextLoaderFactory(resolver, factories.WithAPICallConfig(calls)), true), nil
}

// absentContexts refuses all contexts but variables.
func absentContexts() engineapi.ContextLoaderFactory {
	return refusing(factories.DefaultContextLoaderFactory(nil), false)
}

// refusing makes loaders that fail, when they are read, on entries whose source is not there.
// Kyverno's own loader leaves such an entry out.
func refusing(inner engineapi.ContextLoaderFactory, cluster bool) engineapi.ContextLoaderFactory {
	return func(policy kyvernov1.PolicyInterface, rule kyvernov1.Rule) engineapi.ContextLoader {
		return &contextLoader{inner: inner(policy, rule), cluster: cluster}
	}
}

type contextLoader struct {
	inner   engineapi.ContextLoader
	cluster bool
}

// Load is that of the engine's context loaders. Entries may use earlier ones: it keeps their order.
func (l *contextLoader) Load(
	ctx context.Context, query jmespath.Interface, client engineapi.RawClient, registries engineapi.RegistryClientFactory,
	entries []kyvernov1.ContextEntry, document enginecontext.Interface,
) error {
	for i := range entries {
		cause := l.missing(&entries[i])
		if cause == nil {
			if err := l.inner.Load(ctx, query, client, registries, entries[i:i+1], document); err != nil {
				return err
			}
			continue
		}
		failing := &failingLoader{document: document, cause: fmt.Errorf("context entry %s: %w", entries[i].Name, cause)}
		deferred, err := enginecontext.NewDeferredLoader(entries[i].Name, failing, logr.Discard())
		if err != nil {
			return fmt.Errorf("context entry %s: %w", entries[i].Name, err)
		}
		if err := document.AddDeferredLoader(deferred); err != nil {
			return err
		}
	}
	return nil
}

// missing says why an entry can't be loaded; nil if it can be tried.
func (l *contextLoader) missing(entry *kyvernov1.ContextEntry) error {
	switch {
	case entry.ConfigMap != nil && !l.cluster:
		return fmt.Errorf("configMap: %w", errNoCluster)
	case entry.APICall != nil && !l.cluster:
		return fmt.Errorf("apiCall: %w", errNoCluster)
	case entry.GlobalReference != nil:
		return fmt.Errorf("globalReference: %w", errNoGlobalContext)
	case entry.ImageRegistry != nil:
		return fmt.Errorf("imageRegistry: %w", errNoRegistry)
	default:
		return nil
	}
}

// failingLoader stands for an entry that can't be loaded. It tells the document, since the engine
// takes some failures for an answer, such as those in the preconditions of a foreach.
type failingLoader struct {
	document enginecontext.Interface
	cause    error
}

// HasLoaded is that of the engine's loaders.
func (f *failingLoader) HasLoaded() bool { return false }

// LoadData is that of the engine's loaders.
func (f *failingLoader) LoadData() error {
	if document, ok := f.document.(*document); ok {
		document.missing = f.cause
	}
	return f.cause
}
