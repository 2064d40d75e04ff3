// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestCheckOps(t *testing.T) {
	t.Parallel()
	op := func(kind engine.OpKind, resource engine.Resource, key string) engine.Op {
		return engine.Op{Kind: kind, Resource: resource, Key: key}
	}
	for _, c := range []struct {
		ops  []engine.Op
		want string
	}{
		{nil, "<nil>"},
		{[]engine.Op{op(engine.Create, "/a/", "b"), op(engine.Delete, "/a/", "c"), op(engine.Update, "/a/b", "")}, "<nil>"},
		{[]engine.Op{op(engine.Create, "/a/", "b"), op(engine.Create, "/a/", "c"), op(engine.Delete, "/a/", "b")}, "two ops for /a/b"},
		{[]engine.Op{op(0, "/a/", "b")}, "op for /a/b has the unknown kind 0"},
		{[]engine.Op{op(engine.Create, "/a/", "b"), op(4, "/a/", "c")}, "op for /a/c has the unknown kind 4"},
	} {
		if got := fmt.Sprint(engine.CheckOps(c.ops)); got != c.want {
			t.Errorf("%v: %s, want %s", c.ops, got, c.want)
		}
	}
}
