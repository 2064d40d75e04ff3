// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// Static is a context cache without a cluster: over documents that never change, and services that are called once,
// when an entry is first used. It implements [policy.Entries]. A kind without any objects is not an error: whether it
// exists is not known here.
type Static struct {
	config    Config
	client    *call.Client
	documents *objects.Documents
	// declared are the entries that objects declare; it never changes.
	declared *index

	mu sync.Mutex
	// loads are the results of loading entries, by entry.
	loads map[policy.Entry]*staticLoad
}

var _ policy.Entries = (*Static)(nil)

// staticLoad is the result of loading an entry.
type staticLoad struct {
	definition *definition
	// lock, of the weight 1, guards the fields below. Its holder loads.
	lock *semaphore.Weighted
	done bool
	data data
	err  error
}

func newStaticLoad(d *definition) *staticLoad {
	return &staticLoad{definition: d, lock: semaphore.NewWeighted(1)}
}

// NewStatic returns a context cache over documents, with the CachedContextEntry and GlobalContextEntry objects in
// entries. Entries that are invalid give errors when they are used; two of one name are an error here.
func NewStatic(config Config, documents *objects.Documents, entries []*unstructured.Unstructured) (*Static, error) {
	if config.Engine == nil {
		return nil, errors.New("context cache: Config.Engine is required")
	}
	s := &Static{
		config: config, client: call.NewClient(config.calls()), documents: documents,
		declared: &index{entries: map[policy.Entry]*entry{}, kinds: map[string]kindState{}},
		loads:    map[policy.Entry]*staticLoad{},
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
		s.loads[d.id] = newStaticLoad(d)
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
	found, err := s.declared.find(query.Entry)
	if err != nil {
		return nil, err
	}
	load := s.loadOf(query.Entry, found)
	if err := load.definition.permit(query); err != nil {
		return nil, err
	}
	if err := load.definition.err; err != nil {
		return nil, err
	}
	if load.lock.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	if !load.done {
		load.data, load.err = s.load(ctx, load.definition)
		// A failure for lack of time is not final: the next query retries.
		load.done = load.err == nil || ctx.Err() == nil
	}
	data, err := load.data, load.err
	load.lock.Release(1)
	if err != nil {
		return nil, err
	}
	return search(ctx, load.definition, data, query)
}

func (s *Static) loadOf(id policy.Entry, found *entry) *staticLoad {
	if found != nil {
		id = found.definition.id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loads[id] == nil {
		s.loads[id] = newStaticLoad(defineInline(id, s.config.Engine))
	}
	return s.loads[id]
}

// load gets the data of a definition. All paths are of documents here, whether they could be watched in a cluster or
// would be called.
func (s *Static) load(ctx context.Context, d *definition) (data, error) {
	from, warning, err := d.locate(s.documents.Kinds())
	var absent *objects.AbsentError
	switch {
	case errors.As(err, &absent):
		return table.NewTable(s.config.Engine, table.Header{APIVersion: "v1"}), nil
	case err != nil:
		return nil, err
	case warning != "":
		return nil, fmt.Errorf("%s (there is no cluster that prefers one)", warning)
	case from.call == nil:
		return s.read(ctx, from.selection)
	case from.call.Path == "":
		return s.call(ctx, *from.call)
	case from.call.Method != "" && from.call.Method != http.MethodGet:
		return nil, fmt.Errorf("%s %s: there is no cluster to ask", from.call.Method, from.call.Path)
	}
	named, err := parsePath(from.call.Path)
	if err != nil {
		return nil, err
	}
	if named == nil {
		return nil, fmt.Errorf("GET %s: there is no cluster to ask, and it is not the path of a list", from.call.Path)
	}
	found, _ := named.In(s.documents.Kinds())
	return s.read(ctx, found)
}

// read returns what the documents have of a selection.
func (s *Static) read(ctx context.Context, of objects.Selection) (data, error) {
	into := newStore(s.config.Engine, of, nil)
	s.documents.Feed(ctx, of, into)
	if into.err != nil {
		return nil, into.err
	}
	return into.data()
}

func (s *Static) call(ctx context.Context, request call.Request) (data, error) {
	answer, err := s.client.JSON(ctx, request)
	if err != nil {
		return nil, err
	}
	return table.NewDocument(s.config.Engine, answer)
}
