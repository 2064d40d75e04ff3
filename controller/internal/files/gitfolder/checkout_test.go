// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gitfolder_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/gitfolder"
)

// git runs a command in a repository of a test, and returns what it prints.
func git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"}, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// newRepository makes one with the tag v1 and, on the branch main, a later commit. It returns its folder and the
// commit of v1.
func newRepository(t *testing.T) (folder, commit string) {
	t.Helper()
	folder = t.TempDir()
	git(t, folder, "init", "--quiet")
	for name, text := range map[string]string{"a b/[x]/one.yaml": "one", "a b/two.yaml": "two", "other/three.yaml": "three", "root.yaml": "root"} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "a b", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	git(t, folder, "add", ".")
	git(t, folder, "commit", "--quiet", "-m", "first")
	git(t, folder, "tag", "v1")
	git(t, folder, "mv", "other/three.yaml", "other/four.yaml")
	git(t, folder, "commit", "--quiet", "-m", "second")
	git(t, folder, "config", "uploadpack.allowFilter", "true")
	return folder, git(t, folder, "rev-parse", "v1")
}

// checkout returns the files of an address; its temporary folder must be gone afterwards.
func checkout(ctx context.Context, t *testing.T, address string, limit int64) ([]string, error) {
	t.Helper()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	parsed, found, err := gitfolder.Parse(address)
	if err != nil || !found {
		t.Fatal(address, found, err)
	}
	folder, remove, err := parsed.Checkout(ctx, limit)
	var files []string
	if err == nil {
		files = filesOf(t, folder)
		err = remove()
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("%s: %v are left in the temporary folder", address, left)
	}
	return files, err
}

// filesOf lists the files below a folder, without those of git. None may be a link.
func filesOf(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.IsDir() && !entry.Type().IsRegular():
			t.Errorf("%s is %s", path, entry.Type())
		case !entry.IsDir():
			name, err := filepath.Rel(folder, path)
			files = append(files, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// serve serves a folder of repositories over HTTPS, as git hosts do, and returns its address.
func serve(t *testing.T, folder string) string {
	t.Helper()
	handler := &cgi.Handler{
		Path: filepath.Join(git(t, folder, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/private") {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/slow") {
			<-r.Context().Done()
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", authority)
	return server.URL
}

// TestCheckout: what a server and a folder of this machine have.
func TestCheckout(t *testing.T) {
	folder, commit := newRepository(t)
	server := serve(t, filepath.Dir(folder)) + "/" + filepath.Base(folder)
	// As in a hook of another repository.
	t.Setenv("GIT_DIR", t.TempDir())
	for _, repository := range []string{"file://" + folder, "git::" + server} {
		for address, want := range map[string]string{
			"//":                    "a b/[x]/one.yaml a b/link.yaml a b/two.yaml other/four.yaml root.yaml",
			"//?ref=v1":             "a b/[x]/one.yaml a b/link.yaml a b/two.yaml other/three.yaml root.yaml",
			"//other?ref=" + commit: "three.yaml",
			"//other?ref=main":      "four.yaml",
			"//other":               "four.yaml",
			"//a b":                 "[x]/one.yaml link.yaml two.yaml",
			"//a b/[x]/":            "one.yaml",
		} {
			if files, err := checkout(t.Context(), t, repository+address, gitfolder.DefaultLimit); err != nil || strings.Join(files, " ") != want {
				t.Errorf("%s: %v, %v; want %s", address, files, err, want)
			}
		}
	}
}

// TestFailures: each says what to do, and leaves nothing behind.
func TestFailures(t *testing.T) {
	folder, _ := newRepository(t)
	server := serve(t, filepath.Dir(folder))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		address, want string
		ctx           context.Context //nolint:containedctx // Of a case.
		limit         int64
	}{
		"no branch":       {address: "file://" + folder + "?ref=v2", want: `the repository has no branch, tag or commit "v2"`},
		"no commit":       {address: "file://" + folder + "?ref=" + strings.Repeat("a", 40), want: `no branch, tag or commit "aaaa`},
		"no folder":       {address: "file://" + folder + "//absent", want: `the repository has no folder "absent"`},
		"a file":          {address: "file://" + folder + "//root.yaml", want: `the repository has no folder "root.yaml"`},
		"a link":          {address: "file://" + folder + "//a b/link.yaml", want: "the repository has no folder"},
		"no repository":   {address: "file://" + folder + "/absent", want: "git fetch: "},
		"none on server":  {address: server + "/absent//a", want: "not found"},
		"credentials":     {address: server + "/private//a", want: "could not read Username"},
		"too large":       {address: "file://" + folder, want: "the repository is larger than 1000 bytes", limit: 1000},
		"slow":            {address: server + "/slow//a?timeout=500ms", want: "git took longer than 500ms"},
		"interrupted":     {address: server + "/slow//a", want: "context canceled", ctx: canceled},
		"no such machine": {address: "https://absent.invalid/o/r//a", want: "Could not resolve host"},
	} {
		if test.ctx == nil {
			test.ctx = t.Context()
		}
		if test.limit == 0 {
			test.limit = gitfolder.DefaultLimit
		}
		if _, err := checkout(test.ctx, t, test.address, test.limit); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := checkout(t.Context(), t, "file://"+folder, 1); err == nil || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("without git: %v", err)
	}
}

// TestPasswordOfConfiguration: git's own configuration may put a password into an address; it is not shown.
func TestPasswordOfConfiguration(t *testing.T) {
	configuration := filepath.Join(t.TempDir(), "config")
	git(t, t.TempDir(), "config", "--file", configuration, "url.https://me:secret@127.0.0.1:1/.insteadOf", "https://127.0.0.1:1/")
	t.Setenv("GIT_CONFIG_GLOBAL", configuration)
	_, err := checkout(t.Context(), t, "https://127.0.0.1:1/o/r//a", gitfolder.DefaultLimit)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Error(err)
	}
}

// TestNothingRuns: neither hooks of the user's configuration nor filters of the repository run.
func TestNothingRuns(t *testing.T) {
	folder, _ := newRepository(t)
	hooks, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	hook := "#!/bin/sh\ntouch " + ran + "\n"
	if err := os.WriteFile(filepath.Join(hooks, "post-checkout"), []byte(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	configuration := filepath.Join(t.TempDir(), "config")
	git(t, folder, "config", "--file", configuration, "core.hooksPath", hooks)
	t.Setenv("GIT_CONFIG_GLOBAL", configuration)
	files, err := checkout(t.Context(), t, "file://"+folder+"//other", gitfolder.DefaultLimit)
	if err != nil || !slices.Equal(files, []string{"four.yaml"}) {
		t.Error(files, err)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Error("a hook ran")
	}
}
