// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

// Each commit changes two rows, the counter of the cluster and the sums of the resource. A transaction elsewhere on
// the server that lasts, a backup or somebody's query, keeps all their versions, and each look-up by a key would read
// them all. These look-ups begin with the newest.
const (
	// newestCounter is the counter of cluster $1, and place where its row lies; namedCounter that of @cluster.
	newestCounter = `(SELECT *, ctid AS place FROM docket.revision WHERE cluster + 0 = $1` + newestFirst + `)`
	namedCounter  = `(SELECT *, ctid AS place FROM docket.revision WHERE cluster + 0 = @cluster` + newestFirst + `)`
	// newestTotal, followed by a resource and newestFirst, reads the sums of that resource of cluster $1.
	newestTotal = `FROM docket.total WHERE cluster + 0 = $1 AND resource = `
	namedTotal  = `FROM docket.total WHERE cluster + 0 = @cluster AND resource = @resource` + newestFirst

	newestFirst = ` ORDER BY generation DESC LIMIT 1`
	// generationOf goes behind a revision: most commits leave it, so that they change no index.
	generationOf = ` >> 5`
)
