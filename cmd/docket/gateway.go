// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/plane/gateway"
)

func newGateway(p cli.Process) *cobra.Command {
	options, dirErr := gateway.NewOptions()
	command := &cobra.Command{
		Use:   "gateway [flags]",
		Short: "Add API servers to a cluster that can't be reconfigured",
		Long: `Serve one endpoint in front of a cluster whose APIServices you may not touch.

API servers that are registered at the gateway get the requests for their groups;
everything else goes to the cluster: watches, logs, exec and port-forward included.
kubectl sees both as one. Only clients of the gateway see the registered groups:
pods, controllers and quotas of the cluster do not.

As it is started here it serves you alone, with your own kubeconfig, and needs no
rights in the cluster. If you may create APIServices there, you need no gateway.`,
		Example: `  # In front of the cluster of your current context
  docket gateway
  # ... and in another terminal
  export KUBECONFIG=~/.docket-gateway/kubeconfig
  kubectl api-resources

  # Another context, and an API server that is registered from a file
  docket gateway --context staging --apiservice my-apiservice.yaml

  # For a team, in a pod: each caller's own token goes to the cluster
  docket gateway --profile token --listen 0.0.0.0:8443 --dir /var/lib/docket-gateway \
    --tls-cert-file /etc/docket/tls/tls.crt --tls-private-key-file /etc/docket/tls/tls.key`,
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
			return options.Run(command.Context(), p.Out, clock.RealClock{})
		},
	}
	return completeContexts(cli.WithSettings(p, command, options.Flags()), &options.Kubeconfig)
}
