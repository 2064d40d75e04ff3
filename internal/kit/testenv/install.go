// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// minimumMajor is the oldest PostgreSQL that Docket supports.
const minimumMajor = 15

// installTimeout bounds the download and the start of a server of another version.
const installTimeout = 8 * time.Minute

// installation is a set of server binaries and the user to run them as.
type installation struct {
	bin     string              // folder of initdb and postgres
	version string              // what postgres --version prints
	runAs   *syscall.Credential // nil: the user of this process
	// settings of its servers, which count more than those that all have.
	settings []string
	// cleaner removes the binaries when this process ends, if they are its own.
	cleaner *watchdog
}

// findInstallation looks for the newest server binaries and installs them if there
// are none and this process may.
func findInstallation() (*installation, error) {
	runAs, err := serverUser()
	if err != nil {
		return nil, err
	}
	found, seen := newest(binaryFolders())
	if found == nil {
		if err := Need(context.Background(), "pg_ctlcluster=postgresql"); err != nil {
			return nil, fmt.Errorf("no PostgreSQL %d or newer in PATH or the usual folders%s: %w",
				minimumMajor, seen, err)
		}
		if found, seen = newest(binaryFolders()); found == nil {
			return nil, fmt.Errorf("apt-get brought no PostgreSQL %d or newer%s: install one and put its bin folder into PATH",
				minimumMajor, seen)
		}
	}
	found.runAs = runAs
	return found, nil
}

// binaryFolders lists the folders that may hold initdb and postgres.
func binaryFolders() []string {
	var folders []string
	if path, err := exec.LookPath("initdb"); err == nil {
		// initdb looks for postgres beside itself, hence not the link's folder.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(target))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // PostgreSQL's own RPMs
		"/opt/homebrew/opt/postgresql@*/bin", // macOS on ARM
		"/usr/local/opt/postgresql@*/bin",    // macOS on Intel
		"/usr/libexec/postgresql*",           // Alpine
		"/usr/local/pgsql/bin",               // built from source
	} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // Only for a malformed pattern; the tests use all of them.
		}
		folders = append(folders, matches...)
	}
	return folders
}

// newest returns the installation with the highest version that is new enough, and
// a note of the older ones for an error message.
func newest(folders []string) (found *installation, tooOld string) {
	type candidate struct {
		major int
		*installation
	}
	var candidates []candidate
	for _, folder := range folders {
		version, major, err := serverVersion(folder)
		if err != nil {
			continue // No server here.
		}
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
			continue
		}
		if major < minimumMajor {
			tooOld += fmt.Sprintf(" (%s is %s)", folder, version)
			continue
		}
		candidates = append(candidates, candidate{major, &installation{bin: folder, version: version}})
	}
	if len(candidates) == 0 {
		return nil, tooOld
	}
	sort.SliceStable(candidates, func(i, j int) bool { return candidates[i].major > candidates[j].major })
	return candidates[0].installation, ""
}

func serverVersion(folder string) (version string, major int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return "", 0, err
	}
	version = strings.TrimSpace(string(out))
	major, err = parseMajor(version)
	return version, major, err
}

// parseMajor reads 15 from "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseMajor(version string) (int, error) {
	_, rest, ok := strings.Cut(version, "(PostgreSQL) ")
	if !ok {
		return 0, fmt.Errorf("unexpected version %q", version)
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	return strconv.Atoi(digits)
}

// serverUser is who runs the server when this process is root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil // No credential means: as this process.
	}
	var errs []error
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("ids of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user to run it as: %w", errors.Join(errs...))
}

// command builds a call of one of the binaries, which ends with ctx. It gets an
// environment of its own: variables such as PGPORT or LC_ALL of the caller must not
// change the server.
func (i *installation) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(i.bin, name), arguments...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.runAs}
	return cmd
}
