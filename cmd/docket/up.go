// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/up"
	"github.com/docket-project/docket/internal/results/console"
)

func newUp(p cli.Process) *cobra.Command {
	options, dirErr := up.NewOptions()
	command := &cobra.Command{
		Use:   "up [flags]",
		Short: "Run everything on this machine, without a cluster",
		Long: `Serve the reports API on this machine for one person, without a cluster.

All that lasts is in one folder: the database, certificates, a token, and a
kubeconfig for kubectl and other clients. Start it again and everything is as it
was. Only who can read the folder can use the API.`,
		Example: `  # Start with reports of an imaginary cluster to look at
  docket up --demo
  # ... and in another terminal, besides the link that opens the results in a browser
  export KUBECONFIG=~/.docket/kubeconfig
  kubectl get policyreports -A

  # Keep the reports in PostgreSQL
  docket up --database postgres://me@localhost:5432/reports

  # A second one beside the first
  docket up --dir /tmp/second --listen 127.0.0.1:0`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			// Without a home folder there is no default, and then --dir decides.
			if dirErr != nil && options.Dir == "" {
				return cli.Usage(dirErr)
			}
			if err := options.ApplyProcess(); err != nil {
				return cli.Usage(err)
			}
			if err := options.Validate(); err != nil {
				return cli.Usage(err)
			}
			options.NewConsole = newUpConsole
			return options.Run(command.Context(), p.Out, p.ErrOut, clock.RealClock{}, p.Started)
		},
	}
	return cli.WithSettings(p, command, options.Flags())
}

// upConsole is the console of docket up.
type upConsole struct{ *console.Console }

func newUpConsole(kubeconfig string, mappings, hosts []string) (up.Console, error) {
	config, info, err := (&consoleFlags{kubeconfig: kubeconfig, mappings: mappings}).cluster()
	if err != nil {
		return nil, err
	}
	info.NewLink = "docket console --kubeconfig " + statedir.Quote(kubeconfig) + " --open"
	for _, file := range mappings {
		info.NewLink += " --result-mappings " + statedir.Quote(file)
	}
	server, err := console.New(config, info, hosts, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	return upConsole{server}, nil
}

// Invite implements up.Console.
func (c upConsole) Invite(host string) string {
	return fmt.Sprintf("Results in your browser (once, within %.0f minutes): %s", console.LinkLifetime.Minutes(), c.Link(host))
}
