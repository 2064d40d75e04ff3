// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Synchronous says when a commit reaches the disk.
type Synchronous string

// The modes of Synchronous.
const (
	// Full makes each commit durable before it is acknowledged.
	Full Synchronous = "FULL"
	// Normal may lose the last commits when the machine (not only the process) dies. Since nobody can tell afterwards,
	// every unclean end then voids all resource versions: clients list again.
	Normal Synchronous = "NORMAL"
)

// Options of Open.
type Options struct {
	// Path of the database file. Its folder must exist. Required.
	Path string
	// Cluster whose objects the engine keeps. Required.
	Cluster string
	// Existing demands that the file and the cluster in it exist: neither is made.
	Existing bool
	// Binding says which Kubernetes cluster the share has to belong to. Optional.
	Binding engine.Binding
	// Synchronous is Full when it is empty.
	Synchronous Synchronous
	// CacheBytes bounds the page caches of all connections together; 0 is 64 MiB.
	CacheBytes int64
	// Readers is the number of connections that read; 0 is one for each
	// processor, at least 4. There are two more for what must not wait for others, and two for questions about results.
	Readers int
	// MaxBytes is the largest size that the database file may grow to; writes
	// beyond it fail with engine.ErrFull. 0 is no limit.
	MaxBytes int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

const (
	pageSize          = 4096
	defaultCacheBytes = 64 << 20
	minReaders        = 4
)

// Engine is an open database. Use Open.
type Engine struct {
	questions.Answers

	path    string
	cluster int64
	now     func() time.Time
	lock    *os.File

	closeOnce sync.Once
	closeErr  error
	// options are those of Open.
	options Options

	connections
	logCopies
	limits

	// demands are what the cluster demands of programs.
	demands engine.Demands

	// staging holds the numbers of large reports' rows that are on their way to a commit.
	staging sync.Map
	// resources holds the ids of resources, which never change: engine.Resource to int64.
	resources sync.Map
}

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Questions = (*Engine)(nil)
)

// Open opens the database at a path, makes it when it is missing, unless options say
// otherwise, and brings its schema up to date. Errors name the path and what to do.
func Open(ctx context.Context, options Options) (*Engine, error) {
	options, err := complete(options)
	if err != nil {
		return nil, err
	}
	if options.Existing {
		// Before the lock, which would leave a file.
		if info, err := os.Stat(options.Path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return nil, fmt.Errorf("open %s: %w: the file is missing or empty", options.Path, engine.ErrMissing)
		}
	}
	if err := checkFolder(options.Path); err != nil {
		return nil, err
	}
	lock, err := lockFile(options.Path)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		path: options.Path, now: options.Now, lock: lock, options: options,
		connections: connections{closing: make(chan struct{}), writer: make(chan *writer, 1)},
		logCopies:   logCopies{due: make(chan struct{}, 1)},
		limits:      defaultLimits(),
	}
	e.Answers = questions.New(e.askTables)
	if err := e.start(ctx, options); err != nil {
		return nil, errors.Join(withRemedy(err), e.Close())
	}
	return e, nil
}

// withRemedy says what to do about a corrupt database.
func withRemedy(err error) error {
	if errors.Is(err, engine.ErrCorrupt) {
		return fmt.Errorf("%w: restore a backup, or give another path", err)
	}
	return err
}

// complete checks options and fills in defaults.
func complete(options Options) (Options, error) {
	switch {
	case options.Path == "":
		return options, errors.New("open SQLite database: no path was given")
	case options.Cluster == "":
		return options, errors.New("open SQLite database: no cluster name was given")
	}
	switch options.Synchronous {
	case "":
		options.Synchronous = Full
	case Full, Normal:
	default:
		return options, fmt.Errorf("open SQLite database: synchronous is %q: use %s or %s", options.Synchronous, Full, Normal)
	}
	if options.CacheBytes == 0 {
		options.CacheBytes = defaultCacheBytes
	}
	if options.Readers == 0 {
		options.Readers = max(minReaders, runtime.NumCPU())
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	path, err := realPath(options.Path)
	if err != nil {
		return options, fmt.Errorf("open SQLite database: %w", err)
	}
	options.Path = path
	return options, nil
}

// start does what needs the lock. On an error the caller closes the engine.
func (e *Engine) start(ctx context.Context, options Options) error {
	if err := takeRestored(options.Path); err != nil {
		return err
	}
	if err := checkFile(options.Path); err != nil {
		return err
	}
	c, err := connectWriter(options)
	if err != nil {
		return classify("open "+options.Path, err)
	}
	w := &writer{conn: c}
	e.writer <- w
	e.hasWriter = true
	if err := w.checkOwner(options.Path); err != nil {
		return err
	}
	if err := migrate(ctx, options.Path, schemaFiles()); err != nil {
		return err
	}
	if err := e.join(ctx, w, options); err != nil {
		return classify("open "+options.Path, err)
	}
	if err := errors.Join(w.readLag(ctx, e), e.makeTally(ctx, w)); err != nil {
		return classify("open "+options.Path, err)
	}
	if err := errors.Join(e.readers.open(options, options.Readers), e.urgent.open(options, urgentReaders)); err != nil {
		return classify("open "+options.Path, err)
	}
	e.questions.promise(questioners)
	return e.startCheckpointer(options)
}

// realPath returns the absolute path of a file, which names the lock as well. It resolves a symbolic link, so that
// nobody can open one database by two names.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return path, nil // Links among the folders don't matter: the lock is beside the file.
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s is a symbolic link that leads nowhere: remove it, or make the file: %w", path, err)
	}
	return target, nil
}

