// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"strings"
	"time"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	// The JSON log format registers itself.
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/component-base/metrics"
	metricsapi "k8s.io/component-base/metrics/api/v1"
)

// DefaultPort is where `docket serve` listens unless told otherwise. It is not
// 443, so that no privilege is needed.
const DefaultPort = 8443

// http2Streams is the number of concurrent requests a connection, as of kube-apiserver. It opens another
// connection for the watches beyond them.
const http2Streams = 250

const (
	// shutdownDelay lets the cluster take a replica out of its Service before it
	// stops taking requests.
	shutdownDelay = 5 * time.Second
	// watchGrace is how long an ending server waits for watches to be told so.
	watchGrace = 10 * time.Second
)

// Options of the server. Parts that are nil are left out: their flags don't
// exist and the configuration keeps its default.
type Options struct {
	Storage        *StorageOptions
	Server         *genericoptions.ServerRunOptions
	SecureServing  *genericoptions.SecureServingOptionsWithLoopback
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *genericoptions.DelegatingAuthorizationOptions
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	CoreAPI        *genericoptions.CoreAPIOptions
	Admission      *genericoptions.AdmissionOptions
	Egress         *genericoptions.EgressSelectorOptions
	Traces         *genericoptions.TracingOptions
	Metrics        *metrics.Options
	Logs           *logsapi.LoggingConfiguration
	// Certificate is the one that the server makes itself; nil without a cluster.
	Certificate *CertificateOptions
	// BootstrapCAFile names a PEM file with the authority of the serving certificate,
	// for the APIServices that /bootstrap shows.
	BootstrapCAFile string
	// RegistrationCheckInterval is how often to look how the cluster sees our groups; 0 is
	// never.
	RegistrationCheckInterval time.Duration
	// MaxRequestBytesInFlight bounds the bytes of large request bodies under way.
	MaxRequestBytesInFlight int64
	// AuthorizeProxied says to ask the cluster also about requests that its API server has
	// authorized.
	AuthorizeProxied bool
}

// NewOptions returns the defaults of a server that belongs to a cluster.
func NewOptions() *Options {
	o := NewLocalOptions()
	o.Authentication = genericoptions.NewDelegatingAuthenticationOptions()
	o.Authorization = genericoptions.NewDelegatingAuthorizationOptions()
	o.CoreAPI = genericoptions.NewCoreAPIOptions()
	o.Admission = newAdmissionOptions()
	o.Egress = genericoptions.NewEgressSelectorOptions()
	o.Features.EnablePriorityAndFairness = true
	o.RegistrationCheckInterval = registrationCheckInterval
	o.Certificate = newCertificateOptions()
	o.Server.ShutdownDelayDuration = shutdownDelay
	o.Server.ShutdownSendRetryAfter = true
	return o
}

// NewLocalOptions returns the defaults of a server without a cluster. The caller
// sets an authenticator and an authorizer in the Config.
func NewLocalOptions() *Options {
	serving := genericoptions.NewSecureServingOptions()
	serving.BindPort = DefaultPort
	serving.HTTP2MaxStreamsPerConnection = http2Streams
	// No folder: a generated certificate stays in memory, since the file system of a
	// container is usually read-only.
	serving.ServerCert.CertDirectory = ""

	// Priority and fairness needs the cluster's FlowSchemas. Without a cluster the
	// plain limits on requests in flight apply.
	features := genericoptions.NewFeatureOptions()
	features.EnablePriorityAndFairness = false

	server := genericoptions.NewServerRunOptions()
	server.MaxRequestBodyBytes = DefaultMaxRequestBytes
	server.JSONPatchMaxCopyBytes = DefaultMaxRequestBytes
	server.ShutdownWatchTerminationGracePeriod = watchGrace
	return &Options{
		Storage:       NewStorageOptions(),
		Server:        server,
		SecureServing: serving.WithLoopback(),
		Audit:         genericoptions.NewAuditOptions(),
		Features:      features,
		Traces:        genericoptions.NewTracingOptions(),
		Metrics:       metrics.NewOptions(),
		Logs:          logsapi.NewLoggingConfiguration(),

		MaxRequestBytesInFlight: DefaultMaxRequestBytesInFlight,
	}
}

