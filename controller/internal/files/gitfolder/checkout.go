// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gitfolder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultLimit is how large a checkout and its part of the repository may be together, in bytes.
	DefaultLimit = 1 << 30
	// measureEvery is how often the size is compared with the limit while git runs.
	measureEvery = 100 * time.Millisecond
	// endTime is how long the processes of git may take to end after they are killed.
	endTime = 5 * time.Second
	// maxErrorText bounds what is kept of git's error output, in bytes.
	maxErrorText = 16 << 10
)

// Checkout makes a temporary folder with the content of the folder, and returns its path, and what removes it. It
// fetches one commit, and of that the files of the folder, if the server can do so. Limit bounds the size in bytes; git
// is ended when it is found to have passed it.
func (a Address) Checkout(ctx context.Context, limit int64) (folder string, remove func() error, err error) {
	root, err := os.MkdirTemp("", "docket-git-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(root) }
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout, fmt.Errorf("git took longer than %s; ?timeout= gives it more time", a.Timeout))
	defer cancel()
	if err := (repository{root, limit}).checkout(ctx, a); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return filepath.Join(root, filepath.FromSlash(a.Folder)), remove, nil
}

// repository is one on this machine.
type repository struct {
	root  string
	limit int64
}

func (r repository) checkout(ctx context.Context, a Address) error {
	// Without the folder of templates there are no hooks.
	if err := r.git(ctx, "init", "--quiet", "--template="); err != nil {
		return err
	}
	if err := r.git(ctx, "remote", "add", "--", "origin", a.Repository); err != nil {
		return err
	}
	err := r.git(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--filter=blob:none", "--", "origin", cmp.Or(a.Ref, "HEAD"))
	if noSuchRef.MatchString(textOf(err)) {
		return fmt.Errorf("the repository has no branch, tag or commit %q; give its name, or all 40 digits of a commit, as ?ref=", cmp.Or(a.Ref, "HEAD"))
	}
	if err != nil {
		return err
	}
	if a.Folder != "" {
		if err := r.only(ctx, a.Folder); err != nil {
			return err
		}
	}
	if err := r.git(ctx, "checkout", "--quiet", "--detach", "FETCH_HEAD"); err != nil {
		return err
	}
	return r.measure()
}

// noSuchRef is what git says if the server does not have what is fetched. Its exit code is the same for all errors.
var noSuchRef = regexp.MustCompile(`couldn't find remote ref|not our ref|unadvertised object|no such remote ref`)

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// special are the characters of patterns.
var special = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `)

// only limits the checkout to a folder.
func (r repository) only(ctx context.Context, folder string) error {
	err := r.git(ctx, "ls-tree", "-d", "--name-only", "FETCH_HEAD:"+folder)
	if ctx.Err() == nil && err != nil {
		return fmt.Errorf("the repository has no folder %q; give one behind //, or another ?ref= (%w)", folder, err)
	}
	if err != nil {
		return err
	}
	info := filepath.Join(r.root, ".git", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "sparse-checkout"), []byte("/"+special.Replace(folder)+"/\n"), 0o600); err != nil {
		return err
	}
	return r.git(ctx, "config", "core.sparseCheckout", "true")
}

// git runs a command of git in the repository.
func (r repository) git(ctx context.Context, arguments ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Links may lead out of the repository, and hooks of the user's configuration are for other repositories.
	options := []string{"-C", r.root, "-c", "core.symlinks=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false"}
	// What comes from the user stands behind -- or a prefix, so that it is no option.
	command := exec.CommandContext(ctx, "git", append(options, arguments...)...)
	command.Env = environment(os.Environ())
	output := &limitedBuffer{}
	command.Stderr = output
	// git has processes of its own, which end with their group.
	asGroup(command)
	command.WaitDelay = endTime
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx, cancel)
	}()
	err := command.Run()
	cause := context.Cause(ctx)
	cancel(nil)
	<-watched
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed, or not in PATH; install it, or name a folder of this machine")
	case cause != nil:
		return cause
	default:
		return fmt.Errorf("git %s: %s", arguments[0], cmp.Or(lastLines(output.String()), err.Error()))
	}
}

// watch ends git if the folder becomes too large, until ctx is done.
func (r repository) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := r.measure(); err != nil {
				cancel(err)
			}
		}
	}
}

// measure returns an error if the folder is too large.
func (r repository) measure() error {
	var size int64
	// Files come and go while git runs: what can't be read is not counted.
	_ = filepath.WalkDir(r.root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // See above.
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if size > r.limit {
		return fmt.Errorf("the repository is larger than %d bytes, the limit; clone it, and name the folder", r.limit)
	}
	return nil
}

// local are variables that say which repository git works on, as a hook has them.
var local = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
	"GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CONFIG", "GIT_INTERNAL_SUPER_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
}

// environment is that of git: ours, without prompts, and with messages in English.
func environment(ours []string) []string {
	ssh := "GIT_SSH_COMMAND=ssh -o BatchMode=yes"
	env := slices.DeleteFunc(slices.Clone(ours), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		if name == "GIT_SSH_COMMAND" || name == "GIT_SSH" {
			ssh = pair
		}
		return slices.Contains(local, name)
	})
	return append(env, ssh, "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C", "GIT_ALLOW_PROTOCOL=https:ssh:file")
}

// credentials are those in an address: git's configuration may add some.
var credentials = regexp.MustCompile(`://[^/\s'"]*@`)

// lastLines returns what git says that is wrong, on one line.
func lastLines(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "hint: ") && !strings.HasPrefix(line, "warning: ") {
			lines = append(lines, line)
		}
	}
	const most = 3
	return credentials.ReplaceAllString(strings.Join(lines[max(0, len(lines)-most):], "; "), "://")
}

// limitedBuffer keeps the end of what is written.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(data []byte) (int, error) {
	n, err := b.Buffer.Write(data)
	if over := b.Len() - maxErrorText; over > 0 {
		b.Next(over)
	}
	return n, err
}
