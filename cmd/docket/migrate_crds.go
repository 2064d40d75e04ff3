// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/migrate"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

// serverFlags say how to reach a Docket server directly.
type serverFlags struct {
	kubeconfig, server, serverCA, serverName string
}

func (f *serverFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of an administrator of the cluster; empty for $KUBECONFIG, ~/.kube/config or, in a pod, its service account.")
	fs.StringVar(&f.server, "server", "", "URL of Docket itself, bypassing the cluster, such as https://docket.docket-system.svc or a forwarded port. The credentials of --kubeconfig are used.")
	fs.StringVar(&f.serverCA, "server-ca", "", "PEM file with the certificate authority that signed the certificate of --server.")
	fs.StringVar(&f.serverName, "server-name", "", "Name in the certificate of --server, if it differs from the URL: docket.docket-system.svc for a forwarded port.")
}

// configs returns the configurations of clients for the cluster, and for Docket with the same credentials.
func (f *serverFlags) configs() (cluster, docket *rest.Config, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	cluster, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	if f.server == "" {
		return nil, nil, cli.Usage(errors.New("--server: is required; give the URL of Docket itself, such as https://docket.docket-system.svc"))
	}
	docket = rest.CopyConfig(cluster)
	docket.Host, docket.APIPath = f.server, ""
	docket.TLSClientConfig.CAFile, docket.TLSClientConfig.CAData = f.serverCA, nil
	docket.TLSClientConfig.Insecure, docket.TLSClientConfig.ServerName = false, f.serverName
	if u, err := url.Parse(f.server); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, nil, cli.Usage(fmt.Errorf("--server: %q is not the URL of a server; give one such as https://docket.docket-system.svc", f.server))
	}
	return cluster, docket, nil
}

// crdsFlags are the flags of `docket migrate crds`.
type crdsFlags struct {
	serverFlags

	options             migrate.Options
	services            string
	toCluster           bool
	verify, free, abort bool
}

func newMigrateCrds(p cli.Process) *cobra.Command {
	f := crdsFlags{options: migrate.Options{
		Groups: registry.Groups(), Kinds: movable(registry.Groups()), Define: apiserver.MovableDefinition, Namespace: bootstrap.DefaultNamespace, Settle: migrate.DefaultSettle, Out: p.Out, Err: p.ErrOut,
	}}
	var sections cliflag.NamedFlagSets
	f.serverFlags.add(sections.FlagSet("connections"))
	f.add(sections.FlagSet("migration"))
	command := &cobra.Command{
		Use:   "crds --server URL [flags]",
		Short: "Move reports and other custom resources of a cluster into Docket, or back",
		Long: `Move the custom resources of a cluster from etcd into Docket while clients keep working;
with --to-cluster, move them back: reports, or with --group what else the server serves.

It copies all objects with their metadata, follows changes, makes requests wait during
the switch until the last change is copied, and compares both sides. Nothing is deleted
from etcd before --delete-from-cluster. It can be interrupted at any time, even by
kill -9: run the same command again to continue. docs/operate/migrate.md is the run-book.`,
		Example: `  # Copy, follow, and switch with what docket bootstrap prints
  docket bootstrap --ca-file ca.crt > docket.yaml
  docket migrate crds --server https://docket.docket-system.svc --server-ca ca.crt --switch --api-services docket.yaml

  # Compare both sides, then free the space in etcd
  docket migrate crds --server https://docket.docket-system.svc --server-ca ca.crt --verify
  docket migrate crds --server https://docket.docket-system.svc --server-ca ca.crt --delete-from-cluster

  # Another group, which the server serves with --custom-resources
  docket migrate crds --group example.com --server https://docket.docket-system.svc --server-ca ca.crt --switch --api-services docket.yaml

  # Back to custom resources
  docket migrate crds --server https://docket.docket-system.svc --server-ca ca.crt --to-cluster --switch`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command.Context()) },
	}
	return cli.WithSettings(p, command, sections)
}

func (f *crdsFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.options.Groups, "api-groups", f.options.Groups, "API groups to migrate. Groups without CustomResourceDefinitions are skipped.")
	fs.StringSliceVar(&f.options.Groups, "group", f.options.Groups, "API groups to migrate, in place of --api-groups: also those that the server serves with --custom-resources.")
	fs.StringVar(&f.options.Namespace, "namespace", f.options.Namespace, "Namespace of the ConfigMap "+migrate.ConfigMapName+", which keeps the progress of the migration.")
	fs.BoolVar(&f.toCluster, "to-cluster", false, "Move the objects from Docket back into custom resources.")
	fs.BoolVar(&f.options.Switch, "switch", false, "Change the APIServices when everything is copied. Otherwise the migration waits until you do; with --to-cluster it ends after the copy.")
	fs.StringVar(&f.services, "api-services", "", "File with the APIServices for --switch: the output of docket bootstrap.")
	fs.BoolVar(&f.options.Overwrite, "overwrite", false, "Make Docket equal to the cluster even if it has objects that no migration imported.")
	fs.DurationVar(&f.options.Settle, "settle", f.options.Settle, "How long API servers take to see a change; also replicas of Docket, if it keeps reports in etcd.")
	fs.BoolVar(&f.verify, "verify", false, "Only compare both sides, object by object. Writes no objects.")
	fs.BoolVar(&f.free, "delete-from-cluster", false, "Delete the custom resources of a finished migration, after comparing once more.")
	fs.BoolVar(&f.abort, "abort", false, "Abort a migration before the switch: undo its changes to CustomResourceDefinitions, and remove its state.")
}

func (f *crdsFlags) validate() error {
	modes := 0
	for _, set := range []bool{f.toCluster, f.verify, f.free, f.abort} {
		if set {
			modes++
		}
	}
	switch {
	case modes > 1:
		return errors.New("--to-cluster, --verify, --delete-from-cluster and --abort are mutually exclusive: give one")
	case f.options.Switch && !f.toCluster && f.services == "":
		return errors.New("--switch needs --api-services: give the file with the output of `docket bootstrap`")
	}
	for _, group := range f.options.Groups {
		if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 {
			return fmt.Errorf("--group: %q is no API group: %s", group, strings.Join(wrong, "; "))
		}
	}
	return nil
}

func (f *crdsFlags) run(ctx context.Context) error {
	if err := f.validate(); err != nil {
		return cli.Usage(err)
	}
	var err error
	if f.options.Cluster, f.options.Docket, err = f.configs(); err != nil {
		return err
	}
	if f.services != "" {
		data, err := os.ReadFile(f.services)
		if err != nil {
			return cli.Usage(fmt.Errorf("--api-services: %w", err))
		}
		if f.options.APIServices, err = migrate.ReadAPIServices(data); err != nil {
			return cli.Usage(fmt.Errorf("--api-services: %s: %w", f.services, err))
		}
	}
	m, err := migrate.NewCrds(f.options)
	if err != nil {
		return err
	}
	switch {
	case f.verify:
		return m.Verify(ctx)
	case f.free:
		return m.DeleteFromCluster(ctx)
	case f.abort:
		return m.Abort(ctx)
	case f.toCluster:
		return m.ToCluster(ctx)
	}
	return m.ToDocket(ctx)
}
