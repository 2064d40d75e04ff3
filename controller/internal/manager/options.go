// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json.

	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/manager/telemetry"
	"github.com/docket-project/docket/controller/internal/report"
)

const (
	leaseName = "docket-controller"

	defaultReportInterval = 5 * time.Second
	minReportInterval     = time.Second
	defaultScanInterval   = time.Hour
	minScanInterval       = time.Minute
	maxEventsPerPolicy    = 100
	// defaultPolicySeries make 10,000 series at most, mostly a half of it.
	defaultPolicySeries = 2000
	maxPolicySeries     = 100_000
)

// Options are the flags of the command. Make them with [NewOptions].
type Options struct {
	Kubeconfig string

	Split          bool
	ReportsAPI     string
	AllowedResults []string
	ReportInterval time.Duration
	// Instance tells the reports of several installations apart.
	Instance string
	// AdoptKyvernoResults has results of Kyverno's admission and background controllers in reports.
	AdoptKyvernoResults bool
	// ReplaceKyvernoReports has the reports of Kyverno's reports controller deleted.
	ReplaceKyvernoReports bool

	ScanInterval    time.Duration
	Workers         int
	EventsPerPolicy int
	ExcludeKinds    []string
	// PolicyStatus has the status of policies written, which Kyverno does where it runs.
	PolicyStatus bool

	EvaluationOptions
	CacheOptions
	RegistryOptions
	AdmissionOptions

	LeaderElect          bool
	LeaderElectNamespace string
	// Shards is the number of shards that the namespaces are divided into.
	Shards int

	MetricsBindAddress  string
	AuthorizeMetrics    bool
	MetricsPolicySeries int

	Telemetry telemetry.Options

	Logs *logs.Options
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		Split:          true,
		ReportsAPI:     string(report.WGPolicy),
		AllowedResults: report.OutcomeNames(),
		ReportInterval: defaultReportInterval,

		AdoptKyvernoResults: true,
		ScanInterval:        defaultScanInterval,

		CacheOptions:     NewCacheOptions(),
		RegistryOptions:  NewRegistryOptions(true),
		AdmissionOptions: newAdmissionOptions(),

		LeaderElect:         true,
		Shards:              1,
		MetricsBindAddress:  ":8080",
		AuthorizeMetrics:    true,
		MetricsPolicySeries: defaultPolicySeries,
		Logs:                logs.NewOptions(),
	}
}

