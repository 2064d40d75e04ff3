// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// StaticConfig is what a [Static] works with. Engine is required.
type StaticConfig struct {
	Engine *table.Engine
	// Entries are CachedContextEntry and GlobalContextEntry objects; others are left out.
	Entries []*unstructured.Unstructured
	// Resources are all there are in the world. They are not changed.
	Resources []*unstructured.Unstructured
	// CallTimeout, MaxResponse, AllowRanges and BlockRanges are as in [Config].
	CallTimeout              time.Duration
	MaxResponse              int64
	AllowRanges, BlockRanges []netip.Prefix
}

// Static is a context cache without a cluster: over resources that never change, and services that
// are called once, when an entry is first used. It implements [policy.Entries]. A kind without any
// resources is not an error: whether it exists is not known here.
type Static struct {
	engine *table.Engine
	calls  call.Config
	world  *staticWorld
	// objects are the entries that objects declare; it never changes.
	objects *index

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

// NewStatic returns a context cache over objects that never change. Entries that are invalid give
// errors when they are used; two of one name are an error here.
func NewStatic(config StaticConfig) (*Static, error) {
	if config.Engine == nil {
		return nil, errors.New("context cache: StaticConfig.Engine is required")
	}
	s := &Static{
		engine: config.Engine,
		calls: call.Config{
			Timeout: config.CallTimeout, MaxResponse: config.MaxResponse,
			Allow: config.AllowRanges, Block: config.BlockRanges,
		},
		world: newStaticWorld(config.Resources),
		objects: &index{entries: map[policy.Entry]*entry{}, kinds: map[string]kindState{
			policy.CachedContextEntry: {decided: true}, policy.GlobalContextEntry: {decided: true},
		}},
		loads: map[policy.Entry]*staticLoad{},
	}
	for _, object := range config.Entries {
		kind := object.GetKind()
		if object.GroupVersionKind().Group != policy.KyvernoGroup || (kind != policy.CachedContextEntry && kind != policy.GlobalContextEntry) {
			continue
		}
		d := define(object, config.Engine)
		if s.objects.entries[d.id] != nil {
			return nil, fmt.Errorf("%s: is there twice", title(d.id))
		}
		s.objects.entries[d.id] = &entry{definition: d}
	}
	return s, nil
}

// Calls is like [Cache.Calls].
func (s *Static) Calls() call.Config { return s.calls }

// Query implements [policy.Entries].
func (s *Static) Query(ctx context.Context, query policy.Query) (any, error) {
	result, err := s.query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(query.Entry), err)
	}
	return result, nil
}

func (s *Static) query(ctx context.Context, query policy.Query) (any, error) {
	found, err := s.objects.find(query.Entry)
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
	if load := s.loads[id]; load != nil {
		return load
	}
	load := &staticLoad{lock: semaphore.NewWeighted(1)}
	if found != nil {
		load.definition = found.definition
	} else {
		load.definition = defineInline(id, s.engine)
	}
	s.loads[id] = load
	return load
}

// load gets the data of a definition.
func (s *Static) load(ctx context.Context, d *definition) (data, error) {
	path := d.path
	switch {
	case d.resource != nil:
		found, warning, err := find(s.world, d.resource)
		var absent *absentError
		if errors.As(err, &absent) {
			return table.NewTable(s.engine, table.Header{APIVersion: "v1"}), nil
		}
		if err != nil {
			return nil, err
		}
		if warning != "" {
			return nil, fmt.Errorf("%s (there is no cluster that prefers one)", warning)
		}
		return s.world.data(s.engine, found)
	case d.call != nil && d.call.Path == "":
		return s.call(ctx, *d.call)
	case d.call != nil:
		if d.call.Method != "" && d.call.Method != "GET" {
			return nil, fmt.Errorf("%s %s: there is no cluster to ask", d.call.Method, d.call.Path)
		}
		var err error
		if path, err = parsePath(d.call.Path); err != nil {
			return nil, err
		}
	}
	if !path.watchable {
		return nil, fmt.Errorf("GET %s: there is no cluster to ask, and it is not the path of a list", path.text)
	}
	return s.world.data(s.engine, s.world.selection(path))
}

func (s *Static) call(ctx context.Context, request call.Request) (data, error) {
	c, err := call.New(s.calls, request)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	answer, err := c.Do(ctx)
	if err != nil {
		return nil, err
	}
	document, err := table.NewDocument(s.engine, answer)
	if err != nil {
		return nil, err
	}
	return documentData{document}, nil
}