// Flags returns Docket's own flags and those of the library that an installation usually sets, by section, in the
// order of --help. [Options.LibraryFlags] returns the others.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	o.Storage.AddFlags(sections.FlagSet("reports"))
	o.addServingFlags(sections.FlagSet("serving"))
	o.addLimitFlags(sections.FlagSet("limits"))
	if o.CoreAPI != nil {
		o.addClusterFlags(sections.FlagSet("cluster"))
	}
	if o.Authorization != nil {
		o.addAuthorizationFlag(sections.FlagSet("cluster"))
	}
	o.addLogFlags(sections.FlagSet("logs"))
	return sections
}

// Validate returns all that is wrong with the options. Each error names the flag
// and what would be right.
func (o *Options) Validate() []error {
	errs := o.Storage.Validate()
	errs = append(errs, o.Server.Validate()...)
	if o.Server.MaxRequestBodyBytes < minRequestBytes {
		errs = append(errs, fmt.Errorf("--max-request-bytes: %d is too little for a report; give at least %d, or leave the default", o.Server.MaxRequestBodyBytes, minRequestBytes))
	}
	if o.MaxRequestBytesInFlight < o.Server.MaxRequestBodyBytes {
		errs = append(errs, fmt.Errorf("--max-request-bytes-in-flight: %d is less than --max-request-bytes; give at least %d", o.MaxRequestBytesInFlight, o.Server.MaxRequestBodyBytes))
	}
	errs = append(errs, o.SecureServing.Validate()...)
	errs = append(errs, o.validateCertificate()...)
	errs = append(errs, o.validateBootstrap()...)
	errs = append(errs, o.validateRegistration()...)
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	errs = append(errs, o.Audit.Validate()...)
	errs = append(errs, o.Features.Validate()...)
	errs = append(errs, o.Admission.Validate()...)
	errs = append(errs, o.Egress.Validate()...)
	errs = append(errs, o.Traces.Validate()...)
	errs = append(errs, o.Metrics.Validate()...)
	if err := logsapi.Validate(o.Logs, nil, nil).ToAggregate(); err != nil {
		errs = append(errs, err.Errors()...)
	}
	return errs
}

// ApplyProcess applies what is global to the process: feature gates, log format
// and verbosity, and which metrics are shown. Call it once, right after the flags
// were parsed, and before Complete.
func (o *Options) ApplyProcess() error {
	if err := compatibility.DefaultComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("--feature-gates: %w", gateError(err))
	}
	if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
		return fmt.Errorf("--logging-format, --v, --vmodule: %w", err)
	}
	applyMetrics(&o.Metrics.MetricsConfiguration)
	return nil
}

// gateError says in a user's words that a value is neither true nor false.
func gateError(err error) error {
	value, isBool := strings.CutPrefix(err.Error(), "invalid value of ")
	if value, _, found := strings.Cut(value, ", err: strconv.ParseBool"); isBool && found {
		return fmt.Errorf("%q: each value must be true or false", value)
	}
	return err
}

// applyMetrics does what the library's Apply does, without its error line about a
// manifest that was never given.
func applyMetrics(config *metricsapi.MetricsConfiguration) {
	if config.ShowHiddenMetricsForVersion != "" {
		metrics.SetShowHidden()
	}
	metrics.SetDisabledMetrics(config.DisabledMetrics)
	switch {
	case config.AllowListMapping != nil:
		metrics.SetLabelAllowList(config.AllowListMapping)
	case config.AllowListMappingManifest != "":
		metrics.SetLabelAllowListFromManifest(config.AllowListMappingManifest)
	}
}

// completedOptions can't be made elsewhere, so that nobody skips Complete.
type completedOptions struct {
	*Options
}

// CompletedOptions are options with all defaults that follow from others.
type CompletedOptions struct {
	*completedOptions
}

// Complete derives the options that depend on others. It changes o.
func (o *Options) Complete() CompletedOptions {
	// One kubeconfig is enough: the other two exist for servers that use separate
	// identities.
	if o.CoreAPI != nil && o.CoreAPI.CoreAPIKubeconfigPath != "" {
		if o.Authentication != nil && o.Authentication.RemoteKubeConfigFile == "" {
			o.Authentication.RemoteKubeConfigFile = o.CoreAPI.CoreAPIKubeconfigPath
		}
		if o.Authorization != nil && o.Authorization.RemoteKubeConfigFile == "" {
			o.Authorization.RemoteKubeConfigFile = o.CoreAPI.CoreAPIKubeconfigPath
		}
	}
	return CompletedOptions{&completedOptions{o}}
}
