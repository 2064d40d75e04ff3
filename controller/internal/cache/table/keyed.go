// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kyverno/go-jmespath"

	"github.com/docket-project/docket/controller/internal/policy"
)

var errKeyType = errors.New("is neither a text, a number, true or false, nor an array of these")

// CheckKeys tells what is wrong with an expression for the keys of objects, before it is evaluated. Keys
// have to be the same whenever they are computed: an expression may depend on the object only.
func (e *Engine) CheckKeys(expression string) error {
	parsed, err := e.checkPure(expression)
	switch {
	case err != nil:
		return err
	case isCurrent(parsed):
		return errors.New("the whole object can't be a key: select a field, as metadata.name does")
	case !isOrdered(parsed):
		return fmt.Errorf("expression %q: the members of an object are in no order, so keys(), values() and .* can't be in a key", shorten(expression))
	}
	return nil
}

// Index has the objects of a table at one time by their keys. It never changes, and is safe for concurrent
// use.
type Index struct {
	content *postings
}

var _ policy.Index = (*Index)(nil)

// Index returns the objects by the keys that an expression gives for each of them: a text, a number, true
// or false, or an array of these. An object for which it gives null has no key. The error names the first
// object whose keys can't be computed. What was computed for unchanged objects is kept; Index waits for
// others who compute the same until ctx is done.
func (t *Table) Index(ctx context.Context, expression string) (*Index, error) {
	compiled, err := t.engine.Compile(expression)
	if err != nil {
		return nil, err
	}
	if err := t.Problem(); err != nil {
		return nil, err
	}
	of := compiled.keys()
	content, err := t.indexAs(of.name, of.source).update(ctx, t.current.Load(), func(object *Packed) []any {
		keys, err := t.ownKeys(of.source, object)
		if err != nil {
			return []any{failedKey{}}
		}
		return keys
	})
	if err != nil {
		return nil, compiled.failed(err)
	}
	if failed := content.of(failedKey{}); len(failed) > 0 {
		first := slices.MinFunc(failed, compareObjects)
		_, err := t.ownKeys(of.source, first)
		return nil, compiled.failed(fmt.Errorf("the key of %s/%s: %w", first.namespace, first.name, err))
	}
	return &Index{content: content}, nil
}

// ownKeys returns the keys of an object.
func (t *Table) ownKeys(of source, object *Packed) ([]any, error) {
	value, err := object.value(of.needed)
	if err != nil {
		return nil, err
	}
	found, err := execute(of.of, value, t.engine.caller)
	var missing jmespath.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return keysIn(nil, found)
}

func keysIn(keys []any, found any) ([]any, error) {
	switch typed := found.(type) {
	case nil:
		return keys, nil
	case []any:
		for _, member := range typed {
			var err error
			if keys, err = keysIn(keys, member); err != nil {
				return nil, err
			}
		}
		return keys, nil
	case []string: // Of some functions.
		for _, member := range typed {
			keys = append(keys, member)
		}
		return keys, nil
	}
	if !isScalar(found) {
		return nil, errKeyType
	}
	return append(keys, found), nil
}

// Len returns the number of keys.
func (i *Index) Len() int { return i.content.count }

// Has reports whether an object has a key: a string, a float64 or a bool.
func (i *Index) Has(key any) bool { return isScalar(key) && len(i.content.of(key)) > 0 }

// Keys has all keys, in no order.
func (i *Index) Keys() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, shard := range i.content.shards {
			for key := range shard {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// Find returns the objects that have a key, in the order of namespace and name. They are the caller's; their
// types are those of encoding/json.
func (i *Index) Find(key any) ([]any, error) {
	if !i.Has(key) {
		return nil, nil
	}
	found := inOrder(slices.Clone(i.content.of(key)))
	objects := make([]any, len(found))
	for at, object := range found {
		value, err := object.value(nil)
		if err != nil {
			return nil, err
		}
		objects[at] = value
	}
	return objects, nil
}
