// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// The log grows until it was copied into the database as a whole while nobody reads from it; then SQLite starts again
// at its front. Under load a copy beside the writer may never catch up, so from walLimit on, writer and readers wait
// for the end of the copy.

const (
	// checkpointBytes is the growth of the log after which it is copied. Pages
	// that were written several times in between are copied once.
	checkpointBytes = 24 << 20
	// walLimit is the size of the log from which on it is emptied by force.
	walLimit = 96 << 20
	// questionPatience is how long the log waits for questions that are being answered, while commits go on.
	questionPatience = 5 * time.Second
	// changeBytes is about what a report with 17 results adds to the log: 25 kB in a large batch, 90 kB alone.
	changeBytes = 60 << 10
	// idleTime without a change, at most twice that, ends with an empty log and no late results, and without work, with
	// connections that hold no memory.
	idleTime = 5 * time.Second
)

// logCopies are what the writer and the checkpointer know of copies of the log.
type logCopies struct {
	// due asks the checkpointer for a copy.
	due chan struct{}
	// copying is held while the log is copied. Lock order: after writer and readers.
	copying sync.Mutex
	// copier is the checkpointer.
	copier sync.WaitGroup
}

// startCheckpointer starts the goroutine that copies the log.
func (e *Engine) startCheckpointer(options Options) error {
	c, err := connect(options.Path, append(commonPragmas(1<<20), "PRAGMA synchronous = "+string(options.Synchronous))...)
	if err != nil {
		return classify("open "+options.Path, err)
	}
	e.copier.Go(func() {
		e.runCheckpointer(c)
		// Nothing is lost when it can't be closed.
		_ = c.close()
	})
	return nil
}

// wrote notes changes and asks for a copy of the log when there were many.
// bytes is what values add to what changes usually take.
func (l *logCopies) wrote(w *writer, changes, bytes int64) {
	w.changes += changes
	if w.uncopied += changes*changeBytes + bytes; w.uncopied < checkpointBytes && w.lag.rows < lateRows {
		return
	}
	w.uncopied = 0
	select {
	case l.due <- struct{}{}:
	default: // It is asked already.
	}
}

// runCheckpointer enters late results and copies the log, whenever it is asked and when nothing has changed for a
// while, until the engine closes; it also shrinks idle connections. An error is of no consequence but a longer log, and
// slower questions: it is met again by the next commit, which reports it.
func (e *Engine) runCheckpointer(c *conn) {
	ctx := context.Background()
	idle := time.NewTicker(idleTime)
	defer idle.Stop()
	for changes := int64(-1); ; {
		select {
		case <-e.closing:
			return
		case <-idle.C:
			_ = e.settleDown(ctx, &changes)
			e.shrinkIdle()
			continue
		case <-e.due:
		}
		_ = e.enter(ctx, lateRows)
		e.copying.Lock()
		// Passive: it waits for nobody and nobody waits for it.
		log, err := checkpoint(c, "PASSIVE")
		e.copying.Unlock()
		if err == nil && log*pageSize > e.walLimit {
			release := e.holdQuestions(questionPatience)
			_ = e.write(ctx, func(w *writer) error { return e.truncateLog(ctx, w) })
			release()
		}
	}
}

// settleDown enters all late results and empties the log, unless there were changes since it was last called, which it
// notes.
func (e *Engine) settleDown(ctx context.Context, noted *int64) error {
	idle := false
	err := e.write(ctx, func(w *writer) error {
		idle, *noted = w.changes == *noted, w.changes
		return nil
	})
	if err == nil && idle {
		err = e.enter(ctx, 0)
	}
	if err != nil || !idle {
		return err
	}
	return e.write(ctx, func(w *writer) error {
		if *noted = w.changes; w.truncated == w.changes {
			return nil
		}
		return e.truncateLog(ctx, w)
	})
}

// checkpoint copies the log and returns the number of pages in it.
func checkpoint(c *conn, mode string) (pages int64, err error) {
	columns, err := c.pragma(fmt.Sprintf("PRAGMA wal_checkpoint(%s)", mode))
	if err != nil || len(columns) < 2 {
		return 0, err
	}
	pages, _ = columns[1].(int64)
	return pages, nil
}

// truncateLog copies all of the log and empties it. It keeps our readers out for
// that; those of other processes, and questions, are not waited for.
func (e *Engine) truncateLog(ctx context.Context, w *writer) error {
	release, err := e.holdReaders(ctx)
	defer release()
	if errors.Is(err, engine.ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	e.copying.Lock()
	defer e.copying.Unlock()
	if _, err := w.conn.pragma("PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	_, err = checkpoint(w.conn, "TRUNCATE")
	if err == nil {
		w.truncated = w.changes
	}
	if _, failure := w.conn.pragma(fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds())); err == nil {
		err = failure
	}
	return err
}
