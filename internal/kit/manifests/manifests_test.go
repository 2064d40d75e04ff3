// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/manifests"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFind: the files of a mounted ConfigMap are found, and nothing beside them.
func TestFind(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	hidden := filepath.Join(folder, "..data")
	testkit.NoError(t, os.MkdirAll(filepath.Join(hidden, "more.yaml"), 0o700))
	for _, name := range []string{"a.yaml", "b.yml", "c.json", "notes.txt", ".hidden.yaml"} {
		testkit.NoError(t, os.WriteFile(filepath.Join(hidden, name), nil, 0o600))
	}
	for _, name := range []string{"a.yaml", "b.yml", "c.json", "notes.txt", ".hidden.yaml", "more.yaml"} {
		testkit.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)))
	}
	var names []string
	for _, path := range testkit.Must(manifests.Find(folder))(t) {
		names = append(names, filepath.Base(path))
	}
	if got := strings.Join(names, " "); got != "a.yaml b.yml c.json" {
		t.Errorf("found %s", got)
	}
	if files := testkit.Must(manifests.Find(filepath.Join(hidden, "notes.txt")))(t); len(files) != 1 {
		t.Errorf("a file that was named: %q", files)
	}
	if _, err := manifests.Find(filepath.Join(folder, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that is missing: %v", err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.yaml")
	testkit.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	if data, err := manifests.Read(path, 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := manifests.Read(path, 1<<20-1); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("a byte too much: %v", err)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, c := range map[string]struct{ data, want, err string }{
		"nothing":          {"", "", ""},
		"comments":         {"# a\n---\n# b\n", "", ""},
		"YAML":             {"a: 1\n---\n# b\n---\nc: 2\n", `document 1 {"a":1} document 3 {"c":2}`, ""},
		"JSON":             {`{"a": 1}`, `document 1 {"a": 1}`, ""},
		"JSON in a row":    {"{\"a\":1}\n{\"b\":2}\n---\n{\"c\":3}", `document 1 {"a":1} document 2 {"b":2} document 3 {"c":3}`, ""},
		"begins like JSON": {"{a: 1}\n", `document 1 {"a":1}`, ""},
		"broken":           {"a: 1\n---\na: [\n", `document 1 {"a":1}`, "document 2: "},
		"a field twice":    {"a: 1\na: 2\n", "", "document 1: "},
		"refused":          {"stop: 1\n---\na: 1\n", `document 1 {"stop":1}`, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			err := manifests.Documents([]byte(c.data), func(place string, document []byte) error {
				got = append(got, place, string(document))
				if strings.Contains(string(document), "stop") {
					return refused
				}
				return nil
			})
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
