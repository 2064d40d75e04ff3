// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// grace is how long the server may take to exit after it was asked to.
	grace = 10 * time.Second
	// pipeGrace is how long processes that the server left behind may hold its output.
	pipeGrace = 2 * time.Second
	// keptLines of the server's output are shown when it ends too early, cut to keptWidth.
	keptLines = 8
	keptWidth = 400
)

// ExitError says that the server exited by itself with a code other than 0.
type ExitError struct {
	// Code is the exit code, for `docket run` to end with.
	Code int

	message string
}

// Error implements error.
func (e *ExitError) Error() string { return e.message }

// ExitCode is what the command that started the server ends with, too.
func (e *ExitError) ExitCode() int { return e.Code }

// child is the server's process.
type child struct {
	cmd   *exec.Cmd
	lines *tail
	ended chan struct{} // closed when it has ended and err is set
	err   error         // of Wait
}

// start runs the command with its output passed through.
func start(command, env []string, out, errOut io.Writer) (*child, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("command %q: %w; give the path of the program, or install it in a folder in $PATH", command[0], err)
	}
	lines := &tail{}
	cmd := exec.Command(path, command[1:]...) //nolint:noctx // stop ends it, in order.
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(lines, out), io.MultiWriter(lines, errOut)
	cmd.WaitDelay = pipeGrace
	isolate(cmd)
	c := &child{cmd: cmd, lines: lines, ended: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("command %q: %w", command[0], err)
	}
	return c, nil
}

// run starts the process, passes signals on to it, and waits for its end.
func (c *child) run(started chan<- error) {
	defer close(c.ended)
	// Linux ends a child with the thread that started it, where that was asked for.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.cmd.Start(); err != nil {
		started <- err
		return
	}
	signals := make(chan os.Signal, 8) // More than a person sends at once; what is too much is dropped.
	if len(forwarded) > 0 {
		signal.Notify(signals, forwarded...)
	}
	done := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = c.cmd.Process.Signal(s) // It may have ended just now.
			case <-done:
				return
			}
		}
	}()
	started <- nil
	c.err = c.cmd.Wait()
	signal.Stop(signals)
	close(done)
	<-passed
}

// stop ends the process and returns when it has ended.
func (c *child) stop() {
	select {
	case <-c.ended:
		return
	default:
	}
	terminate(c.cmd)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		kill(c.cmd)
		<-c.ended
	}
}

// failure is how a process ended that nobody asked to end; nil for exit code 0.
func (c *child) failure() error {
	var exit *exec.ExitError
	switch {
	case c.err == nil, errors.Is(c.err, exec.ErrWaitDelay):
		return nil
	case errors.As(c.err, &exit) && exit.ExitCode() > 0:
		return &ExitError{Code: exit.ExitCode(), message: fmt.Sprintf("the server ended: %v", c.err)}
	default:
		return fmt.Errorf("the server ended: %w", c.err)
	}
}

// tooEarly is the error for a server that ended before it could be used.
func (c *child) tooEarly() error {
	code, how := 1, "without an error"
	if c.err != nil {
		how = "(" + c.err.Error() + ")"
		var exit *exec.ExitError
		if errors.As(c.err, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
	}
	message := fmt.Sprintf("the server ended before it was ready %s", how)
	if last := c.lines.text(); last != "" {
		message += "; its last lines:\n" + last
	}
	return &ExitError{Code: code, message: message}
}

// tail keeps the last lines that were written. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex // guards lines
	lines []string   // the last one is not finished yet
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, part := range strings.Split(string(p), "\n") {
		if i > 0 || len(t.lines) == 0 {
			t.lines = append(t.lines, "")
		}
		last := &t.lines[len(t.lines)-1]
		if room := keptWidth - len(*last); room > 0 {
			*last += part[:min(len(part), room)]
		}
		if len(t.lines) > keptLines+1 {
			t.lines = append(t.lines[:0], t.lines[1:]...)
		}
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(strings.Join(t.lines, "\n"), "\n")
}
