// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startTimeout bounds one start of a server, crash recovery included, and one
// administrative statement. Far above what they take on a busy machine.
const startTimeout = 2 * time.Minute

// shared is the server of the process. It has no owner that could stop it: its
// watchdog does, when the process ends.
//
// One server a process is the purpose of this variable.
var shared = sync.OnceValues(newServer)

// Server is a running PostgreSQL server. It is safe for concurrent use.
type Server struct {
	process *process
}

// Dedicated is a Server that belongs to one test, which may end and start it.
// Its databases, address and password stay the same over restarts. The methods
// that end or start it are for one goroutine at a time.
type Dedicated struct {
	*Server
}

// Postgres returns the server that all tests of this process share. It is started
// by the first call. The test fails if there is no PostgreSQL.
func Postgres(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("start the shared PostgreSQL: %v", err)
	}
	return s
}

// NewPostgres starts a server for this test alone. It ends with the test.
func NewPostgres(t testing.TB) *Dedicated {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatalf("start a PostgreSQL for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := s.process.close(); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	return &Dedicated{Server: s}
}

func newServer() (*Server, error) {
	install, err := findInstallation()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	p, err := newProcess(ctx, install)
	if err != nil {
		return nil, err
	}
	return &Server{process: p}, nil
}

// Database creates an empty database and returns its URL, which goes over the
// unix socket. The database is dropped when the test ends, with the connections
// that are still open.
//
// Its collation is en-US and not C on purpose: SQL that needs bytewise order must
// say so, or it fails here and not at a user's.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + randomHex(8)
	if err := s.process.admin("CREATE DATABASE " + name + " TEMPLATE template1"); err != nil {
		t.Fatalf("create database %s: %v", name, err)
	}
	t.Cleanup(func() {
		if !s.process.running() {
			return // The test stopped its own server: the folder goes as a whole.
		}
		if err := s.process.admin("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	return s.process.url(name)
}

// Addr is the host:port on loopback where the server listens beside its socket.
// A test that breaks connections puts a proxy before it and hands [WithAddr] the
// proxy's address.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.process.port))
}

// WithAddr returns databaseURL, as Database made it, with the TCP address
// host:port in place of the socket.
func WithAddr(t testing.TB, databaseURL, address string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatalf("parse the database URL: %v", err)
	}
	u.Host = address
	query := u.Query()
	query.Del("host")
	query.Del("port")
	u.RawQuery = query.Encode()
	return u.String()
}

// Kill ends the server with SIGKILL, as a crash of the machine's software would:
// no checkpoint is written, all connections break. It returns when the last of its
// processes is gone. Data that it had acknowledged must be there after Start.
func (d *Dedicated) Kill(t testing.TB) {
	t.Helper()
	if err := d.process.kill(); err != nil {
		t.Fatalf("kill PostgreSQL: %v", err)
	}
}

// Stop ends the server in order (its fast shutdown): open transactions are rolled
// back, connections closed.
func (d *Dedicated) Stop(t testing.TB) {
	t.Helper()
	if err := d.process.stop(); err != nil {
		t.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Start starts a server that was stopped or killed, and returns when it answers.
func (d *Dedicated) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := d.process.start(ctx); err != nil {
		t.Fatalf("start PostgreSQL again: %v", err)
	}
}

// PID is the number of the server's first process, the parent of all others, for what
// they cost. The server has to be running.
func (d *Dedicated) PID() int {
	d.process.mu.Lock()
	defer d.process.mu.Unlock()
	return d.process.cmd.Process.Pid
}

// Restart is Stop and Start.
func (d *Dedicated) Restart(t testing.TB) {
	t.Helper()
	d.Stop(t)
	d.Start(t)
}

// url is the address of a database over the socket. The password is there for
// WithAddr: the socket needs none, since its folder is closed to other users.
func (p *process) url(database string) string {
	u := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(superuser, p.password),
		Path:   "/" + database,
		RawQuery: url.Values{
			"host":    {p.dir},
			"port":    {strconv.Itoa(p.port)},
			"sslmode": {"disable"},
		}.Encode(),
	}
	return u.String()
}

// admin runs one statement as superuser. PostgreSQL has no parameters in CREATE
// DATABASE and ALTER ROLE; the callers' texts hold only what this package made.
func (p *process) admin(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	connection, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, statement)
	if closeErr := connection.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic(fmt.Sprintf("crypto/rand: %v", err)) // Documented never to happen.
	}
	return hex.EncodeToString(b)
}
