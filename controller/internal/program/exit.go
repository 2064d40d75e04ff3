// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/docket-project/docket/internal/kit/cli"
)

// ExitTrouble is the code of a command that could not do its work.
const ExitTrouble = 2

// TroubleExits lets a command end with [ExitTrouble] unless its error is a finding or about the call.
func TroubleExits(command *cobra.Command) {
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		err := run(command, args)
		var finding *cli.FindingError
		if err == nil || errors.As(err, &finding) || cli.IsUsage(err) {
			return err
		}
		return troubleError{err}
	}
}

// troubleError is an error with the exit code of trouble.
type troubleError struct{ error }

func (e troubleError) Unwrap() error { return e.error }
func (troubleError) ExitCode() int   { return ExitTrouble }
