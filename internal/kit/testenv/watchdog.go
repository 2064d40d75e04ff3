// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdogScript reads process ids, one a line, 0 for none; the last one counts.
// At the end of its input it ends that process and removes the folder $1. If that
// process was Patroni, its server goes on: it is one that works in $1/data.
const watchdogScript = `
there() { [ "$(readlink "/proc/$1/cwd")" = "$2" ]; }
pid=0
while read -r line; do pid=$line; done
if [ "$pid" != 0 ]; then
	kill -QUIT "$pid" 2>/dev/null
	tries=0
	while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -KILL "$pid" 2>/dev/null
fi
if read -r pid 2>/dev/null <"$1/data/postmaster.pid" && there "$pid" "$1/data"; then
	kill -QUIT "$pid" 2>/dev/null
	tries=0
	while there "$pid" "$1/data" && [ "$tries" -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -KILL "$pid" 2>/dev/null
fi
rm -rf -- "$1"
`

// watchdog removes a folder, and the server that lives there, when the process that
// made it ends or calls close.
//
// Why not Pdeathsig: it follows the thread that started the child, Go's threads come
// and go, it exists on Linux only, and nobody would remove the folder.
type watchdog struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

func newWatchdog(dir string) (*watchdog, error) {
	//nolint:noctx // It has to outlive everything in this process.
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "docket-test-watchdog", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it.
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the shell that cleans up: %w", err)
	}
	return &watchdog{cmd: cmd, input: input}, nil
}

// watch names the process to end, 0 for none.
func (w *watchdog) watch(pid int) error {
	if _, err := fmt.Fprintln(w.input, pid); err != nil {
		return fmt.Errorf("tell the watchdog: %w", err)
	}
	return nil
}

// close makes the watchdog do its work now and waits for it.
func (w *watchdog) close() error {
	return errors.Join(w.input.Close(), w.cmd.Wait())
}
