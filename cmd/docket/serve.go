// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/server/apiserver"
)

func newServe(p cli.Process) *cobra.Command {
	options := apiserver.NewOptions()
	command := &cobra.Command{
		Use:   "serve --database URL [flags]",
		Short: "Serve the reports of a cluster: the extension API server",
		Long: `Serve the reports API to a cluster as an extension API server.

The cluster's API server passes requests on, once an administrator has registered
the API groups; this command registers nothing itself. Users are authenticated and
authorized by the cluster. Any number of replicas can share one PostgreSQL; SQLite
is for a single replica.`,
		Example: `  # In a pod, with the credentials of its service account
  docket serve --database 'postgres://docket@db:5432/docket?sslmode=verify-full' --database-password-file /etc/docket/password \
    --tls-cert-file /etc/docket/tls/tls.crt --tls-private-key-file /etc/docket/tls/tls.key

  # Several clusters in one database, each with a name of its own
  docket serve --database 'postgres://docket@db:5432/docket?sslmode=verify-full' --cluster production

  # Outside of the cluster
  docket serve --database sqlite:///var/lib/docket/docket.db --kubeconfig ~/.kube/config`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.ApplyProcess(); err != nil {
				return cli.Usage(err)
			}
			if errs := options.Validate(); len(errs) > 0 {
				return cli.Usage(errors.Join(errs...))
			}
			return options.Serve(command.Context(), clock.RealClock{})
		},
	}
	return cli.WithLibraryFlags(p, command, options.Flags(), options.LibraryFlags())
}
