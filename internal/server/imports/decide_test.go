// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import "testing"

// The states of a report at the destination.
var (
	old       = &present{uid: "u", mark: Mark{10, "f10"}, fingerprint: "f10"}
	touched   = &present{uid: "u", mark: Mark{10, "f10"}, fingerprint: "client"}
	foreign   = &present{uid: "u", fingerprint: "client"}
	elsewhere = &present{uid: "other", mark: Mark{10, "f10"}, fingerprint: "f10"}
)

func TestDecidePut(t *testing.T) {
	t.Parallel()
	newer := wanted{uid: "u", version: 20, fingerprint: "f20"}
	known := wanted{uid: "u", version: 20, fingerprint: "f20", known: true}
	older := wanted{uid: "u", version: 5, fingerprint: "f5"}
	same := wanted{uid: "u", version: 10, fingerprint: "f10"}
	unversioned := wanted{uid: "u", fingerprint: "f20"}
	for name, c := range map[string]struct {
		mode    Mode
		scope   Scope
		want    wanted
		current *present
		action  action
		result  Result
	}{
		"absent":                          {Tail, Exact, newer, nil, doCreate, Created},
		"absent, imported before":         {Tail, Exact, known, nil, doNothing, Gone},
		"absent, nobody else writes":      {Mirror, Exact, known, nil, doCreate, Created},
		"untouched and older":             {Tail, Exact, newer, old, doUpdate, Updated},
		"untouched and newer":             {Tail, Exact, older, old, doNothing, Same},
		"the same":                        {Tail, Exact, same, old, doNothing, Same},
		"touched":                         {Tail, Exact, newer, touched, doNothing, Kept},
		"made by a client":                {Tail, Exact, newer, foreign, doNothing, Kept},
		"touched, nobody else writes":     {Mirror, Exact, newer, touched, doUpdate, Updated},
		"a late event does not turn back": {Mirror, Exact, older, old, doNothing, Same},
		"recreated at the source":         {Tail, Exact, newer, elsewhere, doReplace, Updated},
		"another UID, which is not kept":  {Tail, Portable, newer, elsewhere, doUpdate, Updated},
		"without versions":                {Tail, Exact, unversioned, old, doUpdate, Updated},
		"fill":                            {Fill, Exact, newer, nil, doCreate, Created},
		"fill does not overwrite":         {Fill, Exact, newer, old, doNothing, Kept},
		"fill finds the same":             {Fill, Exact, same, old, doNothing, Same},
		"replace overwrites":              {Replace, Exact, newer, foreign, doUpdate, Updated},
		"replace finds the same":          {Replace, Exact, same, old, doNothing, Same},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if action, result := decidePut(c.mode, c.scope, c.want, c.current); action != c.action || result != c.result {
				t.Errorf("action %d, %s; want %d, %s", action, result, c.action, c.result)
			}
		})
	}
}

func TestDecideDelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode    Mode
		scope   Scope
		uid     string
		version uint64
		current *present
		action  action
		result  Result
	}{
		"absent":                      {Tail, Exact, "u", 20, nil, doNothing, Same},
		"untouched":                   {Tail, Exact, "u", 20, old, doDelete, Deleted},
		"touched":                     {Tail, Exact, "u", 20, touched, doNothing, Kept},
		"made by a client":            {Tail, Exact, "u", 20, foreign, doNothing, Kept},
		"recreated since":             {Tail, Exact, "u", 20, elsewhere, doNothing, Same},
		"imported since":              {Tail, Exact, "u", 5, old, doNothing, Same},
		"touched, nobody else writes": {Mirror, Exact, "u", 20, touched, doDelete, Deleted},
		"UIDs are not kept":           {Mirror, Portable, "u", 20, elsewhere, doDelete, Deleted},
		"fill deletes nothing":        {Fill, Exact, "u", 20, old, doNothing, Kept},
		"replace":                     {Replace, Exact, "", 0, foreign, doDelete, Deleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if action, result := decideDelete(c.mode, c.scope, c.uid, c.version, c.current); action != c.action || result != c.result {
				t.Errorf("action %d, %s; want %d, %s", action, result, c.action, c.result)
			}
		})
	}
}
