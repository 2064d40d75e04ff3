// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resultmetrics shows Prometheus how many results there are: by policy, namespace, severity and so on, as the
// operator chooses, and never more series than the operator allows. Numbers come from the counters that writes
// keep, so that they cost the same however many results there are. [Reader.Run] reads them now and then, and a scrape
// shows what was read last.
package resultmetrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/metric"
	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// interval between two readings, and how long one may take.
	interval, timeout = 30 * time.Second, 10 * time.Second
	// patience is after how many failed readings nothing is shown any more: an old number would pass for a new one.
	patience = 4
	// maxCounters bounds what is read at once.
	maxCounters = 1_000_000
)

// Others is the value of each label, except result, in the series that sums up those beyond the limit.
const Others = "(others)"

// dimension is a label, and the field that it has the values of.
type dimension struct {
	label string
	field engine.Field
}

func dimensions() []dimension {
	return []dimension{
		{"result", engine.FieldResult}, {"severity", engine.FieldSeverity}, {"source", engine.FieldSource}, {"policy", engine.FieldPolicy},
		{"rule", engine.FieldRule}, {"category", engine.FieldCategory}, {"report_namespace", engine.FieldNamespace},
	}
}

// Dimensions returns the labels that can be chosen.
func Dimensions() []string {
	var names []string
	for _, d := range dimensions() {
		names = append(names, d.label)
	}
	return names
}

// Validate returns an error for labels that can't be chosen.
func Validate(labels []string) error {
	for i, label := range labels {
		if !slices.Contains(Dimensions(), label) {
			return fmt.Errorf("%q is no dimension of results: choose from %s", label, strings.Join(Dimensions(), ", "))
		}
		if slices.Contains(labels[:i], label) {
			return fmt.Errorf("%q is there twice", label)
		}
	}
	return nil
}

// Options of a Reader.
type Options struct {
	// Questions answers from the database.
	Questions engine.Questions
	// Kinds returns the kinds of reports whose results are counted, in the order of their names. They may change.
	Kinds func() []engine.ReportKind
	// Labels that were chosen, of Dimensions.
	Labels []string
	// Series is the largest number of series.
	Series int
	// Clock; the real one when nil.
	Clock clock.WithTicker
}

// Reader reads the numbers. There is one in a process.
type Reader struct {
	options Options
	by      []engine.Field
}

// New returns a reader; [Reader.Run] must run. Labels must be valid.
func New(options Options) *Reader {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Reader{options: options}
	for _, label := range options.Labels {
		for _, d := range dimensions() {
			if d.label == label {
				r.by = append(r.by, d.field)
			}
		}
	}
	register()
	return r
}

// Run reads until ctx ends. A nil Reader has nothing to do.
func (r *Reader) Run(ctx context.Context) error {
	if r == nil {
		return nil
	}
	defer shown.Store(nil)
	ticker := r.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	for failed := 0; ; {
		switch all, err := r.read(ctx); {
		case err == nil:
			failed = 0
			shown.Store(&all)
		case ctx.Err() != nil:
			return nil
		default:
			failed++
			readErrors.Inc()
			klog.V(2).InfoS("Results could not be counted for metrics", "err", err)
			if failed >= patience {
				shown.Store(nil)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// series is a number of results with the values of all labels; "" for those that were not chosen.
type series struct {
	values  []string
	results int64
}

func (r *Reader) read(ctx context.Context) ([]series, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	counts, err := r.options.Questions.Count(ctx, engine.CountQuery{
		Kinds: r.options.Kinds(), By: r.by, OrderBy: engine.OrderResults, Descending: true, Limit: maxCounters,
	})
	if err != nil {
		return nil, err
	}
	if counts.More {
		return nil, fmt.Errorf("there are more than %d counters: name fewer dimensions", maxCounters)
	}
	if len(counts.Counts) > r.options.Series {
		slices.SortStableFunc(counts.Counts, func(a, b engine.Count) int { return cmp.Compare(r.urgency(a.Values), r.urgency(b.Values)) })
	}
	all := make([]series, 0, min(len(counts.Counts), r.options.Series))
	others := map[string]int64{} // By result, "" if that was not chosen.
	result := slices.Index(r.by, engine.FieldResult)
	for i, count := range counts.Counts {
		switch {
		case i < r.options.Series:
			all = append(all, series{r.values(count.Values), count.Results})
		case result < 0:
			others[""] += count.Results
		default:
			others[count.Values[result]] += count.Results
		}
	}
	for result, n := range others {
		values := r.values(slices.Repeat([]string{Others}, len(r.by)))
		values[0] = result
		all = append(all, series{values, n})
	}
	return all, nil
}

// urgency says which counts are shown where there are too many, the least first: failures by their severity, then
// errors and warnings, then all others. Otherwise the many results that pass would push out the few that matter.
func (r *Reader) urgency(values []string) int {
	value := func(field engine.Field) string {
		if at := slices.Index(r.by, field); at >= 0 {
			return values[at]
		}
		return ""
	}
	severities := []string{"critical", "high", "medium", "low", "info"}
	switch value(engine.FieldResult) {
	case "fail", "": // Where results are not told apart, severities are.
		if at := slices.Index(severities, value(engine.FieldSeverity)); at >= 0 {
			return at
		}
		return len(severities)
	case "error":
		return len(severities) + 1
	case "warn":
		return len(severities) + 2
	}
	return len(severities) + 3
}

// values returns the values of all labels, result first.
func (r *Reader) values(chosen []string) []string {
	values := make([]string, len(dimensions()))
	for i, d := range dimensions() {
		if at := slices.Index(r.by, d.field); at >= 0 {
			values[i] = chosen[at]
		}
	}
	return values
}

// shown is what a scrape shows; nil for nothing.
//
// The registry of metrics is one for the process.
var shown atomic.Pointer[[]series]

var (
	description = metrics.NewDesc("docket_policy_results",
		"Results of policies in reports, by the dimensions that --metrics-results names. Each replica shows all of them: take the max, not the sum, over replicas.",
		Dimensions(), nil, metrics.ALPHA, "")
	readErrors = metric.Counter("docket_policy_results_errors_total", "Attempts to count results for docket_policy_results that failed. After some in a row the metric is absent.")
	register   = sync.OnceFunc(func() {
		legacyregistry.CustomMustRegister(&collector{})
		legacyregistry.MustRegister(readErrors)
	})
)

// collector shows what was read last.
type collector struct{ metrics.BaseStableCollector }

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- description }

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(ch chan<- metrics.Metric) {
	all := shown.Load()
	if all == nil {
		return
	}
	for _, s := range *all {
		ch <- metrics.NewLazyConstMetric(description, metrics.GaugeValue, float64(s.results), s.values...)
	}
}
