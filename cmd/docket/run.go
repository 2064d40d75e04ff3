// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/plane/run"
)

func newRun(p cli.Process) *cobra.Command {
	options := run.NewOptions()
	command := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Start an extension API server next to docket up or docket gateway",
		Long: `Start an extension API server and register it for as long as it runs.

The server gets a port, a serving certificate for the name by which it is asked, and
the endpoint's kubeconfig, which is also in its environment as KUBECONFIG. When it
answers, its group versions are registered as APIServices; when it ends, or after
Ctrl-C, they are taken back, and docket run ends with the server's exit code.

Servers built on Kubernetes' RecommendedOptions need nothing else: the flags that
they take for all this are appended to the command. For other servers write
placeholders into the arguments, and nothing is appended:

  {port}        port to listen on, on 127.0.0.1
  {cert} {key}  files with the serving certificate and its key
  {kubeconfig}  file with the address of the endpoint and the user's credentials
  {proxy-ca}    file with the authority of the aggregator, which tells who a user is
  {dir}         folder for the server's own files; it is removed at the end`,
		Example: `  # The sample server of Kubernetes, next to docket up; it keeps its objects in etcd
  docket run -- sample-apiserver --etcd-servers=http://127.0.0.1:2379
  # ... and in another terminal
  export KUBECONFIG=~/.docket/kubeconfig
  kubectl get flunders -A

  # A server with other flags, next to a gateway with a state folder of its own
  docket run --dir /tmp/gateway --group-version example.com/v1 -- \
    ./server --listen=127.0.0.1:{port} --cert={cert} --key={key} --proxy-ca={proxy-ca}`,
		// Without a command there is more to say than that arguments are missing.
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, args []string) error {
			if err := options.Validate(args); err != nil {
				return cli.Usage(err)
			}
			return options.Run(command.Context(), args, p.Out, p.ErrOut, clock.RealClock{})
		},
	}
	// Arguments after the command's name belong to the command, with or without --.
	command.Flags().SetInterspersed(false)
	return cli.WithSettings(p, command, options.Flags())
}
