// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// Static is the context cache of a scan of files: over an API that never changes, and services that are called once,
// when an entry is first used. It implements [policy.Entries].
type Static struct {
	config Config
	client *call.Client
	source *objects.API
	// declared are the entries that files declare; it never changes.
	declared *index
	// found are the other entries that policies ask for by name, loads the data of all.
	found objects.Once[policy.Entry, *definition]
	loads objects.Once[policy.Entry, data]
}

var _ policy.Entries = (*Static)(nil)

// NewStatic returns a context cache over an API, with the CachedContextEntry and GlobalContextEntry objects in entries;
// others are looked for in the API. Entries that are invalid give errors when they are used; two of one name are an
// error here.
func NewStatic(config Config, source *objects.API, entries []*unstructured.Unstructured) (*Static, error) {
	if config.Engine == nil {
		return nil, errors.New("context cache: Config.Engine is required")
	}
	var err error
	if config.REST, err = source.REST(); err != nil {
		return nil, err
	}
	s := &Static{
		config: config, client: call.NewClient(config.calls()), source: source,
		declared: &index{entries: map[policy.Entry]*entry{}, kinds: map[string]kindState{}},
	}
	for _, kind := range entryKinds {
		s.declared.kinds[kind] = kindState{decided: true}
	}
	for _, object := range entries {
		d := define(object, config.Engine)
		if s.declared.entries[d.id] != nil {
			return nil, fmt.Errorf("%s: is there twice", title(d.id))
		}
		s.declared.entries[d.id] = &entry{definition: d}
	}
	return s, nil
}

// Calls is like [Cache.Calls].
func (s *Static) Calls() call.Config { return s.config.calls() }

// Query implements [policy.Entries].
func (s *Static) Query(ctx context.Context, query policy.Query) (any, error) {
	result, err := s.query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(query.Entry), err)
	}
	return result, nil
}

func (s *Static) query(ctx context.Context, query policy.Query) (any, error) {
	// What an entry reads is its own business, not that of the policy that asks for it.
	reading := reach.With(ctx, reach.Scope{})
	d, err := s.definitionOf(reading, query.Entry)
	if err != nil {
		return nil, err
	}
	if err := d.permit(query); err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, d.err
	}
	from, err := s.loads.Get(reading, d.id, func(ctx context.Context) (data, error) { return s.load(ctx, d) })
	if err != nil {
		return nil, err
	}
	return search(ctx, d, from, query)
}

// definitionOf returns the definition of an entry: of the files, of an object in the API, or of the policy itself.
func (s *Static) definitionOf(ctx context.Context, id policy.Entry) (*definition, error) {
	found, unknown := s.declared.find(id)
	if found != nil {
		return found.definition, nil
	}
	return s.found.Get(ctx, id, func(ctx context.Context) (*definition, error) {
		if id.Kind == "" {
			return defineInline(id, s.config.Engine), nil
		}
		for _, kind := range entryKinds {
			of, _, err := objects.Find(s.source.Kinds(), objects.Named{EntryResource: policy.EntryResource{Group: policy.KyvernoGroup, Kind: kind}, Exact: true})
			if err != nil {
				continue // The API has no such kind.
			}
			of.Name = id.Name
			list, err := s.source.List(ctx, of)
			if err != nil {
				return nil, err
			}
			if len(list) > 0 {
				return define(list[0], s.config.Engine), nil
			}
		}
		return nil, unknown
	})
}

// load gets the data of a definition.
func (s *Static) load(ctx context.Context, d *definition) (data, error) {
	from, warning, err := d.locate(s.source.Kinds())
	switch {
	case err != nil:
		return nil, err
	case warning != "":
		return nil, fmt.Errorf("%s (there is no cluster that prefers one)", warning)
	case from.call == nil:
		from.selection.Bare = d.path != nil
		return s.read(ctx, from.selection)
	}
	answer, err := s.client.Do(ctx, *from.call)
	if err != nil {
		return nil, err
	}
	return table.NewDocument(s.config.Engine, answer)
}

// read returns what the API has of a selection.
func (s *Static) read(ctx context.Context, of objects.Selection) (data, error) {
	into := newStore(s.config.Engine, of, nil)
	s.source.Feed(ctx, of, into)
	if into.err != nil {
		return nil, into.err
	}
	return into.data()
}
