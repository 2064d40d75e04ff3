// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements of join.
const (
	selectClusters = "SELECT id, name, coalesce(uid, '') FROM cluster ORDER BY id"
	selectCluster  = "SELECT id FROM cluster WHERE name = ?"
	insertCluster  = "INSERT INTO cluster (name, created_at, uid) VALUES (?, ?, nullif(?, ''))"
	bindCluster    = "UPDATE cluster SET uid = ?2 WHERE id = ?1"
	seedRevision   = "INSERT INTO revision (cluster, revision, compacted, incarnation, history_bytes, tallied) VALUES (?, 1, 0, ?, 0, 1)"
	selectLatest   = "SELECT committed_at FROM event WHERE cluster = ? ORDER BY revision DESC LIMIT 1"
	jumpRevision   = "UPDATE revision SET revision = ?2, compacted = ?2, incarnation = ?3, tallied = iif(tallied = revision, ?2, 0) WHERE cluster = ?1"
)

// join finds or makes the cluster, moves its revision ahead when the database went back in time, and starts the ledger.
func (e *Engine) join(ctx context.Context, w *writer, options Options) error {
	ledger, err := readLedger(options.Path, options.Cluster)
	if err != nil {
		return err
	}
	w.ledger = ledger
	// Not even with Normal may this transaction be lost.
	if _, err := w.conn.pragma("PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	var revision int64
	err = w.transaction(func() error {
		fresh, err := e.findCluster(ctx, w, options)
		if err != nil {
			return err
		}
		if err := e.heed(w.conn); err != nil {
			return err
		}
		c, err := readCounters(w.conn, e.cluster)
		if err != nil {
			return err
		}
		revision = int64(c.state.Revision)
		latest, err := e.latestCommit(w, c.state.Incarnation, ledger.written)
		if err != nil {
			return err
		}
		if to, why := ledger.jump(revision, fresh, e.now().Sub(latest)); to != 0 {
			klog.InfoS("The resource versions leap ahead, and clients list again: "+why, "path", options.Path, "cluster", options.Cluster, "before", revision, "now", to)
			revision = to
			_, err = w.conn.exec(jumpRevision, e.cluster, to, max(int64(c.state.Incarnation)+1, e.now().UnixMilli()))
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := w.conn.pragma("PRAGMA synchronous = " + string(options.Synchronous)); err != nil {
		return err
	}
	state := stateFull
	if options.Synchronous == Normal {
		state = stateNormal
	}
	return ledger.start(revision, state)
}

// latestCommit is a time at which the database was up to date: of its last commit, if that is still in the history,
// when its incarnation began, or when the ledger was written.
func (e *Engine) latestCommit(w *writer, incarnation engine.Incarnation, noted time.Time) (time.Time, error) {
	var latest int64
	_, err := w.conn.one(into(&latest), selectLatest, e.cluster)
	return time.UnixMilli(max(latest, int64(incarnation), noted.UnixMilli())), err
}

// findCluster sets e.cluster and reports whether it had to be made. It binds it to the Kubernetes cluster that uses it.
func (e *Engine) findCluster(ctx context.Context, w *writer, options Options) (fresh bool, err error) {
	var shares []engine.Share
	read := func(row []driver.Value) error {
		var share engine.Share
		scan(row, &share.ID, &share.Name, &share.UID)
		shares = append(shares, share)
		return nil
	}
	if err := w.conn.query(ctx, read, selectClusters); err != nil {
		return false, err
	}
	share, bind, err := options.Binding.Choose(shares, options.Cluster, true)
	switch {
	case err != nil:
		return false, err
	case share == nil && options.Existing:
		return false, fmt.Errorf("%w: it has no cluster %q", engine.ErrMissing, options.Cluster)
	case share != nil:
		e.cluster = share.ID
		if bind {
			_, err = w.conn.exec(bindCluster, share.ID, options.Binding.UID)
		}
		return false, err
	}
	if _, err := w.conn.exec(insertCluster, options.Cluster, e.now().UnixMilli(), options.Binding.UID); err != nil {
		return false, err
	}
	if _, err := w.conn.one(into(&e.cluster), selectCluster, options.Cluster); err != nil {
		return false, err
	}
	_, err = w.conn.exec(seedRevision, e.cluster, e.now().UnixMilli())
	return true, err
}

var _ engine.Advancer = (*Engine)(nil)

// Advance implements engine.Advancer. Tidy drops the events that are below the mark then.
func (e *Engine) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	var state engine.State
	err := e.write(ctx, func(w *writer) error {
		err := w.transaction(func() error {
			c, err := readCounters(w.conn, e.cluster)
			if err != nil {
				return err
			}
			state.Revision = max(to, c.state.Revision+1)
			state.Compacted = state.Revision
			state.Incarnation = engine.Incarnation(max(int64(c.state.Incarnation)+1, e.now().UnixMilli()))
			if _, err := w.conn.exec(jumpRevision, e.cluster, int64(state.Revision), int64(state.Incarnation)); err != nil {
				return err
			}
			return w.ledger.reserve(int64(state.Revision))
		})
		if err != nil {
			return err
		}
		w.ledger.note(int64(state.Revision))
		e.wrote(w, 1, 0)
		return nil
	})
	return state, classify("advance the revision", err)
}
