// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package robustness kills real servers and databases under load, and checks
// afterwards that nothing acknowledged was lost and that no watcher missed or
// repeated an event (docs/operate/guarantees.md, S1 to S3). It also makes databases forget
// acknowledged writes, by snapshots and standbys, and checks that informers end
// with the surviving reports (S8). Tests only.
package robustness
