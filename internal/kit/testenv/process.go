// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser = "postgres"

	// endTimeout bounds the end of all processes of a server after a signal.
	endTimeout = time.Minute

	pollInterval = 10 * time.Millisecond
)

// process is one PostgreSQL server with its folder. The folder holds data/, the
// socket and postgres.log, and belongs to the user that runs the server.
type process struct {
	install  *installation
	dir      string
	port     int
	password string
	watchdog *watchdog

	mu  sync.Mutex // guards the fields below
	cmd *exec.Cmd  // nil when the server is not running

	// alive is the read end of a pipe whose write end only the server's processes
	// hold, all of them by inheritance. Its end of file means that the last one is
	// gone. Why not Wait: it knows of the first process only, and needs a goroutine.
	alive *os.File
}

// newProcess makes the folder and starts the server, on another port if the first
// was taken in the meantime.
func newProcess(ctx context.Context, install *installation) (*process, error) {
	dir, err := install.mkdirTemp("docket-pg-")
	if err != nil {
		return nil, err
	}
	dog, err := newWatchdog(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{install: install, dir: dir, password: randomHex(16), watchdog: dog}
	if err := p.first(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *process) first(ctx context.Context) error {
	if err := p.install.makeData(ctx, filepath.Join(p.dir, "data")); err != nil {
		return err
	}
	var err error
	if p.port, err = freePort(); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	return p.admin("ALTER ROLE " + superuser + " PASSWORD '" + p.password + "'")
}

func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}

func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return errors.New("it is already running")
	}
	// The server outlives the start: its end is for stop, kill, close or the watchdog.
	if err := p.spawn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	err := p.waitReady(ctx)
	if err != nil {
		err = fmt.Errorf("%w; its last words:\n%s", err, p.logTail())
		return errors.Join(err, p.endLocked(syscall.SIGKILL))
	}
	return nil
}

func (p *process) spawn(ctx context.Context) error {
	logFile, err := os.OpenFile(filepath.Join(p.dir, "postgres.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	alive, held, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()

	cmd := p.install.command(ctx, "postgres", p.settings()...)
	cmd.Dir = p.dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.ExtraFiles = []*os.File{held}
	cmd.SysProcAttr.Setpgid = true // Ctrl-C at the test's terminal is not for it.
	if err := cmd.Start(); err != nil {
		_ = alive.Close()
		return fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	p.cmd, p.alive = cmd, alive
	return p.watchdog.watch(cmd.Process.Pid)
}

// settings of the server: durable as in production; only places and sizes differ.
func (p *process) settings() []string {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(p.port),
		"unix_socket_directories=" + p.dir,
		"unix_socket_permissions=0700",
		"fsync=on",
		"synchronous_commit=on",
		"full_page_writes=on",
		"max_connections=200",
		"shared_buffers=64MB",
		"dynamic_shared_memory_type=mmap", // In the data folder, which is removed; not in /dev/shm.
		"max_wal_size=256MB",
		"timezone=UTC",
		"log_timezone=UTC",
	}
	arguments := []string{"-D", filepath.Join(p.dir, "data")}
	for _, setting := range append(settings, p.install.settings...) {
		arguments = append(arguments, "-c", setting)
	}
	return arguments
}

// waitReady polls until the server answers. Crash recovery refuses connections.
func (p *process) waitReady(ctx context.Context) error {
	for {
		connection, err := pgx.Connect(ctx, p.url("postgres"))
		if err == nil {
			return connection.Close(ctx)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("it does not answer: %w", err)
		}
		// Reading waits for the poll interval, and ends early when the server does.
		if gone, err := p.goneWithin(pollInterval); err != nil || gone {
			return errors.Join(errors.New("the server ended while it was starting"), err)
		}
	}
}

// goneWithin reports whether all processes of the server ended within d.
func (p *process) goneWithin(d time.Duration) (bool, error) {
	if err := p.alive.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	var b [1]byte
	_, err := p.alive.Read(b[:])
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	default:
		return false, fmt.Errorf("watch the server's end: %w", err)
	}
}

func (p *process) stop() error { return p.end(syscall.SIGINT) }
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

func (p *process) end(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return errors.New("it is not running")
	}
	return p.endLocked(signal)
}

// endLocked signals the first process, waits for all, and reaps. The others notice
// the death of the first within moments; a start before that would be refused,
// because they still hold the shared memory.
func (p *process) endLocked(signal syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	signalErr := p.cmd.Process.Signal(signal)
	if errors.Is(signalErr, os.ErrProcessDone) {
		signalErr = nil
	}
	gone, err := p.goneWithin(endTimeout)
	if err != nil || !gone {
		return errors.Join(signalErr, err, fmt.Errorf("processes of the server are left %v after %v", endTimeout, signal))
	}
	_ = p.cmd.Wait() // The exit status after a signal says nothing new.
	closeErr := p.alive.Close()
	p.cmd, p.alive = nil, nil
	return errors.Join(signalErr, closeErr, p.watchdog.watch(0))
}

// close ends the server without care for its data, and removes the folder.
func (p *process) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// SIGQUIT ends at once, but unlike SIGKILL frees the system's shared memory.
	return errors.Join(p.endLocked(syscall.SIGQUIT), p.watchdog.close())
}

// logTail is the end of the server's log, for error messages.
func (p *process) logTail() string {
	const lines = 15
	data, err := os.ReadFile(filepath.Join(p.dir, "postgres.log"))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
