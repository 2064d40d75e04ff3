// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestRead: a body is read to its end or not at all, whatever the pieces in which it comes.
func TestRead(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	whole := strings.Repeat("0123456789abcdef", limit/16)
	for name, test := range map[string]struct {
		body io.Reader
		want string
		err  func(error) bool
	}{
		"empty":     {strings.NewReader(""), "", nil},
		"whole":     {strings.NewReader(whole), whole, nil},
		"in pieces": {iotest.HalfReader(strings.NewReader(whole)), whole, nil},
		"too long":  {strings.NewReader(whole + "x"), "", bounds.Exceeded},
		"cut off": {io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), "", func(err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF)
		}},
	} {
		answer, err := bounds.Read(t.Context(), test.body, limit, "it")
		if test.err != nil {
			if !test.err(err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(iotest.OneByteReader(answer)); string(got) != test.want || err != nil || answer.Len != int64(len(test.want)) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(test.want))
		}
	}
}

// TestCost: colons and commas count, but not those in texts, in whatever pieces JSON is read.
func TestCost(t *testing.T) {
	t.Parallel()
	if got, want := new(bounds.Scanner).Cost([]byte(`{"a,:\",":"b,"}`)), int64(15+48); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	for name, text := range map[string]string{
		"short values": `{` + strings.TrimSuffix(strings.Repeat(`"a":"",`, 1000), ",") + `}`,
		"numbers":      `[` + strings.TrimSuffix(strings.Repeat(`1,`, 10000), ",") + `]`,
		"text":         `["` + strings.Repeat("x", 100_000) + `"]`,
		"lists":        `[` + strings.TrimSuffix(strings.Repeat(`[],`, 10000), ",") + `]`,
	} {
		var scanner bounds.Scanner
		var cost int64
		for piece := range bytes.SplitAfterSeq([]byte(text), []byte(":")) {
			cost += scanner.Cost(piece)
		}
		if whole := new(bounds.Scanner).Cost([]byte(text)); whole != cost {
			t.Errorf("%s: %d in pieces, %d as a whole", name, cost, whole)
		}
	}
}

// TestBudget: small answers never wait; of larger ones a few are decoded at one time, of the largest one. A waiter
// continues when others end, and gets an error that says so when its time has ended.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var budget bounds.Budget
		open := func() (context.Context, *bounds.Account) { return budget.Open(t.Context()) }
		for range 100 {
			ctx, _ := open()
			testkit.NoError(t, bounds.Take(ctx, 1<<20))
		}
		large, first := open()
		testkit.NoError(t, bounds.Take(large, 40<<20))
		if err := bounds.Take(large, 10<<20); !bounds.Exceeded(err) {
			t.Errorf("more than there is: %v", err)
		}
		second, account := open()
		taken := make(chan error, 1)
		go func() { taken <- bounds.Take(second, 40<<20) }()
		synctest.Wait()
		select {
		case err := <-taken:
			t.Fatalf("two at one time: %v", err)
		default:
		}
		ended, cancel := context.WithCancel(t.Context())
		ctx, third := budget.Open(ended)
		defer third.Close()
		cancel()
		if err := bounds.Take(ctx, 40<<20); !bounds.Exceeded(err) || !bounds.Busy(err) {
			t.Errorf("who has no time: %v", err)
		}
		first.Close()
		if err := <-taken; err != nil {
			t.Error(err)
		}
		account.Close()
		if err := bounds.Take(second, 40<<20); err == nil {
			t.Error("an evaluation that has ended has a turn")
		}
		last, other := open()
		if err := bounds.Take(last, 40<<20); err != nil {
			t.Error(err)
		}
		other.Close()
	})
	if err := bounds.Take(t.Context(), 1<<40); err != nil {
		t.Errorf("without an evaluation: %v", err)
	}
}
