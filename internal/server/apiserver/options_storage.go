// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/results/resultmetrics"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/etcdstore"
)

// ClusterAuto is the value of --cluster that stands for the UID of the cluster's
// kube-system namespace.
const ClusterAuto = "auto"

// DefaultCluster is the share of the database that is used unless --cluster says
// otherwise.
const DefaultCluster = engine.DefaultCluster

// databaseForms shows what --database takes.
const databaseForms = "postgres://user@host:port/name, sqlite:///path/to/file.db, or etcd://host:port/prefix"

const (
	// resultRowsFlag names the flag of ResultRows.
	resultRowsFlag = "result-rows"
	// resultMappingsFlag names the flag of ResultMappings.
	resultMappingsFlag = "result-mappings"

	maxClusterLength = 63
	minWatchHistory  = time.Minute
	minBytes         = 1 << 20
)

const (
	metricsResultsFlag       = "metrics-results"
	metricsResultsSeriesFlag = "metrics-results-series"
	// maxResultSeries is more than Prometheus wants of one target.
	maxResultSeries = 100_000
)

// StorageOptions are about reports and where they are kept.
type StorageOptions struct {
	// Database is the URL of the database.
	Database string
	// DatabasePasswordFile holds the password, when it is not in the URL.
	DatabasePasswordFile string
	// Cluster names the share of the database, or is ClusterAuto.
	Cluster string
	// AdoptCluster names a share to bind to this cluster, whatever it was bound to.
	AdoptCluster string
	// Existing demands that the database and the cluster in it exist: neither is
	// made. No flag: servers make what they need.
	Existing bool
	// APIGroups to serve.
	APIGroups []string
	// CustomResources are files and folders with the definitions of further kinds to serve.
	CustomResources []string
	// WatchHistory and WatchHistoryBytes bound the events that are kept for
	// watches.
	WatchHistory      time.Duration
	WatchHistoryBytes store.HistoryBytes
	// WatchRingBytes bounds the newest events in memory.
	WatchRingBytes store.RingBytes
	// CacheBytes bounds the decoded objects in memory.
	CacheBytes store.CacheBytes
	// ResultRows turns the rows for SQL users on.
	ResultRows bool
	// ResultMappings are files and folders with mappings, which give objects of other kinds such rows.
	ResultMappings []string
	// MetricsResults are the dimensions by which the metrics count results, none for no such metric, and
	// MetricsResultsSeries is the largest number of series.
	MetricsResults       []string
	MetricsResultsSeries int
	// ConnectTimeout is how long to wait at start for a database that doesn't
	// answer; 0 is forever. It has no flag: a cluster restarts a server that gives up, and a person
	// wants to know.
	ConnectTimeout time.Duration
	// Waiting is called now and then with a text saying that the database doesn't answer yet. If it is
	// nil, the log gets the text.
	Waiting func(text string)

	// flags tell which options were set on purpose; nil when there are no flags.
	flags *pflag.FlagSet
}

// NewStorageOptions returns the defaults. There is none for the database.
func NewStorageOptions() *StorageOptions {
	return &StorageOptions{
		Cluster:           DefaultCluster,
		APIGroups:         registry.Groups(),
		WatchHistory:      store.DefaultHistory,
		WatchHistoryBytes: store.DefaultHistoryBytes,
		WatchRingBytes:    store.DefaultRingBytes,
		CacheBytes:        store.DefaultCacheBytes,
		ResultRows:        true,

		MetricsResults:       []string{"result", "severity", "source"},
		MetricsResultsSeries: 2000,
	}
}

