// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/docket-project/docket/internal/kit/logs"
	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/store/database"
)

// Names of profiles.
const (
	ProfileSingleUser  = "single-user"
	ProfileToken       = "token"
	ProfileImpersonate = "impersonate"
)

// Values of --reviews.
const (
	reviewsSelf      = "self"
	reviewsDelegated = "delegated"
)

// DefaultListen is the same at each start, so that kubeconfigs stay good, and another than
// that of `docket up`.
const DefaultListen = "127.0.0.1:7444"

const (
	defaultDiscoveryInterval = 10 * time.Second
	defaultNamespaceInterval = time.Minute
	leastInterval            = time.Second
	defaultCluster           = "gateway"
)

// Profiles returns the names of all profiles.
func Profiles() []string { return []string{ProfileSingleUser, ProfileToken, ProfileImpersonate} }

// Options of `docket gateway`.
type Options struct {
	// Dir is the state folder.
	Dir string
	// Listen is the host:port of the gateway.
	Listen string
	// Advertise is the host:port under which callers reach the gateway; "" for Listen.
	Advertise string
	// AllowNonLoopback confirms, in the profile single-user, that other machines may
	// reach it.
	AllowNonLoopback bool
	// Kubeconfig and Context name the cluster; "" for what kubectl would take.
	Kubeconfig, Context string
	// Profile, Reviews, Groups and ClientCAFile say who callers are.
	Profile      string
	Reviews      string
	Groups       []string
	ClientCAFile string
	// CertFile and KeyFile are the serving certificate; "" for one of the state folder.
	CertFile, KeyFile string
	// Registrations are files and folders of APIServices, Services a file that tells where
	// services are.
	Registrations []string
	Services      string
	// Database, PasswordFile and Cluster say where registrations are kept.
	Database, PasswordFile, Cluster      string
	DiscoveryInterval, NamespaceInterval time.Duration

	logs *logsapi.LoggingConfiguration
	// What Validate read.
	registrations []apiregistrationv1.APIService
	table         map[string]string
}

// NewOptions returns the defaults. The error says that there is none for Dir.
func NewOptions() (*Options, error) {
	dir, err := statedir.DefaultDir("docket-gateway")
	return &Options{
		Dir: dir, Listen: DefaultListen, Profile: ProfileSingleUser, Reviews: reviewsSelf, Cluster: defaultCluster,
		DiscoveryInterval: defaultDiscoveryInterval, NamespaceInterval: defaultNamespaceInterval,
		logs: logsapi.NewLoggingConfiguration(),
	}, err
}

// Flags returns the flags by section.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	gateway := sections.FlagSet("gateway")
	gateway.StringVar(&o.Dir, "dir", o.Dir, "Folder for the database, certificates, token and kubeconfig. Only its owner can open it.")
	// The same on every machine, so that documentation can show it.
	gateway.Lookup("dir").DefValue = "docket-gateway in $XDG_DATA_HOME, or ~/.docket-gateway"
	gateway.StringVar(&o.Listen, "listen", o.Listen, "Address of the gateway as host:port. Port 0 takes any free port.")
	gateway.StringVar(&o.Advertise, "advertise", o.Advertise, "Address as host:port at which callers reach the gateway, such as that of a Service. "+
		"It appears in the certificate, in kubeconfigs and in discovery. Same as --listen when empty.")
	gateway.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", o.AllowNonLoopback,
		"Confirm that --listen may be an address that other machines reach, in the profile single-user.")
	gateway.StringVar(&o.CertFile, "tls-cert-file", o.CertFile, "Serving certificate. When empty, one is created, signed by an authority in --dir.")
	gateway.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile, "Key of --tls-cert-file.")

	cluster := sections.FlagSet("cluster")
	cluster.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"Kubeconfig of the cluster. When empty, the one that kubectl would use, or the service account of the pod.")
	cluster.StringVar(&o.Context, "context", o.Context, "Context of the kubeconfig; its current one when empty.")
	cluster.DurationVar(&o.DiscoveryInterval, "discovery-interval", o.DiscoveryInterval, "How often to ask the cluster what it serves.")
	cluster.DurationVar(&o.NamespaceInterval, "namespace-interval", o.NamespaceInterval,
		"How often to check for deleted namespaces, whose objects in registered servers are then deleted.")

	callers := sections.FlagSet("callers")
	callers.StringVar(&o.Profile, "profile", o.Profile, "Whose identity the cluster sees. "+
		"\"single-user\": yours, by the kubeconfig. \"token\": each caller's, by their bearer token. "+
		"\"impersonate\": each caller's, impersonated by the gateway, which needs permission to do so.")
	callers.StringVar(&o.Reviews, "reviews", o.Reviews, "In the profile token, how the gateway learns who callers are and what they may do. "+
		"\"self\": it asks with the caller's token and needs no permissions. \"delegated\": by TokenReview and SubjectAccessReview of its own.")
	callers.StringSliceVar(&o.Groups, "impersonate-groups", o.Groups,
		"In the profile impersonate, the groups that are passed on to the cluster; others are dropped. Required there.")
	callers.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"In the profile impersonate, the authorities of accepted client certificates, as PEM. None are accepted when empty.")

	servers := sections.FlagSet("extension servers")
	servers.StringSliceVar(&o.Registrations, "apiservice", o.Registrations,
		"File, or folder of files, with APIServices to register at startup. Can be repeated.")
	servers.StringVar(&o.Services, "services", o.Services,
		"YAML file with lines \"namespace/name: https://host:port\" that say where services are. "+
			"An APIService can also name its server in the annotation "+aggregator.EndpointAnnotation+".")
	servers.StringVar(&o.Database, "database", o.Database,
		"Database for the registrations; "+statedir.DatabaseFile+" in --dir when empty. Several gateways can share one PostgreSQL: postgres://user@host:port/name.")
	servers.StringVar(&o.PasswordFile, "database-password-file", o.PasswordFile, "File with the password of the database user.")
	servers.StringVar(&o.Cluster, "cluster", o.Cluster, "Name of the cluster in the database, so that gateways of several clusters can share one.")
	logsapi.AddFlags(o.logs, sections.FlagSet("logs"))
	return sections
}

