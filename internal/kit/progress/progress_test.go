// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestPlainLinesAreRareAndWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	fake := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	bar := newBar(&out, 1000, "copy", false, fake)
	for second := range 12 {
		fake.SetTime(time.Unix(int64(second+1), 0))
		bar.Add(50)
	}
	bar.Done()
	bar.Done()
	bar.Add(1)
	want := []string{
		"copy  250/1000  25%  50/s  15s left",
		"copy  500/1000  50%  50/s  10s left",
		"copy  600/1000  60%  50/s  in 12s",
		"",
	}
	testkit.NoDiff(t, cmp.Diff(want, strings.Split(out.String(), "\n")), "lines (-want +got)")
}

func TestTerminalRedrawsOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	fake := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	bar := newBar(&out, 4, "scan", true, fake)
	for range 3 {
		fake.SetTime(fake.Now().Add(time.Second))
		bar.Add(1)
		bar.Add(0) // Within the interval: nothing to see.
	}
	bar.Done()
	want := []string{
		"",
		"scan  [======>                 ]  1/4  25%  1/s  3s left",
		"scan  [============>           ]  2/4  50%  1/s  2s left",
		"scan  [==================>     ]  3/4  75%  1/s  1s left",
		"scan  [==================>     ]  3/4  75%  1/s  in 3s  \n",
	}
	testkit.NoDiff(t, cmp.Diff(want, strings.Split(out.String(), "\r")), "drawings (-want +got)")
}

func TestUnknownTotalAndOverrun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		total int64
		want  string
	}{
		{"unknown", 0, "work  15  15/s  in 1s\n"},
		{"nearly", 1501, "work  15/1501  0%  15/s  in 1s\n"},
		{"overrun", 10, "work  15/15  100%  15/s  in 1s\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			fake := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			bar := newBar(&out, test.total, "work", false, fake)
			fake.SetTime(time.Unix(1, 0))
			bar.Add(15)
			bar.Done()
			testkit.NoDiff(t, cmp.Diff(test.want, out.String()), "(-want +got)")
		})
	}
}

func TestConcurrentAddsAllCount(t *testing.T) {
	t.Parallel()
	bar := New(&bytes.Buffer{}, 0, "many")
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 100 {
				bar.Add(1)
			}
		})
	}
	workers.Wait()
	bar.Done()
	if bar.Count() != 800 {
		t.Errorf("count %d, want 800", bar.Count())
	}
}

// TestQuickWork: neither a rate nor a time says anything of work that took no time.
func TestQuickWork(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := clocktesting.NewFakePassiveClock(time.Now())
	b := newBar(&out, 7, "scan", false, c)
	b.Add(7)
	c.SetTime(c.Now().Add(20 * time.Millisecond))
	b.Done()
	if got := out.String(); got != "scan  7/7  100%\n" {
		t.Errorf("it shows %q", got)
	}
}

func TestNilBarDoesNothing(t *testing.T) {
	t.Parallel()
	var bar *Bar
	bar.Add(1)
	bar.Done()
	if bar.Count() != 0 {
		t.Error("a nil bar counts")
	}
}
