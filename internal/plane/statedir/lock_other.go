// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package statedir

import (
	"io"
	"os"
)

// takeLock only opens the file: on this system, only the lock of the database keeps out a
// second process.
func takeLock(path string) (io.Closer, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode)
}
