// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"

	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/docket-project/docket/internal/bootstrap/handler"
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

// adopt adds to fs the flags that add defines, without those in drop.
func adopt(fs *pflag.FlagSet, add func(*pflag.FlagSet), drop []string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(drop, flag.Name) {
			fs.AddFlag(flag)
		}
	})
}

func (o *Options) addServerFlags(sections *cliflag.NamedFlagSets) {
	serving := sections.FlagSet("serving")
	o.SecureServing.AddFlags(serving)
	serving.StringVar(&o.BootstrapCAFile, handler.CAFlag, o.BootstrapCAFile,
		"File with the authority of the serving certificate, which /bootstrap puts into the APIServices that it shows. It is read at each request.")

	server := sections.FlagSet("server")
	adopt(server, o.Server.AddUniversalFlags, droppedServerFlags)
	if gates := server.Lookup("feature-gates"); gates != nil {
		gates.Usage = "Comma-separated list of `name=bool` pairs: feature gates of the Kubernetes library for API servers."
	}
	server.Var(newBytesValue(&o.Server.MaxRequestBodyBytes), "max-request-bytes",
		"Largest body of a write request; larger ones are answered with 413. Reports with very many results need room: "+
			"count 400 bytes a result, and raise --max-request-bytes-in-flight with it. A list in the body may have an item for each 400 bytes of this limit.")
	server.Var(newBytesValue(&o.MaxRequestBytesInFlight), "max-request-bytes-in-flight",
		"Bytes of request bodies above 256 KiB that are worked on at once; patches and YAML count twice. Further ones wait for 5 s and are then answered with 429. "+
			"Each byte needs up to 16 bytes of memory.")
	server.Var(newBytesValue(&o.Server.JSONPatchMaxCopyBytes), "max-json-patch-copy-bytes",
		"Largest growth that the copy operations of one JSON patch may cause.")

	features := sections.FlagSet("features")
	adopt(features, o.Features.AddFlags, o.droppedFeatureFlags())
}

// droppedFeatureFlags: priority and fairness can't be had without a cluster.
func (o *Options) droppedFeatureFlags() []string {
	if o.CoreAPI == nil {
		return []string{"enable-priority-and-fairness"}
	}
	return nil
}

// addAdoptFlag is for servers that belong to a cluster.
func (o *Options) addAdoptFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.Storage.AdoptCluster, "adopt-cluster", o.Storage.AdoptCluster,
		"Name of a cluster in the database that this one takes over, whatever cluster its reports belonged to. "+
			"For a cluster that was made anew, and for reports from before they were bound to clusters. Leave it out at the next start.")
}

func (o *Options) addLogFlags(fs *pflag.FlagSet) {
	adopt(fs, func(all *pflag.FlagSet) { logsapi.AddFlags(o.Logs, all) }, droppedLogFlags)
}

func (o *Options) addAuthorizationFlags(fs *pflag.FlagSet) {
	o.Authorization.AddFlags(fs)
	fs.BoolVar(&o.AuthorizeProxied, "authorize-proxied-requests", o.AuthorizeProxied,
		"Ask the cluster also about requests that its API server has authorized and sent on, one question for each user, verb and object every ten seconds. "+
			"For front proxies that only authenticate.")
}
