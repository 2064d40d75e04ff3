// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/enginetest"
)

// TestModel runs the suite on the model: the oracle keeps its own promises.
func TestModel(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Target{New: func(testing.TB) enginetest.Open {
		clusters := map[string]*enginetest.Model{}
		return func(_ testing.TB, cluster string) enginetest.Engine {
			if clusters[cluster] == nil {
				clusters[cluster] = enginetest.NewModel(time.Now).In(clusters)
			}
			return clusters[cluster].Reopened()
		}
	}})
}
