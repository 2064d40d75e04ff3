// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"

	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/docket-project/docket/internal/server/bootstrap/handler"
)

// DefaultMaxRequestBytes is room for a report of some 40,000 results. The usual
// 3 MiB of Kubernetes come from etcd's limit, which does not exist here.
const DefaultMaxRequestBytes = 16 << 20

// minRequestBytes keeps one result with the longest allowed names possible.
const minRequestBytes = 64 << 10

// droppedServerFlags would do nothing in this server: they need --runtime-config,
// or choose between versions of an API that has only one.
var droppedServerFlags = []string{
	"emulated-version", "min-compatibility-version",
	"emulation-forward-compatible", "runtime-config-emulation-forward-compatible",
}

// droppedLogFlags are alpha and refused without a gate that is not offered.
var droppedLogFlags = []string{
	"log-text-split-stream", "log-text-info-buffer-size",
	"log-json-split-stream", "log-json-info-buffer-size",
}

// usualServingFlags are the library's serving flags that an installation sets.
var usualServingFlags = []string{"bind-address", "secure-port", "tls-cert-file", "tls-private-key-file"}

// adopt adds to fs the flags that add defines, without those in drop.
func adopt(fs *pflag.FlagSet, add func(*pflag.FlagSet), drop []string) {
	adoptIf(fs, add, func(name string) bool { return !slices.Contains(drop, name) })
}

// adoptIf adds to fs those of the flags that add defines whose names are wanted.
func adoptIf(fs *pflag.FlagSet, add func(*pflag.FlagSet), wanted func(name string) bool) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if wanted(flag.Name) {
			fs.AddFlag(flag)
		}
	})
}

// addServingFlags adds Docket's own flags for serving, and the library's that are usually set.
func (o *Options) addServingFlags(serving *pflag.FlagSet) {
	adoptIf(serving, o.SecureServing.AddFlags, func(name string) bool { return slices.Contains(usualServingFlags, name) })
	if o.Certificate != nil {
		o.Certificate.addFlags(serving)
	}
	serving.StringVar(&o.BootstrapCAFile, handler.CAFlag, o.BootstrapCAFile,
		"File with the authority of the serving certificate, for the APIServices that /bootstrap shows. It is read at each request.")
}

// addLimitFlags adds the limits on the bodies of requests.
func (o *Options) addLimitFlags(limits *pflag.FlagSet) {
	limits.Var(newBytesValue(&o.Server.MaxRequestBodyBytes), "max-request-bytes",
		"Largest body of a write request; larger ones get 413. Allow 400 bytes for each result of a report, "+
			"and raise --max-request-bytes-in-flight with it. A list in the body may have one item per 400 bytes of this limit.")
	limits.Var(newBytesValue(&o.MaxRequestBytesInFlight), "max-request-bytes-in-flight",
		"Total size of request bodies above 256 KiB in work at a time; patches and YAML count twice. "+
			"Others wait for 5 s, then get 429. Each byte needs up to 16 bytes of memory.")
	limits.Var(newBytesValue(&o.Server.JSONPatchMaxCopyBytes), "max-json-patch-copy-bytes",
		"Largest growth that the copy operations of one JSON patch may cause.")
}

// LibraryFlags returns the other flags of the Kubernetes library for API servers: they are wired up, and Docket has
// nothing to add to them.
func (o *Options) LibraryFlags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	adopt(sections.FlagSet("serving"), o.SecureServing.AddFlags, usualServingFlags)
	server := sections.FlagSet("server")
	adopt(server, o.Server.AddUniversalFlags, droppedServerFlags)
	if gates := server.Lookup("feature-gates"); gates != nil {
		gates.Usage = "Comma-separated list of `name=bool` pairs: feature gates of the Kubernetes library for API servers."
	}
	adopt(sections.FlagSet("features"), o.Features.AddFlags, o.droppedFeatureFlags())
	if o.Authentication != nil {
		o.Authentication.AddFlags(sections.FlagSet("authentication"))
	}
	if o.Authorization != nil {
		o.Authorization.AddFlags(sections.FlagSet("authorization"))
	}
	if o.Admission != nil {
		o.Admission.AddFlags(sections.FlagSet("admission"))
	}
	if o.Audit != nil {
		o.Audit.AddFlags(sections.FlagSet("audit"))
	}
	if o.Egress != nil {
		o.Egress.AddFlags(sections.FlagSet("egress"))
	}
	o.Traces.AddFlags(sections.FlagSet("tracing"))
	o.Metrics.AddFlags(sections.FlagSet("metrics"))
	return sections
}

// droppedFeatureFlags: priority and fairness is not available without a cluster.
func (o *Options) droppedFeatureFlags() []string {
	if o.CoreAPI == nil {
		return []string{"enable-priority-and-fairness"}
	}
	return nil
}

// addAdoptFlag is for servers that belong to a cluster.
func (o *Options) addAdoptFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.Storage.AdoptCluster, "adopt-cluster", o.Storage.AdoptCluster,
		"Name of a cluster in the database whose reports this one takes over, such as the one that it replaces. "+
			"Leave it out at the next start.")
}

func (o *Options) addLogFlags(fs *pflag.FlagSet) {
	adopt(fs, func(all *pflag.FlagSet) { logsapi.AddFlags(o.Logs, all) }, droppedLogFlags)
}

func (o *Options) addAuthorizationFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.AuthorizeProxied, "authorize-proxied-requests", o.AuthorizeProxied,
		"Ask the cluster also about requests that its API server has authorized, once in ten seconds per user, verb and object. "+
			"For front proxies that only authenticate.")
}