// ApplyProcess applies what is global to the process: format and verbosity of logs.
func (o *Options) ApplyProcess() error {
	if err := compatibility.DefaultComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
		return fmt.Errorf("--logging-format, --v, --vmodule: %w", err)
	}
	if o.Profile == ProfileSingleUser {
		logs.OnlyErrors(o.logs)
	} else {
		logs.OnlyOwn(o.logs)
	}
	return nil
}

// Validate derives the options that depend on others, reads the files that are named,
// and returns all errors, each with flag and remedy.
func (o *Options) Validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("--dir: is required"))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file, --tls-private-key-file: give both or none"))
	}
	for flag, interval := range map[string]time.Duration{"discovery-interval": o.DiscoveryInterval, "namespace-interval": o.NamespaceInterval} {
		if interval < leastInterval {
			errs = append(errs, fmt.Errorf("--%s: %s is too short; give at least %s", flag, interval, leastInterval))
		}
	}
	if o.Advertise != "" {
		if host, _, err := net.SplitHostPort(o.Advertise); err != nil || host == "" {
			errs = append(errs, fmt.Errorf("--advertise: %q is not an address; give host:port such as gateway.team.svc:7444", o.Advertise))
		}
	}
	errs = append(errs, o.validateDatabase(), o.validateCallers())
	var err error
	if o.registrations, err = readRegistrations(o.Registrations); err != nil {
		errs = append(errs, fmt.Errorf("--apiservice: %w", err))
	}
	if o.Services != "" {
		if o.table, err = aggregator.ReadTable(o.Services); err != nil {
			errs = append(errs, fmt.Errorf("--services: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) validateDatabase() error {
	if o.Database == "" {
		path, err := filepath.Abs(filepath.Join(o.Dir, statedir.DatabaseFile))
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		o.Database = (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(path)}).String()
	}
	if o.Cluster == "" {
		return errors.New("--cluster: is empty; give a name")
	}
	if database.IsEtcd(o.Database) {
		return errors.New("--database: registrations are kept in SQLite or PostgreSQL; omit the flag, or give postgres://user@host:port/name")
	}
	if err := database.Validate(o.Database); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	return nil
}

// validateCallers refuses options that only another profile uses: a user who sets one expects it to
// have an effect.
func (o *Options) validateCallers() error {
	var errs []error
	refuse := func(format string, values ...any) { errs = append(errs, fmt.Errorf(format, values...)) }
	if !slices.Contains(Profiles(), o.Profile) {
		refuse("--profile: %q is unknown; give one of %s", o.Profile, strings.Join(Profiles(), ", "))
	}
	switch {
	case o.Reviews != reviewsSelf && o.Reviews != reviewsDelegated:
		refuse("--reviews: %q is unknown; give %s or %s", o.Reviews, reviewsSelf, reviewsDelegated)
	case o.Reviews == reviewsDelegated && o.Profile != ProfileToken:
		refuse("--reviews: %s is for --profile %s only; omit it", reviewsDelegated, ProfileToken)
	}
	if o.Profile != ProfileImpersonate {
		if len(o.Groups) > 0 {
			refuse("--impersonate-groups: is for --profile %s only; omit it", ProfileImpersonate)
		}
		if o.ClientCAFile != "" {
			refuse("--client-ca-file: is for --profile %s only: a certificate can't be passed on to the cluster; omit it", ProfileImpersonate)
		}
		return errors.Join(errs...)
	}
	if len(o.Groups) == 0 {
		refuse("--impersonate-groups: is required with --profile %s; name the groups of callers that the cluster may see", ProfileImpersonate)
	}
	for _, group := range o.Groups {
		switch {
		case strings.Contains(group, "*") || group == "":
			refuse("--impersonate-groups: %q is not the name of a group; list each group", group)
		case strings.HasPrefix(group, systemPrefix):
			refuse("--impersonate-groups: %q belongs to the cluster, like all groups that begin with %q; bind the callers' own groups to roles", group, systemPrefix)
		}
	}
	return errors.Join(errs...)
}
