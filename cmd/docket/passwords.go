// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docket-project/docket/internal/kit/settings"
	"github.com/docket-project/docket/internal/store/database"
)

// warnOfPasswords names the flags of a command line that hold a password. Settings from elsewhere have not been
// read when this runs.
func warnOfPasswords(command *cobra.Command, _ []string) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !database.HasPassword(flag.Value.String()) {
			return
		}
		fmt.Fprintf(command.ErrOrStderr(), "Warning: --%s: every user of this machine can read the password in it as long as this process runs; "+
			"better keep it in a file (PGPASSFILE, --database-password-file) or in the environment (PGPASSWORD, %s)\n",
			flag.Name, settings.EnvName(flag.Name))
	})
}
