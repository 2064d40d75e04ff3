// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestEqualServers: there is nothing to find.
func TestEqualServers(t *testing.T) {
	t.Parallel()
	runner := &Runner{Left: newFake(t, &fake{}), Right: newFake(t, &fake{}), Namespace: "n"}
	for number := range uint64(150) {
		found := testkit.Must(runner.Run(t.Context(), NewCase(gadget(), 3, number)))(t)
		if len(found.Differences) > 0 {
			t.Fatal(found)
		}
	}
}

// TestBrokenServers: what is broken is found, and the case that shows it is made small.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken *fake
		aspect Aspect
		want   string // in the last request
		long   int    // of its body at most
		kind   Kind   // a gadget if it is empty
	}{
		"empty strings are refused": {&fake{refuse: func(_, body string) bool { return strings.Contains(body, `"owner":""`) }}, AspectCode, `"owner":""`, 120, Kind{}},
		"empty strings are dropped": {&fake{store: func(object map[string]any) {
			if object["owner"] == "" {
				delete(object, "owner")
			}
		}}, AspectObject, `"owner":""`, 120, Kind{}},
		"a field is lost": {&fake{store: func(object map[string]any) { delete(object, "tags") }}, AspectObject, `"tags":`, 120, Kind{}},
		"a field of a list map is lost": {&fake{store: func(object map[string]any) {
			spec, _ := object["spec"].(map[string]any)
			parts, _ := spec["parts"].([]any)
			for _, part := range parts {
				if fields, isObject := part.(map[string]any); isObject {
					delete(fields, "arguments")
				}
			}
		}}, AspectObject, `"arguments":`, 250, workload(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runner := &Runner{Left: newFake(t, &fake{}), Right: newFake(t, test.broken), Namespace: "n"}
			kind := test.kind
			if kind.Schema == nil {
				kind = gadget()
			}
			for number := range uint64(5000) {
				found := testkit.Must(runner.Run(t.Context(), NewCase(kind, 3, number)))(t)
				if len(found.Differences) == 0 {
					continue
				}
				small := runner.Shrink(t.Context(), found)
				last := small.Case.Steps[small.Step]
				if small.Differences[0].Aspect != test.aspect || last.Body == nil || !strings.Contains(last.Body.Text(), test.want) || len(last.Body.Text()) > test.long {
					t.Errorf("want one about %s whose body has %s and at most %d bytes:\n%s", test.aspect, test.want, test.long, small)
				}
				return
			}
			t.Error("nothing was found")
		})
	}
}

// TestKnown: a difference that is known is counted, and is none.
func TestKnown(t *testing.T) {
	t.Parallel()
	runner := &Runner{
		Left: newFake(t, &fake{}), Right: newFake(t, &fake{store: func(object map[string]any) { delete(object, "tags") }}), Namespace: "n",
		Known: func(seen Seen) string {
			if seen.Path == "tags" {
				return "no-tags"
			}
			return ""
		},
	}
	known := 0
	for number := range uint64(300) {
		found := testkit.Must(runner.Run(t.Context(), NewCase(gadget(), 3, number)))(t)
		if len(found.Differences) > 0 {
			t.Fatal(found)
		}
		known += found.Known["no-tags"]
	}
	if known == 0 {
		t.Error("no difference was counted")
	}
}

// TestRunMany groups what has one cause.
func TestRunMany(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	runner := &Runner{Left: newFake(t, &fake{}), Namespace: "n"}
	runner.Right = newFake(t, &fake{store: func(object map[string]any) {
		if _, has := object["tags"]; has {
			delete(object, "tags")
			if count++; count > 50 {
				cancel()
			}
		}
	}})
	report := testkit.Must(runner.RunMany(ctx, []Kind{gadget()}, 3, 0, 1))(t)
	signatures := report.Signatures()
	if len(signatures) == 0 || len(signatures) > 20 || report.Groups[signatures[0]].Count < 2 {
		t.Errorf("%d cases, groups %v", report.Cases, signatures)
	}
	for _, signature := range signatures {
		if !strings.Contains(signature, "tags") {
			t.Errorf("group %s", signature)
		}
	}
}

// TestSequences: events in another order are found, equal ones are not.
func TestSequences(t *testing.T) {
	t.Parallel()
	for name, right := range map[string]*fake{"equal": {}, "reordered": {reorder: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runner := &Runner{Left: newFake(t, &fake{}), Right: newFake(t, right), Namespace: "n"}
			differences := 0
			for number := range uint64(5) {
				found := testkit.Must(runner.RunSequence(t.Context(), gadget(), 3, number))(t)
				differences += len(found.Differences)
				if name == "equal" && differences > 0 {
					t.Fatal(found)
				}
				if len(found.Differences) > 0 && found.Differences[0].Aspect != AspectEvents {
					t.Errorf("the difference is about %s", found.Differences[0].Aspect)
				}
			}
			if name == "reordered" && differences == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// TestReread: an answer that depends on its form is found, and one that does not isn't.
func TestReread(t *testing.T) {
	t.Parallel()
	late := func(object map[string]any) { object["late"] = true }
	for name, server := range map[string]*fake{"equal": {}, "indented": {pretty: late}, "written": {written: late}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := &Rereader{Target: newFake(t, server), Namespace: "n"}
			differences := 0
			for number := range uint64(50) {
				found := testkit.Must(reader.Run(t.Context(), NewCase(gadget(), 3, number)))(t)
				differences += len(found)
			}
			if (differences > 0) != (name != "equal") || reader.Compared() < 50 {
				t.Errorf("%d differences in %d pairs", differences, reader.Compared())
			}
		})
	}
}