// AddFlags adds all flags to fs.
func (o *StorageOptions) AddFlags(fs *pflag.FlagSet) {
	o.AddDatabaseFlags(fs)
	o.flags = fs
	fs.DurationVar(&o.WatchHistory, "watch-history", o.WatchHistory,
		"How long changes are kept, so that watches and paged lists can continue where they were interrupted.")
	fs.Var(newBytesValue(&o.WatchHistoryBytes), "watch-history-bytes",
		"How many bytes of changes are kept at most, even if that is less than --watch-history.")
	fs.Var(newBytesValue(&o.WatchRingBytes), "watch-ring-bytes",
		"Memory for the newest changes. Watches that are further behind read from the database.")
	fs.Var(newBytesValue(&o.CacheBytes), "cache-bytes", "Memory for decoded objects.")
	fs.BoolVar(&o.ResultRows, resultRowsFlag, o.ResultRows,
		"Keep each result as a row, for SQL (docs/operate/sql.md) and the API of results.")
	o.AddKindFlags(fs)
	fs.StringSliceVar(&o.MetricsResults, metricsResultsFlag, o.MetricsResults,
		"Labels of the metric docket_policy_results, out of "+strings.Join(resultmetrics.Dimensions(), ", ")+". Without any, there is no such metric.")
	fs.IntVar(&o.MetricsResultsSeries, metricsResultsSeriesFlag, o.MetricsResultsSeries,
		"Largest number of series of docket_policy_results: failures first, by severity. The rest is summed up under "+resultmetrics.Others+".")
}

// AddKindFlags adds the flags that say which kinds there are beside reports, and what their results are, to fs.
func (o *StorageOptions) AddKindFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.CustomResources, CustomResourcesFlag, o.CustomResources,
		"Files or folders with CustomResourceDefinitions whose objects this server keeps (docs/produce/custom-resources.md). They are read again when they change.")
	fs.StringSliceVar(&o.ResultMappings, resultMappingsFlag, o.ResultMappings,
		"Files and folders that say which results objects of other kinds have (docs/produce/result-mappings.md). Those of Trivy's kinds are built in.")
}

// AddDatabaseFlags adds the flags that say where the reports are, to fs.
func (o *StorageOptions) AddDatabaseFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Database, "database", o.Database,
		"Database for the reports: "+databaseForms+".")
	fs.StringVar(&o.DatabasePasswordFile, "database-password-file", o.DatabasePasswordFile,
		"File with the password of the database user. It is read again for each new connection, so that passwords can be rotated.")
	fs.StringVar(&o.Cluster, "cluster", o.Cluster,
		"Name of this cluster in the database, which several clusters can share. Replicas use the same name. "+
			`"`+ClusterAuto+`" takes the share of this cluster, or makes one named after the UID of its kube-system namespace.`)
	fs.StringSliceVar(&o.APIGroups, "api-groups", o.APIGroups, "API groups to serve.")
}

func (o *StorageOptions) databaseOptions() database.Options {
	return database.Options{
		Cluster: o.Cluster, Existing: o.Existing, PasswordFile: o.DatabasePasswordFile,
		ConnectTimeout: o.ConnectTimeout, Waiting: o.newWaiting(), Logger: databaseLogger(),
	}
}

// Validate returns all that is wrong, with flag and remedy.
func (o *StorageOptions) Validate() []error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Database == "" {
		report("--database: is required; give %s", databaseForms)
	} else if err := database.Validate(o.Database); err != nil {
		report("--database: %w", err)
	}
	if err := validateCluster(o.Cluster); err != nil {
		report("--cluster: %w", err)
	} else if database.IsEtcd(o.Database) {
		errs = append(errs, o.validateEtcd()...)
	}
	if o.AdoptCluster != "" && o.Cluster != ClusterAuto && o.Cluster != o.AdoptCluster {
		report("--adopt-cluster: %q is not the cluster that --cluster names, %q; give the same name, or --cluster=%s", o.AdoptCluster, o.Cluster, ClusterAuto)
	}
	if err := registry.ValidateGroups(o.APIGroups); err != nil {
		report("--api-groups: %w", err)
	}
	if _, err := readDefinitions(o.CustomResources); err != nil {
		report("--%s: %w", CustomResourcesFlag, err)
	}
	if _, err := mapping.Load(o.ResultMappings...); err != nil {
		report("--%s: %w", resultMappingsFlag, err)
	}
	if err := resultmetrics.Validate(o.MetricsResults); err != nil {
		report("--%s: %w", metricsResultsFlag, err)
	}
	if o.MetricsResultsSeries < 1 || o.MetricsResultsSeries > maxResultSeries {
		report("--%s: %d can't be used: give a number from 1 to %d", metricsResultsSeriesFlag, o.MetricsResultsSeries, maxResultSeries)
	}
	if o.WatchHistory < minWatchHistory {
		report("--watch-history: %s is too short for clients to come back; give at least %s", o.WatchHistory, minWatchHistory)
	}
	for flag, bytes := range map[string]int64{
		"watch-history-bytes": int64(o.WatchHistoryBytes), "watch-ring-bytes": int64(o.WatchRingBytes), "cache-bytes": int64(o.CacheBytes),
	} {
		if bytes < minBytes {
			report("--%s: %d bytes is too little; give at least 1Mi", flag, bytes)
		}
	}
	return errs
}

