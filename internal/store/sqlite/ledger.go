// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A database can go back in time: somebody restores a copy, or the machine dies after commits that were not
// synchronous. Revisions that were given out after that point would then be given out again, for other changes. The
// ledger, a file beside the database, proves what was given out. Example: the ledger says 5000, the database says 4000.
// Then the next revision is 1,005,001 and all before counts as compacted, so that clients list again; further ahead if
// the last commit that is known was long ago. When all files go back together, by a snapshot of the folder, the place
// of the ledger shows it: see place.go.

const (
	// reservation is how many revisions are reserved in the ledger at a time, durably, before any of them is given out.
	reservation = 10_000
	// restoreJump is how far ahead the revision is moved after a restore, and restoreRate how much further for each
	// second that may be forgotten: far more than can be written in it, since it has to cover earlier leaps as well.
	restoreJump = 1_000_000
	restoreRate = 100_000
	// ledgerHeader is the first line of the file.
	ledgerHeader = "docket revisions 2\n"
	// ledgerDigits is the width of numbers in the file, so that the last revision and its time can be written in place.
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

// noted is what note writes in place: when, and the last revision, which begins the line of the cluster.
func noted(at time.Time, last int64) string {
	return fmt.Sprintf("%0*d\n%0*d", ledgerDigits, at.UnixNano(), ledgerDigits, last)
}

// ledger keeps the entry of one cluster, and others as they are.
type ledger struct {
	database string
	path     string
	own      entry
	others   []entry
	// found says that there was an entry of the cluster.
	found bool
	// written is when the file was written that was read.
	written time.Time
	// moved says why the file is not where, or not when, it was written; "" if it is.
	moved string
	// offset of what note writes.
	offset int64
	file   *os.File
}

// readLedger reads the file beside a database. A file that can't be understood
// counts as missing: that leads to a jump, which is always safe.
func readLedger(database, cluster string) (*ledger, error) {
	l := &ledger{database: database, path: database + ".revision", own: entry{cluster: cluster}}
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	body, ok := strings.CutPrefix(string(data), ledgerHeader)
	if !ok {
		return l, nil
	}
	who, body, _ := strings.Cut(body, "\n")
	written, body, _ := strings.Cut(body, "\n")
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
	if nanoseconds, err := strconv.ParseInt(written, 10, 64); err == nil { // Else it is of no time that could be true.
		l.written = time.Unix(0, nanoseconds)
	}
	l.moved, err = moved(database, file, who, l.written)
	return l, err
}

// distrust has the next who opens the database leap ahead, whatever its revision is: nobody knows what was given
// out since it was copied.
func distrust(database string) error {
	l, err := readLedger(database, "")
	if err != nil || len(l.others) == 0 {
		return err // Without a file nothing is trusted.
	}
	for i := range l.others {
		l.others[i].state = stateNormal
	}
	return l.replace(l.others)
}

// jump returns the revision to continue from when the database, at revision, may be behind what was given out, and why;
// 0 when it is not. fresh says that the database had never heard of the cluster; forgotten is the time since the last
// commit that it knows.
func (l *ledger) jump(revision int64, fresh bool, forgotten time.Duration) (to int64, why string) {
	switch {
	case !l.found && fresh:
		return 0, ""
	case !l.found:
		// Without an entry nothing is proved. A copy of a database that was moved to another place comes without one.
		why = "there is no file that says which were given out"
	case l.own.last > revision:
		why = "the database is older than what was given out"
	case l.own.state == stateNormal:
		why = "its last commits were not synchronous, or it was restored"
	case l.moved != "":
		why = l.moved
	default:
		return 0, ""
	}
	seconds := max(0, int64(forgotten/time.Second))
	return max(revision, l.own.last, l.own.reserved) + restoreJump + seconds*restoreRate, why
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

// note records the last revision given out, and when. It is not synced: when the machine dies an older number may be
// found, which proves less but nothing wrong. For the same reason an error is of no consequence.
func (l *ledger) note(revision int64) {
	l.own.last = revision
	if l.file != nil {
		_, _ = l.file.WriteAt([]byte(noted(time.Now(), revision)), l.offset)
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

// write replaces the file durably and leaves it open for note. The entry of this cluster comes first, so that its place
// is known.
func (l *ledger) write() error {
	if err := l.replace(slices.Insert(slices.Clone(l.others), 0, l.own)); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	l.file = file
	l.note(l.own.last) // The time of the rename, which may be seconds after that of the text.
	return nil
}

// replace replaces the file durably by one with these entries.
func (l *ledger) replace(entries []entry) error {
	fresh := l.path + ".new"
	if err := l.prepare(fresh, entries); err != nil {
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
	return syncFolder(filepath.Dir(l.path))
}

// prepare writes a file with these entries durably, and sets the offset of what note writes.
func (l *ledger) prepare(path string, entries []entry) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	who, err := identity(l.database, file)
	if err != nil {
		return err
	}
	head := ledgerHeader + who + "\n"
	content := fmt.Appendf([]byte(head), "%0*d\n", ledgerDigits, time.Now().UnixNano())
	for _, e := range entries {
		content = append(content, e.line()...)
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	l.offset = int64(len(head))
	return file.Sync()
}
