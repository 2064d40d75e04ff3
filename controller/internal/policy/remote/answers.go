// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/rpc"
	"reflect"
	"sync"

	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/docket-project/docket/controller/internal/policy"
)

var errNoEntries = errors.New("there is no context cache here")

// answers answers the queries of a process.
type answers struct {
	entries policy.Entries

	mu      sync.Mutex
	last    uint64
	running map[uint64]context.CancelFunc
	// known has the *knownAnswer that the process has for a query.
	known *lru.Cache
}

func newAnswers(entries policy.Entries) *answers {
	return &answers{entries: entries, running: map[uint64]context.CancelFunc{}, known: lru.New(maxKnown)}
}

// serve answers until the process ends or ctx is done.
func (a *answers) serve(ctx context.Context, s *session) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		var asked Asked
		if err := s.call(ctx, "Ask", &None{}, &asked); err != nil {
			if told(err) {
				klog.FromContext(ctx).Error(err, "An engine can't ask for cached data", "engine", s.engine.config.Name)
			}
			return
		}
		a.cancel(asked.Canceled)
		for i := range asked.Queries {
			question := &asked.Queries[i]
			limited, cancel := a.begin(ctx, question)
			all.Go(func() {
				defer cancel()
				answer := a.answer(limited, question)
				s.client.Go(serviceName+".Answer", answer, &None{}, make(chan *rpc.Call, 1))
			})
		}
	}
}

func (a *answers) cancel(ids []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		if cancel := a.running[id]; cancel != nil {
			cancel()
		}
	}
}

// begin returns the context for a query, and what to call at its end.
func (a *answers) begin(ctx context.Context, question *Question) (limited context.Context, end func()) {
	var cancel context.CancelFunc
	if question.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, question.Limit)
	} else {
		limited, cancel = context.WithCancel(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[question.ID] = cancel
	return limited, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, question.ID)
	}
}

func (a *answers) answer(ctx context.Context, question *Question) *Answer {
	answer := &Answer{ID: question.ID}
	if a.entries == nil {
		answer.Error = errNoEntries.Error()
		return answer
	}
	value, err := a.entries.Query(ctx, question.Query)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	if answer.Known, answer.Tag = a.tag(question, value); answer.Known {
		return answer
	}
	if answer.Value, err = json.Marshal(value); err == nil {
		err = checkSize(answer.Value)
	}
	if err != nil {
		answer.Value, answer.Error = nil, err.Error()
	}
	return answer
}

// tag reports whether a result is what the process knows, and returns the tag for it; 0 if it can't be told from
// others.
func (a *answers) tag(question *Question, value any) (known bool, tag uint64) {
	pointer, ok := address(value)
	if !ok {
		return false, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.known.Get(question.Query); ok {
		before, _ := before.(*knownAnswer)
		if at, _ := address(before.value); at == pointer {
			return before.tag == question.Known, before.tag
		}
	}
	a.last++
	// It keeps the value, so that nothing else gets its address.
	a.known.Add(question.Query, &knownAnswer{a.last, value})
	return false, a.last
}

// address identifies a result, which nobody changes.
func address(value any) (at [2]uintptr, ok bool) {
	switch typed := value.(type) {
	case map[string]any:
		return [2]uintptr{reflect.ValueOf(typed).Pointer(), 0}, typed != nil
	case []any:
		return [2]uintptr{reflect.ValueOf(typed).Pointer(), uintptr(len(typed))}, len(typed) > 0
	default:
		return at, false
	}
}