// sqlFlags are the flags that the storage for etcd has no use for. They are refused rather
// than ignored: a user who sets one expects it to have an effect.
var sqlFlags = map[string]string{
	"watch-history":       "compaction_interval=… in the URL says how long etcd keeps changes",
	"watch-history-bytes": "compaction_interval=… in the URL says how long etcd keeps changes",
	"watch-ring-bytes":    "the watch cache sizes itself",
	"cache-bytes":         "the watch cache holds all reports",

	CustomResourcesFlag:      "kube-apiserver keeps custom resources there by itself",
	resultMappingsFlag:       "there are no result rows in etcd",
	metricsResultsFlag:       "there are no result rows in etcd",
	metricsResultsSeriesFlag: "there are no result rows in etcd",
}

// validateEtcd returns an error for each option that is not available with an etcd URL.
func (o *StorageOptions) validateEtcd() []error {
	var errs []error
	if o.DatabasePasswordFile != "" {
		errs = append(errs, errors.New("--database-password-file: has no use with etcd, where a certificate says who you are; "+
			"leave it out, and give cert=… and key=… in an etcds:// URL"))
	}
	if err := etcdstore.ValidateCluster(o.Cluster); err != nil {
		errs = append(errs, fmt.Errorf("--cluster: %w", err))
	}
	if o.ResultRows && o.given(resultRowsFlag) {
		errs = append(errs, errors.New("--result-rows: there are none in etcd; leave it out, or use PostgreSQL or SQLite"))
	}
	for _, name := range slices.Sorted(maps.Keys(sqlFlags)) {
		if o.given(name) {
			errs = append(errs, fmt.Errorf("--%s: has no meaning with etcd; leave it out (%s)", name, sqlFlags[name]))
		}
	}
	return errs
}

// given reports whether an option was set by its flag, the environment or a file.
func (o *StorageOptions) given(name string) bool { return o.flags != nil && o.flags.Changed(name) }

func validateCluster(name string) error {
	if name == "" || len(name) > maxClusterLength {
		return fmt.Errorf("must have 1 to %d characters", maxClusterLength)
	}
	for _, r := range name {
		if r <= ' ' || r > '~' {
			return errors.New("must consist of printable ASCII characters without spaces")
		}
	}
	return nil
}

// bytesValue is a flag for a number of bytes, with the units of Kubernetes
// quantities.
type bytesValue[T ~int64] struct{ target *T }

func newBytesValue[T ~int64](target *T) pflag.Value { return bytesValue[T]{target} }

func (v bytesValue[T]) String() string {
	if v.target == nil {
		return ""
	}
	return resource.NewQuantity(int64(*v.target), resource.BinarySI).String()
}

func (v bytesValue[T]) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return errors.New("must be a number of bytes such as 67108864, 64Mi or 2G")
	}
	n, ok := quantity.AsInt64()
	if !ok {
		return errors.New("must be a whole number of bytes")
	}
	*v.target = T(n)
	return nil
}

func (v bytesValue[T]) Type() string { return "bytes" }
