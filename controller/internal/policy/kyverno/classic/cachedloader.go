// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/kyverno/kyverno/pkg/engine/variables"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// cachedLoader puts the result of a query of the context cache into a document, once: what follows
// in the same evaluation sees the same data.
type cachedLoader struct {
	ctx       context.Context //nolint:containedctx // That of the evaluation; the engine's loaders get none.
	entries   policy.Entries
	document  *document
	variable  string
	declared  declaration
	namespace string

	loaded bool
	value  any
}

func (l *cachedLoader) HasLoaded() bool { return l.loaded }

// LoadData notes a failure in the document, as [failingLoader] does.
func (l *cachedLoader) LoadData() error {
	if !l.loaded {
		value, err := l.load()
		if err != nil {
			l.document.missing = fmt.Errorf("context entry %s: %s: %w", l.variable, l.declared.source, err)
			return l.document.missing
		}
		l.value, l.loaded = value, true
	}
	return l.document.share(l.variable, l.value)
}

func (l *cachedLoader) load() (any, error) {
	if l.entries == nil {
		return nil, base.ErrNoEntries
	}
	declared, err := l.substituted()
	if err != nil {
		return nil, err
	}
	if err := declared.check(l.namespace); err != nil {
		return nil, err
	}
	query := declared.query(l.variable)
	query.Namespace = l.namespace
	value, err := l.entries.Query(l.ctx, query)
	if err == nil || declared.fallback == nil {
		return value, err
	}
	return l.fallback(query, err)
}

// fallback is for API calls that fail, not for expressions that do.
func (l *cachedLoader) fallback(query policy.Query, cause error) (any, error) {
	query.Expression = "`true`"
	if _, err := l.entries.Query(l.ctx, query); err == nil {
		return nil, cause
	}
	var value any
	if err := json.Unmarshal(l.declared.fallback.Raw, &value); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	return value, nil
}

// substituted returns the declaration without variables. A field that the user has written does
// not become empty: no namespace would mean all of them.
func (l *cachedLoader) substituted() (declaration, error) {
	out := l.declared
	for _, part := range append(out.parts(), part{"jmesPath", &out.expression}) {
		if !hasVariable(*part.text) {
			continue
		}
		value, err := variables.SubstituteAll(logr.Discard(), l.document, *part.text)
		if err != nil {
			return out, fmt.Errorf("%s: %w", part.name, err)
		}
		text, ok := value.(string)
		if !ok || text == "" {
			return out, fmt.Errorf("%s: %s is %v, not a text", part.name, *part.text, value)
		}
		*part.text = text
	}
	return out, nil
}
