// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// NewVersion returns the command version of a binary, which prints text.
func NewVersion(p Process, binary, text string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print what this binary was built from",
		Example: "  " + binary + " version",
		Args:    NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Out, text)
			return err
		},
	}
}
