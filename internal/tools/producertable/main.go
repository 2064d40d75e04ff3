// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command producertable writes the table of programs into docs/produce/producers.md, from what
// tests have written into docs/produce/producers.
package main

import (
	"fmt"
	"os"

	"github.com/docket-project/docket/internal/tools/producers"
)

func main() {
	if err := run("docs/produce/producers.md", "docs/produce/producers"); err != nil {
		fmt.Fprintln(os.Stderr, "producertable:", err)
		os.Exit(1)
	}
}

func run(path, folder string) error {
	runs, err := producers.Read(folder)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	updated, err := producers.Insert(string(page), producers.Table(runs))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(updated), 0o644) //nolint:gosec // As above.
}
