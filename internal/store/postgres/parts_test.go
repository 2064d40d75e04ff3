// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":             "",
		"it's ünïcode": "it's ünïcode",
		"a\x00b\x00":   "a\uFFFDb\uFFFD",
		"a\xffb":       "a\uFFFDb",
		"\x00\xff":     "\uFFFD\uFFFD",
	} {
		if got := text(in); got != want || !isText(got) {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJSONText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                        ``,
		`{"a":"b"}`:               `{"a":"b"}`,
		`{"a":"\u0000"}`:          "{\"a\":\"\uFFFD\"}",
		`{"a":"x\u0000\u0000y"}`:  "{\"a\":\"x\uFFFD\uFFFDy\"}",
		`{"a":"\\u0000"}`:         `{"a":"\\u0000"}`,
		`{"a":"\\\u0000"}`:        "{\"a\":\"\\\\\uFFFD\"}",
		`{"a":"\u0001\"\u0000"}`:  "{\"a\":\"\\u0001\\\"\uFFFD\"}",
		"{\"a\":\"\x00\\u0000\"}": "{\"a\":\"\uFFFD\uFFFD\"}",
		`\u0000\`:                 "\uFFFD\\",
	} {
		if got := jsonText(in); got != want {
			t.Errorf("jsonText(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSuccessor(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"":                      "",
		"a":                     "b",
		"ns/":                   "ns0",
		"a\x7f":                 "a\u0080",
		"ÿ":                     "Ā",
		"\uD7FF":                "\uE000",
		"a\U0010FFFF":           "b",
		"\U0010FFFF":            "",
		"\U0010FFFF\U0010FFFF":  "",
		"a\U0010FFFF\U0010FFFF": "b",
		"\U0010FFFFa\U0010FFFF": "\U0010FFFFb",
		"\uFFFF":                "\U00010000",
	} {
		got := successor(prefix)
		if got != want {
			t.Errorf("successor(%q) = %q, want %q", prefix, got, want)
		}
		if got != "" && (!isText(got) || got <= prefix+strings.Repeat("\U0010FFFF", 9)) {
			t.Errorf("successor(%q) = %q, which is not above all that start with it", prefix, got)
		}
	}
}

func TestKeyBounds(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "a\x01", "a/", "a/1", "a/1\x01", "a/2", "a0", "b", "\U0010FFFF", "\U0010FFFFz"}
	prefixes := []string{"", "a", "a/", "a/1", "c", "\U0010FFFF"}
	afters := []string{"", "a", "a\x00", "a\x00z", "a/", "a/1", "a/1\x00", "a/3", "b", "zz", "\U0010FFFF"}
	for _, prefix := range prefixes {
		for _, after := range afters {
			for _, inclusive := range []bool{false, true} {
				lower, upper, empty, err := keyBounds(engine.Query{Prefix: prefix, After: after, Inclusive: inclusive})
				if err != nil || empty {
					t.Fatalf("bounds of %q after %q: %t, %v", prefix, after, empty, err)
				}
				var got, want []string
				for _, key := range keys {
					if key >= lower && (upper == nil || key < *upper) {
						got = append(got, key)
					}
					if strings.HasPrefix(key, prefix) && (after == "" || key > after || inclusive && key == after) {
						want = append(want, key)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("prefix %q, after %q, inclusive %t: %q, want %q", prefix, after, inclusive, got, want)
				}
			}
		}
	}
	if _, _, empty, err := keyBounds(engine.Query{Prefix: "\xff"}); !empty || err != nil {
		t.Error("a key that is not UTF-8 was thought possible")
	}
	if _, _, _, err := keyBounds(engine.Query{After: "\xff"}); err == nil {
		t.Error("a place that is not UTF-8 was accepted")
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	server := func(code string) error {
		return &pgconn.PgError{Code: code, Severity: "ERROR", SeverityUnlocalized: "ERROR"}
	}
	for _, c := range []struct {
		err                      error
		class                    error
		broken, permanent, maybe bool
	}{
		{server("25006"), engine.ErrReadOnly, false, true, false},
		{server("53100"), engine.ErrFull, false, true, false},
		{server("53300"), engine.ErrUnavailable, false, false, false},
		{server("54000"), engine.ErrTooLarge, false, true, false},
		{server("55P03"), engine.ErrUnavailable, false, false, false},
		{server("57014"), engine.ErrUnavailable, false, false, false},
		{server("57P01"), engine.ErrUnavailable, true, false, false},
		{server("57P03"), engine.ErrUnavailable, true, false, false},
		{server("40P01"), engine.ErrUnavailable, false, false, false},
		{server("28P01"), engine.ErrUnavailable, false, true, false},
		{server("3D000"), engine.ErrUnavailable, false, true, false},
		{server("XX001"), engine.ErrCorrupt, false, true, false},
		{server("42601"), nil, false, true, false},
		{io.ErrUnexpectedEOF, engine.ErrUnavailable, true, false, true},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, engine.ErrUnavailable, true, false, true},
		{context.DeadlineExceeded, engine.ErrUnavailable, true, false, true},
		{fmt.Errorf("x: %w", engine.ErrSchema), engine.ErrSchema, false, true, false},
		{errors.New("defect"), nil, false, true, true},
	} {
		got := classify(fmt.Errorf("wrapped: %w", c.err))
		if c.class != nil && !errors.Is(got, c.class) || c.class == nil && isClassified(got) {
			t.Errorf("class of %v is %v, want %v", c.err, got, c.class)
		}
		if !errors.Is(got, c.err) {
			t.Errorf("%v lost its cause", got)
		}
		if isBroken(c.err) != c.broken {
			t.Errorf("isBroken(%v) = %t", c.err, !c.broken)
		}
		if isPermanent(c.err) != c.permanent {
			t.Errorf("isPermanent(%v) = %t", c.err, !c.permanent)
		}
		if errors.Is(statementOutcome(c.err), engine.ErrUnknownOutcome) != c.maybe {
			t.Errorf("statementOutcome(%v) = %v", c.err, statementOutcome(c.err))
		}
	}
	fatal := &pgconn.PgError{Code: "57P01", Severity: "FATAL", SeverityUnlocalized: "FATAL"}
	if !errors.Is(commitOutcome(fatal), engine.ErrUnknownOutcome) {
		t.Error("a session that ended at the commit was taken for a rollback")
	}
	if errors.Is(commitOutcome(server("53100")), engine.ErrUnknownOutcome) {
		t.Error("a commit that the server refused was taken for unknown")
	}
}

func TestFactCache(t *testing.T) {
	t.Parallel()
	var c factCache
	if c.generation() != allFacts {
		t.Error("an empty cache lets facts be left out")
	}
	c.add(3, []int64{1})
	c.add(2, []int64{2})
	if c.generation() != 3 || !c.has(3, 1) || c.has(4, 1) || c.has(3, 2) || c.has(allFacts, 1) {
		t.Error("facts are not those that were added")
	}
	for i := range int64(maxFacts) {
		c.add(3, []int64{-i})
	}
	if !c.has(3, 1) {
		t.Error("a fact was forgotten before its generation")
	}
	c.add(4, []int64{5})
	if c.generation() != 4 || c.has(4, 1) || !c.has(4, 5) {
		t.Error("facts of before a removal are known after it")
	}
	c.clear()
	if c.has(4, 5) || c.generation() != allFacts {
		t.Error("facts are known after clear")
	}
}
