// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces files as a whole.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file as a whole: readers see the old or the new contents, after a
// crash, too. Only its owner may read it (mode 0600).
func Write(path string, data []byte) (err error) {
	// CreateTemp gives that mode.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
