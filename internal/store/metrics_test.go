// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"

	"k8s.io/component-base/metrics/testutil"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// pollingEngine has to ask for commits of others.
type pollingEngine struct{ engine.Engine }

// Polls implements engine.Poller.
func (pollingEngine) Polls() bool { return true }

// TestPollingIsShown: who looks at metrics sees that a pooler is between.
func TestPollingIsShown(t *testing.T) { // The metric is one of the process.
	RegisterMetrics()
	model := enginetest.NewModel(time.Now)
	for e, want := range map[engine.Engine]float64{model: 0, pollingEngine{model}: 1} {
		testkit.Must(New(t.Context(), Options{Engine: e}))(t)
		if got, err := testutil.GetGaugeMetricValue(polling); err != nil || got != want {
			t.Errorf("%T: the metric is %v, want %v: %v", e, got, want, err)
		}
	}
}
