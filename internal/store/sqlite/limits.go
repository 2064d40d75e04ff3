// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "time"

// limits are constants, except in tests.
type limits struct {
	walLimit                            int64
	largeReport, largeSlice, largeSweep int
	questionTimeout                     time.Duration
}

func defaultLimits() limits {
	return limits{
		walLimit: walLimit, largeReport: largeReport, largeSlice: largeSlice, largeSweep: sweepSlices, questionTimeout: questionTimeout,
	}
}
