// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	pollInterval = 50 * time.Millisecond
	// keptLines of a process are shown when its test fails.
	keptLines = 400
	// keptComplaints of a process are more than anybody reads.
	keptComplaints = 10_000
)

// complaint is how programs of Kubernetes mark a line about an error: klog, zap and logr.
var complaint = regexp.MustCompile(`^[EF][0-9]{4} |\b(ERR|ERROR|FATAL|PANIC|panic:)\b|"level":"(error|fatal|panic)"`)

// process is a program that belongs to a test or to the test process. It can be
// ended and started again with the same arguments. Its methods are for one
// goroutine at a time.
type process struct {
	path      string
	arguments []string
	env       []string // in addition to this process's

	cmd    *exec.Cmd // nil while it does not run
	output *output
}

// start starts it and returns when ready says so. ready is asked again and again;
// it gets the lines that the program has written so far.
func (p *process) start(ctx context.Context, ready func(context.Context, *output) bool) error {
	if p.cmd != nil {
		return fmt.Errorf("%s is already running", p.name())
	}
	output := newOutput(p.output)
	cmd := exec.Command(p.path, p.arguments...) //nolint:noctx // stop and kill end it.
	cmd.Env = append(os.Environ(), p.env...)
	// A test process that is killed takes its servers along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name(), err)
	}
	go output.read(pipe)
	p.cmd, p.output = cmd, output
	return p.wait(ctx, ready)
}

func (p *process) wait(ctx context.Context, ready func(context.Context, *output) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !ready(ctx, p.output) {
		select {
		case <-tick.C:
		case <-p.output.ended:
			err := p.cmd.Wait()
			p.cmd = nil
			return fmt.Errorf("%s ended before it was ready (%w):\n%s", p.name(), err, p.output.text())
		case <-ctx.Done():
			_ = p.end(syscall.SIGKILL) // Its status is not the point.
			return fmt.Errorf("%s is not ready after %v:\n%s", p.name(), startTimeout, p.output.text())
		}
	}
	return nil
}

// end sends the signal and waits for the end. A program that does not obey in time
// is killed, which is an error; so is an exit code other than 0, except after SIGKILL.
func (p *process) end(signal syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	cmd := p.cmd
	p.cmd = nil
	if err := cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s: %w", p.name(), err)
	}
	obeyed := true
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.output.ended:
	case <-timeout.C:
		obeyed = false
		_ = cmd.Process.Kill() // It was running a moment ago.
		<-p.output.ended
	}
	err := cmd.Wait()
	switch {
	case !obeyed:
		return fmt.Errorf("%s is still there %v after %v", p.name(), stopTimeout, signal)
	case err != nil && signal != syscall.SIGKILL:
		return fmt.Errorf("%s ended with %w:\n%s", p.name(), err, p.output.text())
	}
	return nil
}

func (p *process) name() string { return filepath.Base(p.path) }

// pid of the running program.
func (p *process) pid() int { return p.cmd.Process.Pid }

// alive reports whether it was started and has not ended.
func (p *process) alive() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.output.ended:
		return false
	default:
		return true
	}
}

// log shows what the program wrote, if the test failed.
func (p *process) log(t testing.TB) {
	t.Helper()
	if t.Failed() && p.output != nil {
		t.Logf("%s wrote:\n%s", p.name(), p.output.text())
	}
}

// output keeps what a process writes.
type output struct {
	ended chan struct{} // closed at the end of the output

	mu         sync.Mutex // guards lines and complaints
	lines      []string
	complaints []string // lines about errors, of earlier runs, too
}

// newOutput begins with what an earlier run wrote; earlier may be nil.
func newOutput(earlier *output) *output {
	o := &output{ended: make(chan struct{})}
	if earlier != nil {
		o.lines = append(earlier.copied(), "--- started again ---")
		o.complaints = earlier.complained()
	}
	return o
}

func (o *output) read(pipe io.Reader) {
	defer close(o.ended)
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			o.add(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (o *output) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) >= 2*keptLines {
		o.lines = append(o.lines[:0], o.lines[len(o.lines)-keptLines:]...)
	}
	o.lines = append(o.lines, line)
	if len(o.complaints) < keptComplaints && complaint.MatchString(line) {
		o.complaints = append(o.complaints, line)
	}
}

func (o *output) complained() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.complaints...)
}

func (o *output) copied() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.lines...)
}

func (o *output) text() string { return strings.Join(o.copied(), "\n") }

// has reports whether a line begins with prefix.
func (o *output) has(prefix string) bool {
	for _, line := range o.copied() {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
