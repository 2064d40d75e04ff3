// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

// standard is the name of standard input and output where a file can be given.
const standard = "-"

func newBackup(p cli.Process) *cobra.Command {
	var from, to string
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("backup")
	flags.StringVar(&from, "database", "", "Database to copy: sqlite:///path/to/file.db.")
	flags.StringVar(&to, "to", "", `File for the copy, which must not exist; "-" for standard output.`)
	command := &cobra.Command{
		Use:   "backup --database URL --to FILE",
		Short: "Copy an SQLite database while servers use it",
		Long: `Copy an SQLite database, all clusters in it, as it is at one moment. Servers go on
working. The copy is checked, and needs no other file. With "-" it goes to standard
output: an image without a shell has no other way out.

PostgreSQL has pg_dump for that, and etcd etcdutl.`,
		Example: `  docket backup --database sqlite:///var/lib/docket/docket.db --to docket-backup.db

  # Out of a cluster
  kubectl -n docket-system exec docket-0 -- /docket backup \
    --database sqlite:///var/lib/docket/docket.db --to - > docket-backup.db`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := errors.Join(required("database", from), required("to", to)); err != nil {
				return cli.Usage(err)
			}
			if to == standard {
				return explainTools(database.BackupTo(command.Context(), from, p.Out))
			}
			if err := database.Backup(command.Context(), from, to); err != nil {
				return explainTools(err)
			}
			info, err := os.Stat(to)
			if err == nil {
				fmt.Fprintf(p.ErrOut, "Wrote %s, %.1f MiB.\n", to, float64(info.Size())/(1<<20))
			}
			return err
		},
	}
	return cli.WithSettings(p, command, sections)
}

// restoring are the flags of a restore.
type restoring struct {
	to, passwordFile, from string
	replaced, atNextStart  bool
}

func newRestore(p cli.Process) *cobra.Command {
	var r restoring
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("restore")
	flags.StringVar(&r.to, "database", "", "Database to restore: sqlite:///path/to/file.db, or with --replaced also postgres://user@host/name.")
	flags.StringVar(&r.passwordFile, "database-password-file", "", "File with the password of the database user.")
	flags.StringVar(&r.from, "from", "", `File that docket backup has written; "-" for standard input.`)
	flags.BoolVar(&r.atNextStart, "at-next-start", false, "Leave the backup beside a database that is in use. The server takes it when it starts next.")
	flags.BoolVar(&r.replaced, "replaced", false, "The database was put back by other means, such as a snapshot of its volume: only make its clients list again.")
	command := &cobra.Command{
		Use:   "restore --database URL (--from FILE | --replaced)",
		Short: "Put a backup in the place of an SQLite database",
		Long: `Put a backup in the place of an SQLite database. It is checked before anything is
changed, and what was there is kept beside it (PATH.before-restore) until the next time.

Resource versions leap ahead: clients that watch get 410 once and list again, so that
they see what the backup has. Where a database came back by other means, such as a
snapshot of a volume, --replaced does this part alone, for PostgreSQL, too. No server
may use the database meanwhile; with --at-next-start it may.`,
		Example: `  docket restore --database sqlite:///var/lib/docket/docket.db --from docket-backup.db

  # In a cluster
  kubectl -n docket-system exec -i docket-0 -- /docket restore --at-next-start \
    --database sqlite:///var/lib/docket/docket.db --from - < docket-backup.db
  kubectl -n docket-system delete pod docket-0`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := r.validate(); err != nil {
				return cli.Usage(err)
			}
			return explainTools(r.run(command.Context(), p))
		},
	}
	return cli.WithSettings(p, command, sections)
}

func (r *restoring) validate() error {
	err := required("database", r.to)
	switch {
	case r.from == "" && !r.replaced:
		err = errors.Join(err, errors.New("--from: is required; give a file that docket backup has written, or --replaced if the database was put back already"))
	case r.from != "" && r.replaced:
		err = errors.Join(err, errors.New("--from and --replaced: give one of them"))
	case r.passwordFile != "" && !r.replaced:
		err = errors.Join(err, errors.New("--database-password-file: is for --replaced with PostgreSQL; leave it out, a file of SQLite has no password"))
	case r.replaced && r.atNextStart:
		err = errors.Join(err, errors.New("--at-next-start: is for --from; with --replaced no server may use the database"))
	}
	return err
}

func (r *restoring) run(ctx context.Context, p cli.Process) error {
	if r.replaced {
		if err := database.Replaced(ctx, r.to, database.Options{PasswordFile: r.passwordFile}); err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		fmt.Fprintln(p.ErrOut, "When a server starts, resource versions leap ahead, and clients list again.")
		return nil
	}
	backup := io.Reader(os.Stdin)
	if r.from != standard {
		file, err := os.Open(r.from)
		if err != nil {
			return cli.Usage(fmt.Errorf("--from: %w", err))
		}
		defer func() { _ = file.Close() }() // It was only read.
		backup = file
	}
	if err := database.Restore(ctx, backup, r.to, r.atNextStart); err != nil {
		switch {
		case errors.Is(err, engine.ErrLocked):
			return fmt.Errorf("--database: %w; or give --at-next-start", err)
		case errors.Is(err, database.ErrNoBackup):
			return fmt.Errorf("--from: %s: %w; give a file that docket backup has written", r.from, err)
		}
		return err
	}
	if r.atNextStart {
		fmt.Fprintln(p.ErrOut, "The backup is beside the database. The server takes it when it starts next: restart it now.")
	} else {
		fmt.Fprintln(p.ErrOut, "Restored. When a server starts, resource versions leap ahead, and clients list again.")
	}
	return nil
}

// required says that a flag is missing.
func required(flag, value string) error {
	if value != "" {
		return nil
	}
	return fmt.Errorf("--%s: is required", flag)
}

// explainTools says what to use instead where a database has tools of its own.
func explainTools(err error) error {
	switch {
	case errors.Is(err, database.ErrOwnTools):
		return cli.Usage(fmt.Errorf("--database: %w: use pg_dump and pg_restore for PostgreSQL, and etcdutl for etcd; docs/operate/backup.md has the commands", err))
	case errors.Is(err, engine.ErrMissing):
		return cli.Usage(fmt.Errorf("--database: %w", err))
	}
	return err
}
