// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

// caFileFlag names the file of authorities, in both commands.
const caFileFlag = "ca-file"

func newBootstrap(p cli.Process) *cobra.Command {
	parameters := bootstrap.NewParameters()
	var caFile, output string
	var definitions []string
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("bootstrap")
	addServiceFlags(flags, &parameters.Namespace, &parameters.Service, &output)
	flags.BoolVar(&parameters.CreateNamespace, bootstrap.CreateNamespaceParameter, false, "Print the namespace of the server, too.")
	flags.Int32Var(&parameters.HTTPSPort, bootstrap.HTTPSPortParameter, parameters.HTTPSPort, "Port of the Service.")
	flags.StringVar(&caFile, caFileFlag, "", "PEM file with the certificate of the authority that signed the server's certificate; several while it is rotated.")
	flags.StringSliceVar(&definitions, apiserver.CustomResourcesFlag, nil,
		"Files or folders that the server gets with its flag of this name: an APIService for each version of their groups is printed, too.")
	command := &cobra.Command{
		Use:   "bootstrap [group...] [flags]",
		Short: "Print the objects with which an administrator registers a server",
		Long: `Print the objects with which an administrator registers a server of Docket in a
cluster: its ServiceAccount and rights, its Service, roles for people, and one
APIService for each API group (all groups unless some are named), and for each
version of the groups in --custom-resources.

Leave out results.docket.dev, by naming the other groups, where the server does not
serve it: with --result-rows=false, and with etcd as the database. An APIService that
nobody answers for keeps the cluster from deleting namespaces.

The server registers nothing itself. What is printed is one List without any secret,
to be read, kept in version control, and given to kubectl; the same List removes
everything again. The server shows it, too: GET /bootstrap/<group>.

` + "`docket bootstrap certificate`" + ` makes the certificate of the server.`,
		Example: `  # Read it first
  docket bootstrap --ca-file ca.crt
  # Create it, or bring it up to date
  docket bootstrap --ca-file ca.crt --create-namespace | kubectl apply -f -
  # Remove it
  docket bootstrap | kubectl delete --ignore-not-found -f -

  # One API group only
  docket bootstrap wgpolicyk8s.io --ca-file ca.crt | kubectl create -f -
  # Of a server with --custom-resources, too
  docket bootstrap --custom-resources crds/ --ca-file ca.crt | kubectl apply -f -`,
		ValidArgsFunction: completeGroups,
		Args:              cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, groups []string) error {
			if err := chooseGroups(&parameters, definitions, groups); err != nil {
				return cli.Usage(err)
			}
			format, err := readBootstrap(&parameters, caFile, output, p.Started)
			if err != nil {
				return cli.Usage(err)
			}
			if caFile == "" {
				fmt.Fprintf(p.ErrOut, "Warning: %s; give --%s\n", bootstrap.NoCABundle, caFileFlag)
			}
			data, err := bootstrap.Print(parameters, format)
			return write(p.Out, data, err)
		},
	}
	command.AddCommand(newBootstrapCertificate(p))
	return cli.WithSettings(p, completeFormats(command, flags), sections)
}

func newBootstrapCertificate(p cli.Process) *cobra.Command {
	parameters := bootstrap.NewCertificateParameters()
	var caFile, output, out string
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("certificate")
	addServiceFlags(flags, &parameters.Namespace, &parameters.Service, &output)
	flags.DurationVar(&parameters.Lifetime, bootstrap.LifetimeParameter, parameters.Lifetime, "How long the certificate is valid.")
	flags.StringVar(&caFile, caFileFlag, "", "File that gets the certificate of the new authority; created if missing. "+
		"Older certificates stay in it until they expire, so that a running server stays trusted.")
	flags.StringVar(&out, "out", "", "File for the Secret, which nobody else can read, instead of standard output.")
	command := &cobra.Command{
		Use:   "certificate --ca-file FILE [flags]",
		Short: "Make a serving certificate and print it as a Secret",
		Long: `Make a certificate for the server, and print it with its private key as a Secret.

An authority is made for this certificate alone. Its certificate is added to
--ca-file, which ` + "`docket bootstrap`" + ` puts into the APIServices; its key is
forgotten. Run the command again before the certificate ends: the file then holds
the old and the new authority, and nothing is interrupted as long as the
APIServices come before the Secret.`,
		Example: `  # The first time, and again to replace it
  docket bootstrap certificate --ca-file ca.crt --out docket-tls.yaml
  docket bootstrap --ca-file ca.crt --create-namespace | kubectl apply -f -
  kubectl apply -f docket-tls.yaml && rm docket-tls.yaml

  # Without the file ca.crt of last time: the cluster has it
  kubectl get secret -n docket-system docket-tls -o jsonpath='{.data.ca\.crt}' | base64 -d > ca.crt`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			format, trusted, err := readCertificate(parameters, caFile, output)
			if err != nil {
				return cli.Usage(err)
			}
			secret, bundle, err := bootstrap.Certificate(parameters, trusted, p.Started, format)
			if err != nil {
				return err
			}
			if err := writeBundle(caFile, bundle); err != nil {
				return err
			}
			fmt.Fprintf(p.ErrOut, "Authorities in %s: %d. The certificate is valid until %s.\n",
				caFile, len(bundle), bundle[len(bundle)-1].NotAfter.UTC().Format(time.RFC3339))
			if out == "" {
				return write(p.Out, secret, nil)
			}
			if err := atomicfile.Write(out, secret); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			return nil
		},
	}
	return cli.WithSettings(p, completeFormats(command, flags), sections)
}

