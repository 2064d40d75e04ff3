// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
)

// Format numbers what is in a database: encodings of values, tables and columns that have to be kept right. A new
// format is read one release before it is written, so that replicas of both work side by side and the way back is open.
type Format int16

// Demands are what a cluster in a database demands of programs.
type Demands struct {
	// Reader is the newest format that may be in it. It rises when all living replicas read the next one.
	Reader Format
	// Writer is the oldest format that may still be written. Migrations raise it.
	Writer Format
}

// Readable returns nil if this program understands all that there is.
func (d Demands) Readable() error {
	if ReadsFormat >= d.Reader {
		return nil
	}
	return fmt.Errorf("%w: it has format %d, this version of Docket reads up to %d: upgrade Docket, or restore a backup from before the upgrade",
		ErrSchema, d.Reader, ReadsFormat)
}

// Writable returns nil if this program keeps right all that it has to.
func (d Demands) Writable() error {
	if WritesFormat >= d.Writer {
		return nil
	}
	return fmt.Errorf("%w for this version of Docket, which writes format %d where %d is demanded: upgrade Docket; it can still read",
		ErrReadOnly, WritesFormat, d.Writer)
}

// Fleet is the processes that use a cluster in a database.
type Fleet struct {
	// Replicas that live, this one included.
	Replicas int
	// Leads says that of those that derive the newest version this one is to derive again what an older version did.
	Leads bool
	// Demands of the cluster, which Beat may have raised.
	Demands Demands
	// Needs is the lowest revision that another replica reads at; 0 for none.
	Needs Revision
}

// Replicas is the part of an Engine that knows the other processes on its cluster.
type Replicas interface {
	// Beat notes that this process lives, for a minute, which formats it reads, which version it derives, and the
	// lowest revision that it reads at, 0 for none. It allows the format that this program writes once all that live
	// can read it. ErrSchema when this program no longer reads all.
	Beat(ctx context.Context, derives Derivation, needs Revision) (Fleet, error)
}
