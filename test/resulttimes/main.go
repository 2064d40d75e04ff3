// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command resulttimes measures how long the API of results takes, and prints tables:
//
//	go run ./test/resulttimes --kubeconfig FILE
//
// It asks a running server, docket up or a cluster, over one connection, one request after the other. What it asks
// about is what it finds: the namespace with most results, the policy with most results in all namespaces. Answers
// are checked against the server's own counters: a wrong number of results or groups is a failure, and a run with
// failures ends with exit code 1. So does one during which anything was written.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// options is what the flags say.
type options struct {
	kubeconfig, context string
	rounds, limit       int
	gzip                bool
	only                []string

	namespace, policy, kind, property string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "resulttimes:", err)
		os.Exit(1)
	}
}

func parse(arguments []string, help io.Writer) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("resulttimes", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(help)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the server; default is KUBECONFIG, then ~/.kube/config")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig")
	flags.IntVar(&o.rounds, "rounds", 11, "how often each request is sent; the tables have medians")
	flags.IntVar(&o.limit, "limit", 500, "results in a page")
	flags.BoolVar(&o.gzip, "gzip", false, "let the server compress answers")
	flags.StringSliceVar(&o.only, "only", sections(), "which tables")
	flags.StringVar(&o.namespace, "namespace", "", "namespace that some requests are about; default is that with most results")
	flags.StringVar(&o.policy, "policy", "", "policy that some requests are about; default is that with most results")
	flags.StringVar(&o.kind, "kind", "Deployment", "kind of resource that some requests are about")
	flags.StringVar(&o.property, "property", "process", "property that some questions group by")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("--rounds=%d: use 1 or more", o.rounds)
	}
	if o.limit < 1 {
		return nil, fmt.Errorf("--limit=%d: use 1 or more", o.limit)
	}
	for _, section := range o.only {
		if !slices.Contains(sections(), section) {
			return nil, fmt.Errorf("--only: unknown table %q: use some of %s", section, strings.Join(sections(), ", "))
		}
	}
	return o, nil
}

// newClient returns a client of the group results.docket.dev, without a limit on requests.
func newClient(o *options) (*rest.RESTClient, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent, config.DisableCompression = -1, "docket-resulttimes", !o.gzip
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// run does everything; tables go to out.
func run(ctx context.Context, arguments []string, out io.Writer) error {
	o, err := parse(arguments, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	client, err := newClient(o)
	if err != nil {
		return err
	}
	before, err := revision(ctx, client)
	if err != nil {
		return err
	}
	about, err := find(ctx, client, o)
	if err != nil {
		return fmt.Errorf("find what to ask about: %w", err)
	}
	fmt.Fprintf(out, "%d results in %d namespaces, %d of them of namespace %s, %d of policy %s, %d about kind %s; %d requests each; load before: %s\n",
		about.results, about.namespaces, about.inNamespace.results, about.namespace, about.ofPolicy, about.policy, about.ofKind, about.kind, o.rounds, load())
	failed := 0
	for _, section := range o.only {
		lines, err := about.lines(ctx, client, section)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", section, err)
		}
		n, err := measureAll(ctx, section, lines, o.rounds, out)
		if err != nil {
			return err
		}
		failed += n
	}
	fmt.Fprintf(out, "\nLoad after: %s\n", load())
	if failed > 0 {
		return fmt.Errorf("%d of the requests failed", failed)
	}
	after, err := revision(ctx, client)
	if err == nil && after != before {
		err = fmt.Errorf("somebody else wrote meanwhile: the resource version of reports was %s, and is %s", before, after)
	}
	return err
}
