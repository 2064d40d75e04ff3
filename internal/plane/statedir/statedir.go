// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/kit/atomicfile"
)

// Names of the files in the folder.
const (
	// These are documented.
	KubeconfigFile       = "kubeconfig"
	TeamKubeconfigFile   = "team.kubeconfig"
	DatabaseFile         = "docket.db"
	DemoKindsFile        = "demo-kinds.yaml"
	ProxyCAFile          = "front-proxy-ca.crt"
	ProxyCertificateFile = "front-proxy-client.crt"
	ProxyKeyFile         = "front-proxy-client.key"

	caCertificateFile      = "ca.crt"
	caKeyFile              = "ca.key"
	servingCertificateFile = "serving.crt"
	servingKeyFile         = "serving.key"
	proxyCAKeyFile         = "front-proxy-ca.key"
	tokenFile              = "token"
	lockFile               = "lock"
)

const (
	folderMode = 0o700
	fileMode   = 0o600
	// tokenBytes of randomness can't be guessed, so that no limit on attempts is
	// needed.
	tokenBytes = 32
	// minTokenLength refuses a token file that was cut short.
	minTokenLength = 32
)

// Folder is the state folder, held by this process alone until Close.
type Folder struct {
	// Dir is its absolute path.
	Dir string

	lock io.Closer
}

// DefaultDir is $XDG_DATA_HOME/name, or ~/.name when that is not set.
func DefaultDir(name string) (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("choose a state folder: %w; give one with --dir", err)
	}
	return filepath.Join(home, "."+name), nil
}

// Open creates the folder if necessary and locks it.
func Open(dir string) (*Folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, fmt.Errorf("--dir: create the state folder: %w", err)
	}
	if err := closeToOthers(dir); err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	lock, err := takeLock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("--dir: %s: %w", dir, err)
	}
	return &Folder{Dir: dir, lock: lock}, nil
}

// Close unlocks the folder.
func (f *Folder) Close() error { return f.lock.Close() }

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// closeToOthers makes sure that the folder is ours and that no one else can open it. The mode of
// an empty folder is changed; one that is not empty may be open on purpose.
func closeToOthers(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	// Only a folder of ours may be closed to others: not /etc, nor somebody's home.
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == KubeconfigFile || e.Name() == DatabaseFile })
	switch {
	case ours:
		return fmt.Errorf("%s has files of Docket and other users can open it (mode %04o); protect it with `chmod 700 %s`", dir, info.Mode().Perm(), dir)
	case len(entries) > 0:
		return fmt.Errorf("%s has other files and other users can open it (mode %04o); give another folder, which may be missing or empty", dir, info.Mode().Perm())
	}
	return os.Chmod(dir, folderMode)
}

// Token returns the owner's token, and creates it if there is none yet.
func (f *Folder) Token() (string, error) {
	path := f.Path(tokenFile)
	data, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		random := make([]byte, tokenBytes)
		if _, err := rand.Read(random); err != nil {
			return "", fmt.Errorf("create a token: %w", err)
		}
		token := base64.RawURLEncoding.EncodeToString(random)
		return token, atomicfile.Write(path, []byte(token+"\n"))
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenLength || strings.ContainsAny(token, " \t\r\n,\"") {
		return "", fmt.Errorf("%s does not contain a token; remove the file, and a new one is created", path)
	}
	return token, nil
}

// readSecret reads a file, after making it inaccessible to other users.
func readSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, fileMode); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(path)
}