// Flags returns the flags in sections. They set o.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("cluster")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "File with the address of the cluster and credentials. Without it, the service account of the pod is used")
	fs = sections.FlagSet("reports")
	fs.BoolVar(&o.Split, "split-policy-report", o.Split, "Write one report for each policy and namespace. If false, one for each namespace. A change replaces the old reports once the new ones are there")
	// As Kyverno's design document writes it (KDP "Split up policy report per policy").
	fs.BoolVar(&o.Split, "splitPolicyReport", o.Split, "The same as --split-policy-report")
	fs.Lookup("splitPolicyReport").Hidden = true
	fs.StringVar(&o.ReportsAPI, "reports-api", o.ReportsAPI, fmt.Sprintf("API group of the reports: %s or %s", report.WGPolicy, report.OpenReports))
	fs.StringSliceVar(&o.AllowedResults, "allowed-results", o.AllowedResults, "Results that reports have: pass, fail, error, warn and skip. A failure that is shown as a warning, because its policy is not scored, counts as fail. Others are found and left out")
	fs.DurationVar(&o.ReportInterval, "report-interval", o.ReportInterval, "How long changes of a report are gathered before it is written. One that was quiet for a fifth of it is written at once")
	fs.StringVar(&o.Instance, "instance", o.Instance, "Name of this installation, if there are several in the cluster: each touches the reports of its own instance only. Without it, those that belong to no instance")
	fs.BoolVar(&o.AdoptKyvernoResults, "adopt-kyverno-results", o.AdoptKyvernoResults, "Include what Kyverno's admission and background controllers find for policies and rules that are not evaluated here, and delete their EphemeralReports then. Without the API or the right to read these, nothing happens")
	fs.BoolVar(&o.ReplaceKyvernoReports, "replace-kyverno-reports", o.ReplaceKyvernoReports, "Delete the reports of Kyverno's reports controller, which has to be switched off, once the first scan is complete and what replaces them is written")
	fs = sections.FlagSet("scan")
	fs.DurationVar(&o.ScanInterval, "background-scan-interval", o.ScanInterval, "How often everything is evaluated again without a known reason, for policies that look at more than the resource. 0 means never")
	fs.IntVar(&o.Workers, "workers", o.Workers, "How many resources are evaluated at a time. 0 means one for each core")
	fs.IntVar(&o.EventsPerPolicy, "events-per-policy", o.EventsPerPolicy, "How many Events tell of a policy's failures in an interval, with counts. 0 means none")
	fs.StringSliceVar(&o.ExcludeKinds, "exclude-kinds", o.ExcludeKinds, "Kinds that are never evaluated, as RESOURCE.GROUP such as replicasets.apps; for the core group the resource alone")
	fs.BoolVar(&o.PolicyStatus, "policy-status", o.PolicyStatus, "Write in the status of each policy of Kyverno's kinds whether it is evaluated (condition Ready). For clusters without Kyverno, which writes the same")
	o.EvaluationOptions.AddFlags(fs)
	o.CacheOptions.AddFlags(sections.FlagSet("context cache"))
	o.RegistryOptions.AddFlags(sections.FlagSet("image registries"))
	o.AdmissionOptions.addFlags(sections.FlagSet("admission"))
	fs = sections.FlagSet("leader election")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Hold a Lease while working, so that one replica of several works")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace, "Namespace of the Lease. Without it, that of the pod")
	fs.IntVar(&o.Shards, "shards", o.Shards, "How many parts the namespaces are divided into. Each is scanned by one replica, so that with as many replicas all of them work. All replicas need the same number")
	fs = sections.FlagSet("metrics")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress, "Address for /metrics, /healthz and /readyz. 0 means none")
	fs.BoolVar(&o.AuthorizeMetrics, "authorize-metrics", o.AuthorizeMetrics, "Serve --metrics-bind-address over HTTPS, and /metrics to those only who may get this path in the cluster. If false, over HTTP and to everybody who reaches the address")
	fs.IntVar(&o.MetricsPolicySeries, "metrics-policy-series", o.MetricsPolicySeries, "How many pairs of policy and namespace the metric docket_controller_policy_results tells apart, with a series for each outcome. Further ones are summed up. 0 means that there is no such metric")
	o.Telemetry.AddFlags(sections.FlagSet("telemetry"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Validate returns one error for each flag that is wrong.
func (o *Options) Validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains([]report.API{report.WGPolicy, report.OpenReports}, report.API(o.ReportsAPI)) {
		bad("--reports-api: %q is not %s or %s", o.ReportsAPI, report.WGPolicy, report.OpenReports)
	}
	if _, err := report.ParseOutcomes(o.AllowedResults); err != nil {
		bad("--allowed-results: %w", err)
	}
	if problems := validation.IsDNS1123Label(o.Instance); o.Instance != "" && len(problems) > 0 {
		bad("--instance: %q is not a name of lower-case letters, digits and hyphens", o.Instance)
	}
	if o.ReportInterval < minReportInterval {
		bad("--report-interval: %v is too short; give %v or more", o.ReportInterval, minReportInterval)
	}
	if o.ScanInterval != 0 && o.ScanInterval < minScanInterval {
		bad("--background-scan-interval: %v is too short; give %v or more, or 0 for never", o.ScanInterval, minScanInterval)
	}
	if o.Workers < 0 {
		bad("--workers: %d is negative; give 0 for one a core", o.Workers)
	}
	if o.EventsPerPolicy < 0 || o.EventsPerPolicy > maxEventsPerPolicy {
		bad("--events-per-policy: %d is not between 0 and %d", o.EventsPerPolicy, maxEventsPerPolicy)
	}
	for _, kind := range o.ExcludeKinds {
		if problems := validation.IsDNS1123Subdomain(kind); len(problems) > 0 {
			bad("--exclude-kinds: %q is not like replicasets.apps", kind)
		}
	}
	errs = append(errs, o.EvaluationOptions.Validate()...)
	errs = append(errs, o.CacheOptions.Validate()...)
	errs = append(errs, o.RegistryOptions.Validate()...)
	errs = append(errs, o.AdmissionOptions.validate()...)
	if o.LeaderElectNamespace != "" {
		if problems := validation.IsDNS1123Label(o.LeaderElectNamespace); len(problems) > 0 {
			bad("--leader-elect-namespace: %q is not the name of a namespace", o.LeaderElectNamespace)
		}
	}
	switch {
	case o.Shards < 1 || o.Shards > shard.MaxCount:
		bad("--shards: %d is not between 1 and %d", o.Shards, shard.MaxCount)
	case o.Shards > 1 && !o.LeaderElect:
		bad("--shards: %d shards need --leader-elect", o.Shards)
	}
	if o.serves() {
		if _, _, err := net.SplitHostPort(o.MetricsBindAddress); err != nil {
			bad("--metrics-bind-address: %w; give one such as :8080, or 0 for none", err)
		}
	}
	if o.MetricsPolicySeries < 0 || o.MetricsPolicySeries > maxPolicySeries {
		bad("--metrics-policy-series: %d is not between 0 and %d", o.MetricsPolicySeries, maxPolicySeries)
	}
	errs = append(errs, o.Telemetry.Validate()...)
	if err := errors.Join(logsapi.Validate(o.Logs, nil, nil).ToAggregate()); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// serves reports whether there is an address for metrics.
func (o *Options) serves() bool { return o.MetricsBindAddress != "0" && o.MetricsBindAddress != "" }