// addServiceFlags adds what both commands have in common.
func addServiceFlags(flags *pflag.FlagSet, namespace, service, output *string) {
	flags.StringVar(namespace, bootstrap.NamespaceParameter, *namespace, "Namespace of the server.")
	flags.StringVar(service, bootstrap.ServiceParameter, *service, "Name of the Service in front of the server.")
	flags.StringVarP(output, bootstrap.OutputParameter, "o", bootstrap.Formats()[0], "Format: `yaml|json`.")
}

func completeFormats(command *cobra.Command, flags *pflag.FlagSet) *cobra.Command {
	command.Flags().AddFlag(flags.Lookup(bootstrap.OutputParameter))
	// It fails only for flags that don't exist.
	_ = command.RegisterFlagCompletionFunc(bootstrap.OutputParameter,
		cobra.FixedCompletions(bootstrap.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// completeGroups offers the groups that are not on the command line yet.
func completeGroups(_ *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
	left := slices.DeleteFunc(bootstrap.Groups(), func(group string) bool { return slices.Contains(have, group) })
	return left, cobra.ShellCompDirectiveNoFileComp
}

// chooseGroups chooses all groups, those of definitions included, unless some are named.
func chooseGroups(parameters *bootstrap.Parameters, definitions, named []string) error {
	further, err := apiserver.ReadKinds(definitions)
	if err != nil {
		return fmt.Errorf("--%s: %w", apiserver.CustomResourcesFlag, err)
	}
	parameters.Add(further)
	if len(named) > 0 {
		parameters.Groups = named
	}
	return nil
}

// readBootstrap finishes and checks the parameters. All that is wrong is said at once.
func readBootstrap(parameters *bootstrap.Parameters, caFile, output string, now time.Time) (bootstrap.Format, error) {
	format, err := bootstrap.ParseFormat(output)
	errs := append(asFlags(parameters.Validate()), asFlags([]error{err})...)
	if caFile != "" {
		if parameters.CABundle, err = bootstrap.ReadCABundle(caFile, now); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", caFileFlag, err))
		}
	}
	return format, errors.Join(errs...)
}

// readCertificate checks the parameters and reads the authorities of last time.
func readCertificate(parameters bootstrap.CertificateParameters, caFile, output string) (bootstrap.Format, certificate.Bundle, error) {
	format, err := bootstrap.ParseFormat(output)
	errs := append(asFlags(parameters.Validate()), asFlags([]error{err})...)
	if caFile == "" {
		errs = append(errs, fmt.Errorf("--%s: is required; name the file for the certificate of the new authority", caFileFlag))
		return format, nil, errors.Join(errs...)
	}
	data, err := os.ReadFile(caFile)
	var trusted certificate.Bundle
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		errs = append(errs, fmt.Errorf("--%s: %w", caFileFlag, err))
	default:
		if trusted, err = certificate.ParseBundle(data); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %s: %w", caFileFlag, caFile, err))
		}
	}
	return format, trusted, errors.Join(errs...)
}

// asFlags puts the dashes in front of the names of parameters.
func asFlags(errs []error) []error {
	for i, err := range errs {
		var parameter *bootstrap.ParameterError
		if errors.As(err, &parameter) {
			errs[i] = fmt.Errorf("--%w", err)
		}
	}
	return errs
}

func writeBundle(path string, bundle certificate.Bundle) error {
	data, err := bundle.PEM()
	if err == nil {
		err = atomicfile.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", caFileFlag, err)
	}
	return nil
}

// write prints what was made, unless that failed.
func write(out io.Writer, data []byte, err error) error {
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}
