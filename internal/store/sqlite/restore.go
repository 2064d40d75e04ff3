// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A database can go back in time: somebody restores a copy, or the machine dies
// after commits that were not synchronous. Revisions that were given out after
// that point would then be given out again, for other changes. The ledger, a
// file beside the database, proves what was given out. Example: the ledger says
// 5000, the database says 4000. Then the next revision is 1,005,001 and all
// before counts as compacted, so that clients list again.

const (
	// reservation is how many revisions are reserved in the ledger at a time,
	// durably, before any of them is given out.
	reservation = 10_000
	// restoreJump is how far ahead the revision is moved after a restore.
	restoreJump = 1_000_000
	// ledgerHeader is the first line of the file.
	ledgerHeader = "docket revisions 1\n"
	// ledgerDigits is the width of numbers in the file, so that the last
	// revision can be written in place.
	ledgerDigits = 20
)

// ledgerState says how the process that wrote an entry works or ended.
type ledgerState string

const (
	stateClosed ledgerState = "closed"
	stateFull   ledgerState = "full"
	stateNormal ledgerState = "normal"
)

// entry is what the ledger knows of a cluster.
type entry struct {
	cluster string
	// last revision given out; exact while the operating system lives.
	last int64
	// reserved is above or equal to every revision given out.
	reserved int64
	state    ledgerState
}

func (e entry) line() string {
	return fmt.Sprintf("%0*d %0*d %s %q\n", ledgerDigits, e.last, ledgerDigits, e.reserved, e.state, e.cluster)
}

// ledger keeps the entry of one cluster, and others as they are.
type ledger struct {
	path   string
	own    entry
	others []entry
	// found says that there was an entry of the cluster.
	found bool
	file  *os.File
}

// readLedger reads the file beside a database. A file that can't be understood
// counts as missing: that leads to a jump, which is always safe.
func readLedger(database, cluster string) (*ledger, error) {
	l := &ledger{path: database + ".revision", own: entry{cluster: cluster}}
	data, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	body, ok := strings.CutPrefix(string(data), ledgerHeader)
	if !ok {
		return l, nil
	}
	for line := range strings.Lines(body) {
		var e entry
		if _, err := fmt.Sscanf(line, "%d %d %s %q", &e.last, &e.reserved, &e.state, &e.cluster); err != nil {
			continue
		}
		if e.cluster == cluster {
			l.own, l.found = e, true
		} else {
			l.others = append(l.others, e)
		}
	}
	return l, nil
}

// distrust has the next who opens the database leap ahead, whatever its revision is: nobody knows what was given
// out since it was copied.
func distrust(database string) error {
	l, err := readLedger(database, "")
	if err != nil || len(l.others) == 0 {
		return err // Without a file nothing is trusted.
	}
	var content strings.Builder
	content.WriteString(ledgerHeader)
	for _, e := range l.others {
		e.state = stateNormal
		content.WriteString(e.line())
	}
	fresh := l.path + ".new"
	if err := writeDurably(fresh, content.String()); err != nil {
		return err
	}
	return os.Rename(fresh, l.path)
}

// jump returns the revision to continue from when the database, at revision,
// may be behind what was given out; 0 when it is not. fresh says that the
// database had never heard of the cluster.
func (l *ledger) jump(revision int64, fresh bool) int64 {
	behind := l.own.last > revision || l.own.state == stateNormal
	if !l.found {
		// Without an entry nothing is proved. A copy of a database that was moved
		// to another place comes without one.
		behind = !fresh
	}
	if !behind {
		return 0
	}
	return max(revision, l.own.last, l.own.reserved) + restoreJump
}

// start writes the entry of a process that begins at revision.
func (l *ledger) start(revision int64, state ledgerState) error {
	l.own.last, l.own.reserved, l.own.state = revision, revision+reservation, state
	return l.write()
}

// reserve makes sure that revision is reserved before it is given out.
func (l *ledger) reserve(revision int64) error {
	if revision <= l.own.reserved {
		return nil
	}
	before := l.own
	l.own.reserved = revision + reservation
	if err := l.write(); err != nil {
		l.own = before
		return err
	}
	return nil
}

// note records the last revision given out. It is not synced: when the machine
// dies an older number may be found, which proves less but nothing wrong. For
// the same reason an error is of no consequence.
func (l *ledger) note(revision int64) {
	l.own.last = revision
	if l.file != nil {
		_, _ = l.file.WriteAt(fmt.Appendf(nil, "%0*d", ledgerDigits, revision), int64(len(ledgerHeader)))
	}
}

// close records the clean end of a process.
func (l *ledger) close() error {
	if l.file == nil {
		return nil // It was never started.
	}
	l.own.state = stateClosed
	return errors.Join(l.write(), l.file.Close())
}

// write replaces the file durably and leaves it open for note. The own entry
// comes first, so that its place is known.
func (l *ledger) write() error {
	var content strings.Builder
	content.WriteString(ledgerHeader)
	for _, e := range slices.Insert(slices.Clone(l.others), 0, l.own) {
		content.WriteString(e.line())
	}
	fresh := l.path + ".new"
	if err := writeDurably(fresh, content.String()); err != nil {
		return err
	}
	if l.file != nil {
		// Windows does not rename over an open file.
		if err := l.file.Close(); err != nil {
			return err
		}
		l.file = nil
	}
	if err := os.Rename(fresh, l.path); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(l.path)); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	l.file = file
	return err
}

func writeDurably(path, content string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(content); err != nil {
		return err
	}
	return file.Sync()
}

// Statements of join.
const (
	selectClusters = "SELECT id, name, coalesce(uid, '') FROM cluster ORDER BY id"
	selectCluster  = "SELECT id FROM cluster WHERE name = ?"
	insertCluster  = "INSERT INTO cluster (name, created_at, uid) VALUES (?, ?, nullif(?, ''))"
	bindCluster    = "UPDATE cluster SET uid = ?2 WHERE id = ?1"
	seedRevision   = "INSERT INTO revision (cluster, revision, compacted, incarnation, history_bytes) VALUES (?, 1, 0, ?, 0)"
	jumpRevision   = "UPDATE revision SET revision = ?2, compacted = ?2, incarnation = ?3 WHERE cluster = ?1"
)

// join finds or makes the cluster, moves its revision ahead when the database
// went back in time, and starts the ledger.
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
		c, err := readCounters(w.conn, e.cluster)
		if err != nil {
			return err
		}
		revision = int64(c.state.Revision)
		if to := ledger.jump(revision, fresh); to != 0 {
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

// findCluster sets e.cluster and says whether it had to be made. It binds it to the
// Kubernetes cluster that uses it.
func (e *Engine) findCluster(ctx context.Context, w *writer, options Options) (fresh bool, err error) {
	var shares []engine.Share
	read := func(row []driver.Value) error {
		shares = append(shares, engine.Share{ID: row[0].(int64), Name: row[1].(string), UID: row[2].(string)})
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
	scan := func(row []driver.Value) { e.cluster = row[0].(int64) }
	if _, err := w.conn.one(scan, selectCluster, options.Cluster); err != nil {
		return false, err
	}
	_, err = w.conn.exec(seedRevision, e.cluster, e.now().UnixMilli())
	return true, err
}
