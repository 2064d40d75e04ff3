// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/metric"
)

// ignoredReason is the reason of Events about exceptions that don't count.
const ignoredReason = "ExceptionIgnored"

var ignoredCount = metric.Gauges("docket_controller_ignored_exceptions", "Exceptions that name a policy and don't count, by reason: namespace if --exception-namespaces does not name theirs, foreign_policy if the policy is in another one, match_conditions if they ask for more than they are shown, unbounded_function if they call one whose result has no bound.", "reason")

// RegisterMetrics adds the metrics of this package to the registry of the process.
var RegisterMetrics = metric.Registration(ignoredCount)

// ignoredKey is what one Event is about.
type ignoredKey struct {
	uid             types.UID
	namespace, name string
	reason, message string
}

// ReportIgnored sends one Event for each exception that doesn't count, until ctx is done. Only the leader
// should call it.
func (s *Set) ReportIgnored(ctx context.Context, recorder record.EventRecorder) error {
	changed := broadcast.NewTrigger()
	defer s.Subscribe(changed.Fire)()
	defer ignoredCount.Reset()
	told := map[ignoredKey]bool{}
	for {
		if snapshot := s.Current(); snapshot != nil {
			told = recordNew(snapshot, recorder, told)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed.C():
		}
	}
}

// recordNew sends Events about exceptions that are not in told, and returns those that are ignored now.
func recordNew(snapshot *Snapshot, recorder record.EventRecorder, told map[ignoredKey]bool) map[ignoredKey]bool {
	now, counts := map[ignoredKey]bool{}, map[string]int{}
	for _, item := range snapshot.Items {
		for _, ignored := range policy.IgnoredExceptions(item.Policy) {
			about := ignored.Exception
			key := ignoredKey{about.UID, about.Namespace, about.Name, ignored.Reason, ignored.Message}
			if now[key] {
				continue
			}
			now[key] = true
			counts[ignored.Reason]++
			if !told[key] {
				recorder.Event(&about, corev1.EventTypeWarning, ignoredReason, ignored.Message)
			}
		}
	}
	for _, reason := range policy.ExceptionReasons() {
		ignoredCount.WithLabelValues(reason).Set(float64(counts[reason]))
	}
	return now
}
