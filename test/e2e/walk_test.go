// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/walkthrough"
)

const repository = "../.."

// walker follows pages of documentation in one shell.
type walker struct {
	t     *testing.T
	dir   string
	shell *walkthrough.Shell
	left  map[string][]string // the blocks of the plan, by page
}

// newWalker opens a shell as readers have it: in a folder with the parts of the repository that pages
// name, with our binaries and kubectl in PATH. The plan in walk_list_test.go lists the blocks to follow.
func newWalker(t *testing.T, kubeconfig string) *walker {
	t.Helper()
	w := &walker{t: t, dir: t.TempDir(), left: map[string][]string{}}
	for _, step := range walks()[t.Name()] {
		w.left[step.page] = slices.Clone(step.blocks)
	}
	root := testkit.Must(filepath.Abs(repository))(t)
	harness.Docket(t)
	testkit.NoError(t, testenv.Need(t.Context(), "curl=curl", "make=make", "sqlite3=sqlite3"))
	for _, folder := range []string{"deploy", "examples"} {
		testkit.NoError(t, os.CopyFS(filepath.Join(w.dir, folder), os.DirFS(filepath.Join(root, folder))))
	}
	testkit.NoError(t, os.Symlink(filepath.Join(root, "bin"), filepath.Join(w.dir, "bin")))
	w.shell = walkthrough.Open(t, w.dir, "HOME="+w.dir, "KUBECONFIG="+kubeconfig, "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		for page, blocks := range w.left {
			if len(blocks) > 0 && !t.Failed() {
				t.Errorf("%s: not followed, although planned: %q", page, blocks)
			}
		}
	})
	return w
}

// block returns the next block of the plan for a page, which has to have that name.
func (w *walker) block(page, name string) walkthrough.Block {
	w.t.Helper()
	if len(w.left[page]) == 0 || w.left[page][0] != name {
		w.t.Fatalf("%s: %q is to be followed, and the plan has %q", page, name, w.left[page])
	}
	w.left[page] = w.left[page][1:]
	return readBlock(w.t, page, name)
}

func readBlock(t *testing.T, page, name string) walkthrough.Block {
	t.Helper()
	read := testkit.Must(walkthrough.Read(repository, page))(t)
	return testkit.Must(read.Block(name))(t)
}

// follow runs the commands of a block and returns what they printed.
func (w *walker) follow(page, name string) string {
	w.t.Helper()
	var all strings.Builder
	for _, command := range w.block(page, name).Commands() {
		all.WriteString(w.shell.Run(w.t, command))
	}
	return all.String()
}

// overlay writes the kustomization that install.md has, with what readers put in.
func (w *walker) overlay() {
	w.t.Helper()
	w.overlayOf(installPage, "1. The image #2")
}

// overlayOf writes a block of a page into the folder my-docket.
func (w *walker) overlayOf(page, block string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "my-docket", "kustomization.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(w.shell.Text(readBlock(w.t, page, block).Text)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// want runs a command until it prints the text.
func (w *walker) want(command, text string) {
	w.t.Helper()
	waitSettled(w.t, time.Second, func() string {
		if output, _ := w.shell.Try(w.t, command); !strings.Contains(output, text) {
			return fmt.Sprintf("$ %s\n%s\nwant %q", command, output, text)
		}
		return ""
	})
}

// TestPagesAreFollowed: each command of the pages is in the plan of a test, or in the list of those that can't be run
// here, with the reason.
func TestPagesAreFollowed(t *testing.T) {
	t.Parallel()
	followed := map[string]bool{}
	for _, steps := range walks() {
		for _, step := range steps {
			for _, name := range step.blocks {
				followed[step.page+": "+name] = true
			}
		}
	}
	left := notFollowed()
	for _, name := range walkedPages() {
		page := testkit.Must(walkthrough.Read(repository, name))(t)
		for _, block := range page.Blocks {
			id := name + ": " + block.Name
			commands := block.Commands()
			if len(commands) == 0 || followed[id] {
				continue
			}
			if left[id] == "" {
				t.Errorf("%s: nobody follows %q", id, commands)
			}
			delete(left, id)
		}
	}
	for id, why := range left {
		t.Errorf("%s has no commands, or is followed, but is listed as not followed: %s", id, why)
	}
}
