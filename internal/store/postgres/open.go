// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres/encrypted"
	"github.com/docket-project/docket/internal/store/questions"
)

// Options of an engine.
type Options struct {
	// URL of the database in libpq's format, postgres://user@host/name. What it
	// leaves out comes from PGHOST, PGUSER, PGPASSWORD, PGPASSFILE and the like.
	URL string
	// PasswordFile names a file whose first line is the password. It is read again
	// for each connection, so that the password may change. "" for none.
	PasswordFile string
	// Cluster whose objects the engine keeps. It is made if it is new.
	Cluster string
	// Existing demands that the schema and the cluster exist: neither is made.
	Existing bool
	// Binding says which Kubernetes cluster the share has to belong to. Optional.
	Binding engine.Binding
	// MaxConns is the largest number of connections that reads use; 0 means 3.
	// What must not wait for them uses 5 more: see pools.
	MaxConns int
	// SynchronousCommit is on, remote_write or remote_apply; "" means on.
	SynchronousCommit string
	// ConnectTimeout is how long Open waits for a server that doesn't answer; 0 means as long as its context allows.
	ConnectTimeout time.Duration
	// Waiting is called for each failed attempt of Open or Wait, with the cause and how long others will follow; 0 is
	// without end. Optional.
	Waiting func(cause string, left time.Duration)
	// Logger for what happens in the background; nil for silence.
	Logger *slog.Logger
}

const (
	// dialTimeout bounds one attempt to connect, where the URL doesn't say.
	dialTimeout = 5 * time.Second
	// openBackoff and its double, and so on, lie between attempts to connect.
	openBackoff    = 100 * time.Millisecond
	openBackoffMax = 3 * time.Second
	// leaveTimeout bounds what Close says to others.
	leaveTimeout = time.Second
)

// Engine keeps a cluster in a PostgreSQL database. Make one with Open.
type Engine struct {
	questions.Answers

	options Options
	log     *slog.Logger
	cluster int32
	// pooled says that a pooler hands transactions of one connection to several sessions.
	pooled bool
	pools
	knowledge
	membership
	signals
	// identity is the identity of the server when it was last verified.
	identity atomic.Pointer[identity]

	tidyMu   sync.Mutex
	tidy     tidyCursors
	released releases

	// life ends with Close, and all calls with it.
	life context.Context //nolint:containedctx // the engine's own lifetime, not a caller's
	end  context.CancelFunc
	// close makes repeated calls of Close wait for the first.
	close sync.Once
	// work are the goroutines that Open starts.
	work sync.WaitGroup
}

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Questions = (*Engine)(nil)
)

// Open connects to the database, brings its schema up to date and returns an engine for a cluster in it. A server that
// doesn't answer is retried until ConnectTimeout or ctx ends; one that refuses is an error at once.
func Open(ctx context.Context, options Options) (*Engine, error) {
	config, err := options.connConfig()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		options: options, log: options.Logger,
		membership: membership{replica: newReplica()},
		signals:    signals{wake: make(chan struct{}, 1), news: make(chan struct{}, 1)},
	}
	e.Answers = questions.New(e.askTables)
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	// The engine outlives the call that opens it, and ends with Close.
	e.life, e.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := options.retry(ctx, config, func(ctx, patient context.Context) error { return e.prepare(ctx, patient, config) }); err != nil {
		e.end()
		return nil, err
	}
	if err := e.openPools(ctx, config); err != nil {
		e.end()
		return nil, fmt.Errorf("open database %s: %w", address(config), classify(err))
	}
	if e.pooled {
		e.log.Info("a pooler shares the sessions of the database: asking for commits of other processes instead of being told, "+
			"and statements are planned each time", "database", address(config), "interval", pollInterval)
		e.work.Go(func() { e.newPoller().run(e.life) })
	} else {
		e.work.Go(func() { e.newListener(config).run(e.life) })
	}
	e.work.Go(func() { e.newNotifier().run(e.life) })
	return e, nil
}

