// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/migrate"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/store/engine"
)

// addCopyFlags adds the flags of all copies.
func addCopyFlags(fs *pflag.FlagSet, c *migrate.Copy, groups *[]string) {
	fs.StringSliceVar(groups, "api-groups", *groups, "API groups whose reports are copied.")
	fs.BoolVar(&c.Replace, "replace", false, "Make the destination equal to the source: overwrite reports that differ, delete reports that the source does not have.")
	fs.BoolVar(&c.Verify, "verify", false, "Only compare both sides, report by report. Writes nothing.")
	fs.BoolVar(&c.AllowEmpty, "allow-empty", false, "Accept a source without reports, which is otherwise an error. With --replace, this deletes all reports of the destination.")
}

func newMigrateDatabase(p cli.Process) *cobra.Command {
	to, from := apiserver.NewStorageOptions(), apiserver.NewStorageOptions()
	what, apiGroups := migrate.Copy{Out: p.Out, Err: p.ErrOut}, registry.Groups()
	var sections cliflag.NamedFlagSets
	to.AddDatabaseFlags(sections.FlagSet("reports"))
	flags := sections.FlagSet("source")
	flags.StringVar(&from.Database, "from", "", "Database to copy from. No server may write to it; an SQLite file must not be in use at all.")
	flags.StringVar(&from.DatabasePasswordFile, "from-password-file", "", "File with the password for --from.")
	flags.StringVar(&from.Cluster, "from-cluster", from.Cluster, "Share of --from; see --cluster.")
	addCopyFlags(sections.FlagSet("copy"), &what, &apiGroups)
	command := &cobra.Command{
		Use:   "database --from URL --database URL",
		Short: "Copy the reports of one database into another, such as SQLite into PostgreSQL",
		Long: `Copy the reports and other custom resources of one database into another, with all
metadata, and compare them.

It can be interrupted at any time and run again to continue. Reports that the
destination already has are left alone unless --replace is given. The source must exist
and have reports, unless --allow-empty is given.`,
		Example: `  docket migrate database --from sqlite:///var/lib/docket/docket.db --database 'postgres://docket@db:5432/docket?sslmode=verify-full'`,
		Args:    cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if from.Database == "" {
				return cli.Usage(errors.New("--from: is required; give the URL of the database to copy from"))
			}
			if from.Database == to.Database && from.Cluster == to.Cluster {
				return cli.Usage(errors.New("--from and --database are the same: there is nothing to copy"))
			}
			if errs := to.Validate(); len(errs) > 0 {
				return cli.Usage(errors.Join(errs...))
			}
			from.APIGroups, to.APIGroups = apiGroups, apiGroups
			from.Existing, to.Existing = true, what.Verify
			return copyDatabase(command.Context(), what, from, to)
		},
	}
	return cli.WithSettings(p, command, sections)
}

func copyDatabase(ctx context.Context, what migrate.Copy, from, to *apiserver.StorageOptions) error {
	return withReports(ctx, "--from", from, func(source *apiserver.Reports) error {
		return withReports(ctx, "--database", to, func(destination *apiserver.Reports) error {
			what.Kinds = source.Storage().Kinds()
			return explainEmpty(what.Database(ctx, placeOf(source), placeOf(destination)))
		}, source.Definitions...)
	})
}

// explainEmpty adds the remedy for a source without reports.
func explainEmpty(err error) error {
	if errors.Is(err, migrate.ErrEmpty) {
		return cli.Usage(fmt.Errorf("--from: %w: check the source and its cluster; --allow-empty accepts it", err))
	}
	return err
}

func placeOf(reports *apiserver.Reports) migrate.Place {
	return migrate.Place{Store: reports.Store, Storage: reports.Storage()}
}

// withReports opens the database of a flag for the duration of a call, also for objects of definitions.
func withReports(ctx context.Context, flag string, storage *apiserver.StorageOptions,
	f func(*apiserver.Reports) error, definitions ...*apiextensionsv1.CustomResourceDefinition,
) error {
	reports, err := apiserver.OpenReports(ctx, storage, definitions...)
	if errors.Is(err, engine.ErrMissing) {
		return cli.Usage(fmt.Errorf("%s: %w", flag, err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return errors.Join(f(reports), reports.Close())
}

func newMigrateReportsServer(p cli.Process) *cobra.Command {
	what := migrate.ReportsServer{Copy: migrate.Copy{Out: p.Out, Err: p.ErrOut}}
	to := apiserver.NewStorageOptions()
	apiGroups := registry.Groups()
	var server serverFlags
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("source")
	flags.StringVar(&what.URL, "from", "", "Database of reports-server: postgres://user@host:port/name. Passwords are better in PGPASSWORD or PGPASSFILE. It is only read.")
	flags.StringVar(&what.Cluster, "source-cluster", "", "ID of the cluster whose reports are copied, if the database has several: the UID of its kube-system namespace.")
	server.add(sections.FlagSet("running server"))
	to.AddDatabaseFlags(sections.FlagSet("database"))
	addCopyFlags(sections.FlagSet("copy"), &what.Copy, &apiGroups)
	command := &cobra.Command{
		Use:   "reports-server --from URL (--server URL | --database URL)",
		Short: "Copy reports from the PostgreSQL tables of kyverno/reports-server",
		Long: `Copy the reports of a cluster from the PostgreSQL tables of kyverno/reports-server,
with the metadata that it kept, into a running Docket or into its database.

It reads the tables at one moment, without changing them, and can be run again: with
--server, reports that clients have since changed in Docket are left alone.`,
		Example: `  PGPASSWORD=… docket migrate reports-server --from 'postgres://reports@db:5432/reportsdb?sslmode=require' \
    --server https://docket.docket-system.svc --server-ca ca.crt`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := registry.ValidateGroups(apiGroups); err != nil {
				return cli.Usage(fmt.Errorf("--api-groups: %w", err))
			}
			what.Kinds, to.APIGroups = movable(apiGroups), apiGroups
			return copyReportsServer(command.Context(), what, server, to)
		},
	}
	return cli.WithSettings(p, command, sections)
}

func copyReportsServer(ctx context.Context, what migrate.ReportsServer, server serverFlags, to *apiserver.StorageOptions) error {
	if what.URL == "" {
		return cli.Usage(errors.New("--from: is required; give the URL of the database of reports-server"))
	}
	if (server.server == "") == (to.Database == "") {
		return cli.Usage(errors.New("give either --server, for a running Docket, or --database"))
	}
	if server.server != "" {
		if what.Replace {
			return cli.Usage(errors.New("--replace: is for --database; a running server keeps what its clients wrote"))
		}
		_, docket, err := server.configs()
		if err != nil {
			return err
		}
		return explainEmpty(what.ToServer(ctx, docket))
	}
	if errs := to.Validate(); len(errs) > 0 {
		return cli.Usage(errors.Join(errs...))
	}
	to.Existing = what.Verify
	return withReports(ctx, "--database", to, func(reports *apiserver.Reports) error {
		if err := explainEmpty(what.ToDatabase(ctx, placeOf(reports))); err != nil {
			return fmt.Errorf("reports-server: %w", err)
		}
		return nil
	})
}
