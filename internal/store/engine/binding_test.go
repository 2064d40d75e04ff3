// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// TestChoose: a share belongs to one cluster, and nobody takes one that may be another's.
func TestChoose(t *testing.T) {
	t.Parallel()
	unbound := engine.Share{ID: 1, Name: "default"}
	others := engine.Share{ID: 2, Name: "team", UID: "uid-b"}
	moved := engine.Share{ID: 3, Name: "default", UID: "uid-a"}
	named := engine.Share{ID: 4, Name: "uid-a"}
	for name, c := range map[string]struct {
		shares  []engine.Share
		binding engine.Binding
		name    string
		alone   bool
		// id that is chosen, 0 for one to be made.
		id   int64
		bind bool
		err  error
	}{
		"new":                         {binding: engine.Binding{UID: "uid-a"}, name: "team"},
		"first use":                   {shares: []engine.Share{unbound}, binding: engine.Binding{UID: "uid-a"}, name: "default", id: 1, bind: true},
		"again":                       {shares: []engine.Share{moved}, binding: engine.Binding{UID: "uid-a"}, name: "default", id: 3},
		"another's":                   {shares: []engine.Share{others}, binding: engine.Binding{UID: "uid-a"}, name: "team", err: engine.ErrBound},
		"nobody says who asks":        {shares: []engine.Share{others}, name: "team", id: 2},
		"adopt":                       {shares: []engine.Share{others}, binding: engine.Binding{UID: "uid-a", Adopt: "team"}, name: "team", id: 2, bind: true},
		"adopt again":                 {shares: []engine.Share{moved}, binding: engine.Binding{UID: "uid-a", Auto: true, Adopt: "default"}, name: "uid-a", id: 3},
		"adopt nothing":               {binding: engine.Binding{UID: "uid-a", Adopt: "team"}, name: "team", err: engine.ErrMissing},
		"auto, new":                   {shares: []engine.Share{others}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a"},
		"auto, by UID":                {shares: []engine.Share{others, moved}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a", id: 3},
		"auto, by name":               {shares: []engine.Share{unbound, named}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a", id: 4, bind: true},
		"auto, whose?":                {shares: []engine.Share{unbound}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a", err: engine.ErrBound},
		"auto, a file":                {shares: []engine.Share{unbound}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a", alone: true, id: 1, bind: true},
		"auto, a file of several":     {shares: []engine.Share{unbound, others}, binding: engine.Binding{UID: "uid-a", Auto: true}, name: "uid-a", alone: true, err: engine.ErrBound},
		"auto, default is another's ": {shares: []engine.Share{moved}, binding: engine.Binding{UID: "uid-b", Auto: true}, name: "uid-b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			share, bind, err := c.binding.Choose(c.shares, c.name, c.alone)
			var id int64
			if share != nil {
				id = share.ID
			}
			if id != c.id || bind != c.bind || !errors.Is(err, c.err) || err != nil && c.err == nil {
				t.Errorf("share %d, bind %t, %v; want share %d, bind %t, %v", id, bind, err, c.id, c.bind, c.err)
			}
		})
	}
}
