// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
)

// Options of `docket run`.
type Options struct {
	// Kubeconfig of the endpoint; empty for that of KUBECONFIG or Dir.
	Kubeconfig string
	// Dir is the state folder of the endpoint; empty for that of `docket up`.
	Dir string
	// Name and Namespace name the server in its APIServices. An empty name is made from the command.
	Name, Namespace string
	// GroupVersions to register, as group/version; empty to ask the server.
	GroupVersions []string
	// Keep keeps the registration at the end.
	Keep bool
	// Timeout bounds the time from the start of the command until it is available.
	Timeout time.Duration
	// Shadow lets the server take over group versions that the endpoint passes on to its cluster.
	Shadow bool

	// derived is true if Name was derived from the command.
	derived bool
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{Namespace: "docket-run", Timeout: 2 * time.Minute}
}

// Flags returns the flags by section.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	o.addEndpointFlags(sections.FlagSet("endpoint"))
	server := sections.FlagSet("server")
	server.StringVar(&o.Name, "name", o.Name, "Name of the server; by default that of the command, numbered if such a server is running.")
	server.StringVar(&o.Namespace, "namespace", o.Namespace, "Namespace in the name of the server's certificate, as in python3.docket-run.svc.")
	server.StringSliceVar(&o.GroupVersions, "group-version", o.GroupVersions,
		"What the server serves, as group/version; can be repeated. When omitted, the server is asked.")
	server.BoolVar(&o.Shadow, "shadow", o.Shadow,
		"Serve group versions in place of the gateway's cluster, to clients of the gateway, while the server runs.")
	server.BoolVar(&o.Keep, "keep", o.Keep, "Keep the registration when the server ends.")
	server.DurationVar(&o.Timeout, "timeout", o.Timeout, "How long the server may take to become available.")
	return sections
}

func (o *Options) addEndpointFlags(endpoint *pflag.FlagSet) {
	endpoint.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"Kubeconfig that docket up or docket gateway wrote. By default the one in --dir if given, else $KUBECONFIG, else that of docket up.")
	endpoint.StringVar(&o.Dir, "dir", o.Dir, "State folder of the endpoint.")
	// The same on every machine, so that documentation can show it.
	endpoint.Lookup("dir").DefValue = "docket in $XDG_DATA_HOME, or ~/.docket"
}

// Validate derives options from the command, and returns all errors, each
// with its flag and a remedy.
func (o *Options) Validate(command []string) error {
	var errs []error
	if len(command) == 0 {
		return errors.New("give the command of the server after --, as in `docket run -- ./server --etcd-servers=http://127.0.0.1:2379`")
	}
	if o.Name == "" {
		o.Name, o.derived = nameOf(command[0]), true
	}
	for _, problem := range validation.IsDNS1035Label(o.Name) {
		errs = append(errs, fmt.Errorf("--name: %q: %s", o.Name, problem))
	}
	for _, problem := range validation.IsDNS1123Label(o.Namespace) {
		errs = append(errs, fmt.Errorf("--namespace: %q: %s", o.Namespace, problem))
	}
	if o.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout: %v: must be more than 0", o.Timeout))
	}
	_, err := o.groupVersions()
	return errors.Join(append(errs, err)...)
}

// groupVersions parses --group-version.
func (o *Options) groupVersions() ([]schema.GroupVersion, error) {
	var versions []schema.GroupVersion
	var errs []error
	for _, text := range o.GroupVersions {
		version, err := schema.ParseGroupVersion(text)
		if err != nil || version.Group == "" || version.Version == "" {
			errs = append(errs, fmt.Errorf("--group-version: %q: must be group/version, as in wardle.example.com/v1", text))
			continue
		}
		versions = append(versions, version)
	}
	return versions, errors.Join(errs...)
}
