// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const page = "# Title\n\n    kubectl get \\\n      --all\n    NAME   AGE\n\n" +
	"- item\n\n       docket up      # in a list\n\n## Next\n\n```console\n$ docket version\nv1\nv2\n$ kubectl get\n```\n\n" +
	"```yaml\nkubectl: no\n```\n\n```sql\npsql\n```\n\n    curl x | docket\n\n    PGPASSWORD=… docket migrate\n\n    kubectl create -f - <<'EOF'\n    kind: A\n    kubectl: b\n    EOF\n    created\n"

func TestRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	testkit.NoError(t, os.WriteFile(filepath.Join(root, "page.md"), []byte(page), 0o600))
	read := testkit.Must(Read(root, "page.md"))(t)
	type block struct {
		Name             string
		Commands, Output []string
	}
	var got []block
	for _, b := range read.Blocks {
		got = append(got, block{b.Name, b.Commands(), b.Outputs()})
	}
	if diff := cmp.Diff([]block{
		{"Title", []string{"kubectl get \\\n  --all"}, []string{"NAME   AGE\n"}},
		{"Title #2", []string{"docket up      # in a list"}, []string{""}},
		{"Next", []string{"docket version", "kubectl get"}, []string{"v1\nv2\n", ""}},
		{"Next #2", nil, nil},
		{"Next #3", nil, nil},
		{"Next #4", []string{"curl x | docket", "PGPASSWORD=… docket migrate", "kubectl create -f - <<'EOF'\nkind: A\nkubectl: b\nEOF"}, []string{"\n", "\n", "created\n"}},
	}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := read.Block("Nothing"); err == nil {
		t.Error("a block that there is not was found")
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	s := Open(t, t.TempDir(), "PATH="+os.Getenv("PATH"), "A=1")
	s.Replace("TAG", "v1")
	s.Run(t, "export B=TAG; true | cat")
	for command, want := range map[string]struct {
		output string
		code   int
	}{
		"echo $A $B":             {"1 v1\n", 0},
		"printf x; false":        {"x", 1},
		"false | cat":            {"", 1},
		"cat; echo end >&2":      {"end\n", 0},
		"sleep 100 & echo there": {"there\n", 0},
	} {
		if output, code := s.Try(t, command); output != want.output || code != want.code {
			t.Errorf("%s: %q, exit code %d; want %q, %d", command, output, code, want.output, want.code)
		}
	}
}