// checkFolder says in clear words what SQLite calls "unable to open".
func checkFolder(path string) error {
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("open %s: folder %s does not exist: create it, or mount the volume", path, folder)
	case err != nil:
		return classify("open "+path, err)
	case !info.IsDir():
		return fmt.Errorf("open %s: %s is not a folder", path, folder)
	}
	return nil
}

// fileHeader starts every SQLite database.
var fileHeader = []byte("SQLite format 3\x00")

// checkFile makes the file when it is missing, so that it gets the right mode, and refuses what is no database. It must
// run before SQLite opens the file: closing a file drops the locks that the process holds on it.
func checkFile(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("open %s: it is not a regular file: give the path of a file, such as %s",
			path, filepath.Join(path, "docket.db"))
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w: make the file and its folder writable for user %d", classify("open "+path, err), os.Getuid())
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, len(fileHeader))
	n, err := io.ReadFull(file, header)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil // Empty: SQLite makes a database of it.
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return classify("read "+path, err)
	case !bytes.Equal(header, fileHeader):
		return fmt.Errorf("open %s: %w: it does not start like a SQLite database", path, engine.ErrCorrupt)
	}
	return nil
}

// connectWriter opens the connection that writes. The size of pages and the
// mode of vacuum take effect while the database is empty.
func connectWriter(options Options) (*conn, error) {
	pragmas := append(commonPragmas(options.CacheBytes/2),
		fmt.Sprintf("PRAGMA page_size = %d", pageSize),
		"PRAGMA auto_vacuum = INCREMENTAL",
		"PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = "+string(options.Synchronous),
		// The checkpointer does it beside the writer.
		"PRAGMA wal_autocheckpoint = 0",
		fmt.Sprintf("PRAGMA journal_size_limit = %d", walLimit),
	)
	if options.MaxBytes > 0 {
		pragmas = append(pragmas, fmt.Sprintf("PRAGMA max_page_count = %d", max(1, options.MaxBytes/pageSize)))
	}
	c, err := connect(options.Path, pragmas...)
	if err != nil {
		return nil, err
	}
	mode, err := c.pragma("PRAGMA journal_mode")
	if err == nil && text(mode[0]) != "wal" {
		err = fmt.Errorf("%w: the file system has no shared memory for a write-ahead log (journal mode is %q): use a local disk",
			engine.ErrUnavailable, text(mode[0]))
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func connectReader(options Options) (*conn, error) {
	return connect(options.Path,
		append(commonPragmas(options.CacheBytes/2/int64(options.Readers+urgentReaders+questioners)), "PRAGMA query_only = 1")...)
}

// busyTimeout is how long to wait for a process that opened the file beside the lock, such as the sqlite3 shell.
const busyTimeout = 5 * time.Second

func commonPragmas(cacheBytes int64) []string {
	return []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()),
		"PRAGMA foreign_keys = 0",
		"PRAGMA temp_store = MEMORY",
		fmt.Sprintf("PRAGMA cache_size = -%d", max(1, cacheBytes>>10)),
	}
}

// Wake implements engine.Engine: the lock keeps other processes out.
func (e *Engine) Wake() <-chan struct{} { return nil }

// Close implements engine.Engine. It waits for the calls under way, which see that the engine closes.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() { e.closeErr = e.shutDown() })
	return e.closeErr
}

func (e *Engine) shutDown() error {
	close(e.closing)
	e.copier.Wait()
	errs := []error{e.questions.close(), e.readers.close(), e.urgent.close()}
	if e.hasWriter {
		// The last connection copies the log into the database and removes it.
		errs = append(errs, (<-e.writer).close())
	}
	return classify("close "+e.path, errors.Join(append(errs, e.lock.Close())...))
}
