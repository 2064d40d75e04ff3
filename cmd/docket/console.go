// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/results/console"
	"github.com/docket-project/docket/internal/results/mapping"
)

// consoleFlags are those of docket console.
type consoleFlags struct {
	process cli.Process

	kubeconfig, context, listen string
	mappings                    []string
	open                        bool
	signIn                      console.Options
}

func newConsole(p cli.Process) *cobra.Command {
	f := consoleFlags{process: p, listen: "127.0.0.1:0", signIn: console.NewOptions()}
	var sections cliflag.NamedFlagSets
	server := sections.FlagSet("server")
	server.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. If empty, the one kubectl would use.")
	server.StringVar(&f.context, "context", "", "Context of the kubeconfig; the current one if empty.")
	server.StringSliceVar(&f.mappings, "result-mappings", nil,
		"What --result-mappings of the server names: the console shows the objects of these kinds, too. Trivy's are built in.")
	browser := sections.FlagSet("browser")
	browser.StringVar(&f.listen, "listen", f.listen, "Address of the console as host:port. Port 0 takes any free port.")
	browser.BoolVar(&f.signIn.AllowNonLoopback, "allow-non-loopback", false,
		"Confirm that --listen may be an address that other machines reach. The connection is not encrypted: anyone who reads it can do what the console can.")
	browser.BoolVar(&f.open, "open", false, "Open the link in a browser.")
	f.addTeamFlags(sections.FlagSet("team"))
	command := &cobra.Command{
		Use:   "console [flags]",
		Short: "Show results in a browser",
		Long: `Show results in a browser on this machine, with your kubeconfig and your rights: who may read the results of one
namespace sees that namespace.

It prints a link that works once. The browser that opens it is signed in until the command ends, with Ctrl-C. The
console only reads; your credentials stay in this process.

For a team, a proxy that signs people in stands in front of it (--sign-in). Each request goes to the cluster as the
person who made it.`,
		Example: `  # The cluster that kubectl uses
  docket console --open

  # That of docket up
  docket console --kubeconfig ~/.docket/kubeconfig

  # On another machine, through ssh -L 8001:127.0.0.1:8001
  docket console --listen 127.0.0.1:8001

  # For a team, beside a proxy that sends people's ID tokens
  docket console --sign-in token --host docket.example.com --listen 127.0.0.1:8001`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command.Context()) },
	}
	return completeContexts(cli.WithSettings(p, command, sections), &f.kubeconfig)
}

func (f *consoleFlags) run(ctx context.Context) error {
	if err := f.signIn.Validate(); err != nil {
		return cli.Usage(err)
	}
	config, info, err := f.cluster()
	if err != nil {
		return err
	}
	if f.signIn.ForTeam() {
		return f.runTeam(ctx, config, info)
	}
	place, err := statedir.Listen(ctx, f.listen, f.signIn.AllowNonLoopback)
	if err != nil {
		return cli.Usage(err)
	}
	server, err := console.New(config, info, place.Hosts, clock.RealClock{})
	if err != nil {
		return errors.Join(err, place.Listener.Close())
	}
	host := place.Listener.Addr().String()
	fmt.Fprintf(f.process.Out, "Open this link, which works once and for %.0f minutes. Stop with Ctrl-C.\n\n  %s\n\n", console.LinkLifetime.Minutes(), server.Link(host))
	if f.open {
		if err := openBrowser(ctx, server, host); err != nil {
			fmt.Fprintf(f.process.ErrOut, "No browser could be opened: %v. Open the link yourself.\n", err)
		}
	}
	return server.Serve(ctx, place.Listener)
}

// cluster returns the way to the cluster, and what the pages say about it.
func (f *consoleFlags) cluster() (*rest.Config, console.Info, error) {
	config, err := readConfig(f.kubeconfig, f.context)
	if err != nil {
		return nil, console.Info{}, err
	}
	loader := kubeconfigLoader(f.kubeconfig, f.context)
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, console.Info{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	mappings, err := mapping.Load(f.mappings...)
	if err != nil {
		return nil, console.Info{}, cli.Usage(fmt.Errorf("--result-mappings: %w", err))
	}
	info := console.Info{
		Cluster: config.Host, Context: f.context, Namespace: namespace, Kubectl: []string{"kubectl"}, Kinds: mappings.Kinds(),
	}
	if raw, err := loader.RawConfig(); err == nil && info.Context == "" {
		info.Context = raw.CurrentContext
	}
	if f.kubeconfig != "" {
		info.Kubectl = append(info.Kubectl, "--kubeconfig", f.kubeconfig)
	}
	if f.context != "" {
		info.Kubectl = append(info.Kubectl, "--context", f.context)
	}
	return config, info, nil
}

// openBrowser starts what opens pages on this system.
func openBrowser(ctx context.Context, server *console.Console, host string) error {
	// Browsers in a sandbox see neither /tmp nor hidden folders.
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	page, err := server.WriteOpening(host, home, os.TempDir())
	if err != nil {
		return err
	}
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	opener := exec.CommandContext(ctx, name, (&url.URL{Scheme: "file", Path: page}).String())
	if err := opener.Start(); err != nil {
		return err
	}
	go func() { _ = opener.Wait() }() // It ends with ctx; what it says about the browser is not for us.
	return nil
}
