// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	// maxLine bounds a line that an engine logs, in bytes; what follows is another line.
	maxLine = 16 << 10
	// lastLines is how many of them tell why an engine has ended.
	lastLines = 3
	// endGrace is how long an engine may take to end when it is told to.
	endGrace = 2 * time.Second
)

// process is a running engine.
type process struct {
	name    string
	command *exec.Cmd
	stream  io.ReadWriteCloser
	// output is that of the process, buffered.
	output *bufio.Reader
	// exited is closed when it has ended; then err says how.
	exited chan struct{}
	err    error

	mu   sync.Mutex
	last []string
}

// startProcess starts an engine. The caller must call end.
func startProcess(ctx context.Context, config *Config) (*process, error) {
	// Not bound to ctx: end gives it some time.
	command := exec.CommandContext(context.WithoutCancel(ctx), config.Path, config.Args...)
	command.Env = append(os.Environ(), config.Env...)
	if config.MemoryLimit > 0 && config.MemoryLimit < math.MaxInt64 {
		command.Env = append(command.Env, "GOMEMLIMIT="+strconv.FormatInt(config.MemoryLimit, 10))
	}
	detach(command)
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	logged, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{name: config.Name, command: command, output: bufio.NewReader(output), exited: make(chan struct{})}
	p.stream = stream{Reader: p.output, WriteCloser: input, in: output}
	go p.wait(ctx, logged)
	return p, nil
}

// wait passes on what the process logs until it ends.
func (p *process) wait(ctx context.Context, logged io.Reader) {
	defer close(p.exited)
	reader := bufio.NewReaderSize(logged, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			p.keep(text)
			klog.FromContext(ctx).Info("Engine: "+text, "engine", p.name)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	state, err := p.command.Process.Wait()
	p.err = err
	if err == nil {
		p.err = errors.New(state.String())
	}
}

// keep remembers what may say why the process ends: the first lines of a panic, or else the last lines.
func (p *process) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) == lastLines && !strings.HasPrefix(p.last[0], "panic: ") && !strings.HasPrefix(p.last[0], "fatal error: ") {
		p.last = p.last[1:]
	}
	if len(p.last) < lastLines {
		p.last = append(p.last, line)
	}
}

// end ends the process: it is to end by itself when its input ends.
func (p *process) end(grace time.Duration) {
	_ = p.stream.Close() // It may have ended.
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// cause says why a process has ended that was not told to. It waits until it has.
func (p *process) cause() error {
	<-p.exited
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) == 0 {
		return fmt.Errorf("it has ended: %w", p.err)
	}
	return fmt.Errorf("it has ended: %w: %s", p.err, strings.Join(p.last, " | "))
}
