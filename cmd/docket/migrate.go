// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

func newMigrate(p cli.Process) *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Change or move what is stored",
		Long:  "Change or move what is stored. Each subcommand can be interrupted and run again.",
		Args:  cli.NoArguments,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newMigrateCrds(p), newMigrateDatabase(p), newMigrateReportsServer(p), newMigrateResults(p))
	return command
}

// movable returns the kinds of reports of some groups.
func movable(groups []string) (kinds []imports.Kind) {
	for _, kind := range registry.Kinds() {
		if slices.Contains(groups, kind.GroupVersionKind.Group) {
			kinds = append(kinds, apiserver.Movable(kind))
		}
	}
	return kinds
}

func newMigrateResults(p cli.Process) *cobra.Command {
	storage := apiserver.NewStorageOptions()
	var sections cliflag.NamedFlagSets
	storage.AddDatabaseFlags(sections.FlagSet("reports"))
	storage.AddKindFlags(sections.FlagSet("reports"))
	command := &cobra.Command{
		Use:   "results --database URL",
		Short: "Rebuild the rows for SQL users from the reports",
		Long: `Rebuild the result rows, which the SQL views show, from the reports.

Run it after a server has run with --result-rows=false, or when a release note says so.
On PostgreSQL, servers may keep running meanwhile.`,
		Example: `  docket migrate results --database 'postgres://docket@db:5432/docket?sslmode=verify-full'`,
		Args:    cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if errs := storage.Validate(); len(errs) > 0 {
				return cli.Usage(errors.Join(errs...))
			}
			var bar *progress.Bar
			defer func() { bar.Done() }()
			storage.Existing = true
			return withReports(command.Context(), "--database", storage, func(reports *apiserver.Reports) error {
				return reports.RebuildResults(command.Context(), func(done, total int64) {
					if bar == nil {
						bar = progress.New(p.ErrOut, total, "result rows")
					}
					bar.Add(done - bar.Count())
				})
			})
		},
	}
	return cli.WithSettings(p, command, sections)
}
