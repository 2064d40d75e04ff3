// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestNumbered(t *testing.T) {
	t.Parallel()
	s := numbered("SELECT @b::int4[], @a, @b WHERE verdicts @> ARRAY[@a_b]")
	if want := "SELECT $1::int4[], $2, $1 WHERE verdicts @> ARRAY[$3]"; s.sql != want {
		t.Errorf("numbered as %q, want %q", s.sql, want)
	}
	args := s.arguments()
	args.set("a", 2)
	args.set("a_b", nil)
	args.set("b", []int32{1})
	var batch pgx.Batch
	testkit.NoError(t, args.queue(&batch))
	got := batch.QueuedQueries[0]
	if got.SQL != s.sql || len(got.Arguments) != 3 || !slices.Equal(got.Arguments[0].([]int32), []int32{1}) ||
		got.Arguments[1] != 2 || got.Arguments[2] != nil {
		t.Errorf("queued %q with %v", got.SQL, got.Arguments)
	}
}

func TestArgumentsAreComplete(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*arguments){
		"@a of the statement has no value": func(*arguments) {},
		"no parameter @b":                  func(args *arguments) { args.set("a", 1); args.set("b", 1) },
	} {
		args := numbered("SELECT @a").arguments()
		set(args)
		var batch pgx.Batch
		if err := args.queue(&batch); err == nil || !strings.Contains(err.Error(), name) || batch.Len() != 0 {
			t.Errorf("queued %d statements with the error %v, want %q", batch.Len(), err, name)
		}
	}
}