// connConfig checks the options and makes the driver's configuration.
func (o *Options) connConfig() (*pgx.ConnConfig, error) {
	if o.Cluster == "" || !isText(o.Cluster) {
		return nil, fmt.Errorf("cluster name %q: must not be empty and must be UTF-8", o.Cluster)
	}
	switch o.SynchronousCommit {
	case "", "on", "remote_write", "remote_apply":
	default:
		return nil, fmt.Errorf(
			"synchronous_commit %q: use on, remote_write or remote_apply; anything less loses acknowledged writes in a crash",
			o.SynchronousCommit)
	}
	if o.MaxConns < 0 || o.MaxConns > math.MaxInt16 {
		return nil, fmt.Errorf("maximum of %d connections: must be between 0 (the default, %d) and %d",
			o.MaxConns, defaultReadConns, math.MaxInt16)
	}
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err) // pgx leaves the password out.
	}
	if err := encrypted.Check(o.URL, config); err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTimeout
	}
	// Works through any pooler. Sessions of our own get statements that are prepared by name: see newPool.
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "docket"
	}
	if o.PasswordFile != "" {
		if config.Password, err = readPassword(o.PasswordFile); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// readPassword returns the first line of a file. Its errors don't show any of it.
func readPassword(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("password file: %w", err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("password file %s: its first line is empty", path)
	}
	return line, nil
}

// refreshPassword reads the password file again before a connection is made.
func (e *Engine) refreshPassword(_ context.Context, config *pgx.ConnConfig) error {
	if e.options.PasswordFile == "" {
		return nil
	}
	password, err := readPassword(e.options.PasswordFile)
	if err != nil {
		return err
	}
	config.Password = password
	return nil
}

// prepare checks the server, migrates the schema, and finds or makes the cluster, over a connection of its own.
func (e *Engine) prepare(ctx, patient context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := checkProduct(ctx, conn); err != nil {
		return err
	}
	if err := e.compareSessions(ctx, config, conn); err != nil {
		return err
	}
	ctx = patient // A large database may take minutes to migrate.
	if err := e.migrate(ctx, conn, config, schemaFiles()); err != nil {
		return err
	}
	if e.cluster, err = e.findCluster(ctx, conn); err != nil {
		return err
	}
	if err := e.askDemands(ctx, conn); err != nil {
		return err
	}
	if err := e.writable(); err != nil {
		e.log.Warn("this server only reads", "err", err)
	}
	return e.check(ctx, conn)
}

// Close implements engine.Engine.
func (e *Engine) Close() error {
	e.close.Do(func() {
		ctx, cancel := context.WithTimeout(e.life, leaveTimeout)
		e.leave(ctx)
		cancel()
		e.end()
		e.work.Wait()
		e.pools.close()
	})
	return nil
}

// address names a server and database for messages.
func address(config *pgx.ConnConfig) string {
	host := config.Host
	if strings.HasPrefix(host, "/") {
		return fmt.Sprintf("%s at socket %s/.s.PGSQL.%d", config.Database, host, config.Port)
	}
	return fmt.Sprintf("%s at %s:%d", config.Database, host, config.Port)
}

// pause waits, and returns an error when ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}

// unknownRelation is of no table.
const unknownRelation = -1

// Replaced tells a database that it was put there by means that it can't notice, such as a snapshot of its
// volume: the revisions of all clusters leap ahead when servers connect next. None may run. Cluster and
// Existing of the options are not used.
func Replaced(ctx context.Context, options Options) (err error) {
	options.Cluster = "any"
	config, err := options.connConfig()
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("open database %s: %w", address(config), classify(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('docket.revision') IS NOT NULL").Scan(&there); err != nil {
		return fmt.Errorf("open database %s: %w", address(config), classify(err))
	}
	if !there {
		return fmt.Errorf("open database %s: %w: it has no tables of Docket", address(config), engine.ErrMissing)
	}
	if _, err := conn.Exec(ctx, "UPDATE docket.revision SET relation = $1", int64(unknownRelation)); err != nil {
		return fmt.Errorf("change database %s: %w", address(config), classify(err))
	}
	return nil
}
