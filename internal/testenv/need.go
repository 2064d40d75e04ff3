// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Need makes sure that a command, or with --python a library of Debian's Python, exists, as hack/need.sh
// does with the same arguments: it installs Debian packages where root and apt-get are at hand, and
// returns an error that says what is missing elsewhere. Tests may call it side by side.
func Need(ctx context.Context, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		script := filepath.Join(folder, "hack", "need.sh")
		if _, err := os.Stat(script); err == nil {
			output, err := exec.CommandContext(ctx, script, arguments...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("need %s: %w\n%s", arguments, err, output)
			}
			return nil
		}
		if folder == filepath.Dir(folder) {
			return errors.New("hack/need.sh is in no folder above this one")
		}
		folder = filepath.Dir(folder)
	}
}
