// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestReport promises that a run fails for what is wrong with it, and for nothing else.
func TestReport(t *testing.T) {
	t.Parallel()
	allowed := reasons("| `TestSlow`, `TestOther/pair` | a | b |\n| `internal/big` | 70 s | c |\n")
	for name, test := range map[string]struct {
		events []event
		want   string // "" for a good run
	}{
		"good": {[]event{
			{Action: "pass", Package: module + "a", Test: "TestA"},
			{Action: "skip", Package: module + "a", Test: "TestSlow"},
			{Action: "skip", Package: module + "a", Test: "TestSlow/part"},
			{Action: "skip", Package: module + "a", Test: "TestOther/pair/1"},
			{Action: "pass", Package: module + "a", Elapsed: 59},
			{Action: "pass", Package: module + "internal/big", Elapsed: 100},
		}, ""},
		"a failure":             {[]event{{Action: "fail", Package: module + "a", Test: "TestA"}}, "1 tests and packages failed"},
		"skipped":               {[]event{{Action: "skip", Package: module + "a", Test: "TestA"}}, "a TestA (root) was skipped"},
		"skipped beside a pair": {[]event{{Action: "skip", Package: module + "a", Test: "TestOther"}}, "TestOther (root) was skipped"},
		"skipped in parts":      {[]event{{Action: "skip", Package: module + "a", Test: "TestA/1"}, {Action: "skip", Package: module + "a", Test: "TestA/2"}}, "a TestA/1 (root) was skipped"},
		"slow":                  {[]event{{Action: "pass", Package: module + "a", Elapsed: 61}}, "a (root) took 61 s"},
		"nothing":               {nil, "no test was run"},
	} {
		for i := range test.events {
			test.events[i].part = "root"
		}
		err := report(io.Discard, test.events, allowed, time.Minute)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestRead promises that events are read with the part of the run that they are of.
func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "controller.json")
	line := `{"Time":"2026-11-27T13:03:41Z","Action":"pass","Package":"github.com/docket-project/docket/a","Test":"TestA","Elapsed":1.02}` + "\n"
	testkit.NoError(t, os.WriteFile(path, []byte(line), 0o600))
	events, err := read(path)
	if err != nil || len(events) != 1 || events[0].String() != "a TestA (controller)" || events[0].took() != 1020*time.Millisecond {
		t.Errorf("%v, %v", events, err)
	}
}
