// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b entries
		want string
		err  string
	}{
		"empty":        {listOf(), listOf(), "", ""},
		"alike":        {listOf("a", "b"), listOf("a", "b"), "a=a b=b", ""},
		"left longer":  {listOf("a", "b", "c"), listOf("b"), "a= b=b c=", ""},
		"right longer": {listOf("b"), listOf("a", "b", "c"), "=a b=b =c", ""},
		"out of order": {listOf("b", "a"), listOf("c"), "b=", "out of order"},
		"twice":        {listOf("a", "a"), listOf(), "a=", "out of order"},
		"left fails":   {listOf("a", "error"), listOf("b"), "a=", "broken"},
		"right fails":  {listOf("b"), listOf("error"), "", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pairs []string
			var failure error
			for p, err := range join(c.a, c.b) {
				if err != nil {
					failure = err
					break
				}
				text := ""
				if p.from != nil {
					text = p.from.key()
				}
				text += "="
				if p.to != nil {
					text += p.to.key()
				}
				pairs = append(pairs, text)
			}
			if got := strings.Join(pairs, " "); c.err == "" && (failure != nil || got != c.want) {
				t.Errorf("%q, %v; want %q", got, failure, c.want)
			}
			if c.err != "" && (failure == nil || !strings.Contains(failure.Error(), c.err)) {
				t.Errorf("%v, want %q", failure, c.err)
			}
		})
	}
}

// listOf returns entries with the given keys, all in one namespace.
func listOf(keys ...string) entries {
	return func(yield func(*entry, error) bool) {
		for _, key := range keys {
			if key == "error" {
				yield(nil, errors.New("broken"))
				return
			}
			if !yield(&entry{name: key}, nil) {
				return
			}
		}
	}
}

// TestListIsWhole: a list of a database that can't be walked to its end is an error, never
// a short list. A copy that replaces would delete the rest at the destination.
func TestListIsWhole(t *testing.T) {
	t.Parallel()
	const n = 2*pageSize + 1
	for name, c := range map[string]struct {
		// spoil changes the page of a list that begins at a continue token.
		spoil func(token string, list runtime.Object) error
		want  string
	}{
		"ends early":      {endEarly, "the list ends although it has"},
		"doesn't advance": {stay, "the list doesn't advance"},
		"fails":           {failLater, "broken page"},
		"unreadable":      {garble, "resource version of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, place := opened(t, databases(t)["sqlite"]), opened(t, databases(t)["sqlite"])
			kind, object := made(t, 0)
			request := imports.Request{Mode: imports.Fill}
			for i := range n {
				object.SetName(fmt.Sprintf("r%04d", i))
				request.Items = append(request.Items, itemFor(t, kind, object, 0))
			}
			importInto(t, source, request)
			importInto(t, place, request)
			replace := copyAll()
			replace.Replace = true
			testkit.NoError(t, replace.Database(t.Context(), source, place))
			served := source.Storage[kind.GroupResource()]
			served.Storage.Storage = spoiled{served.Storage.Storage, c.spoil}
			if err := replace.Database(t.Context(), source, place); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := len(contents(t, place)); got != n {
				t.Errorf("the destination has %d of %d reports left", got, n)
			}
		})
	}
}

// spoiled changes the pages of lists.
type spoiled struct {
	storage.Interface

	spoil func(token string, list runtime.Object) error
}

func (s spoiled) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if err := s.Interface.GetList(ctx, key, options, list); err != nil {
		return err
	}
	return s.spoil(options.Predicate.Continue, list)
}

func endEarly(_ string, list runtime.Object) error { return setContinue(list, "") }

func stay(token string, list runtime.Object) error {
	if token == "" {
		return nil
	}
	return setContinue(list, token)
}

func setContinue(list runtime.Object, token string) error {
	metadata, err := meta.ListAccessor(list)
	if err == nil {
		metadata.SetContinue(token)
	}
	return err
}

func failLater(token string, _ runtime.Object) error {
	if token == "" {
		return nil
	}
	return errors.New("broken page")
}

func garble(_ string, list runtime.Object) error {
	return meta.EachListItem(list, func(object runtime.Object) error {
		item, err := meta.Accessor(object)
		if err == nil && item.GetName() == "r0007" {
			item.SetResourceVersion("not a number")
		}
		return err
	})
}
