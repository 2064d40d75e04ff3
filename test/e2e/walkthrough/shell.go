// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// commandTimeout bounds one command.
const commandTimeout = 6 * time.Minute

// endOfCommand is a line that no command prints.
const endOfCommand = "-- end of the command, exit code "

// Shell is a reader's terminal: one bash for all commands, with its variables and background jobs.
type Shell struct {
	stdin   io.Writer
	lines   chan string
	replace *strings.Replacer
}

// Open starts a shell in the folder dir with these variables and no others. It ends with the test, and
// its jobs with it.
func Open(t testing.TB, dir string, environment ...string) *Shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-o", "pipefail")
	cmd.Dir, cmd.Env = dir, environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Not cmd.Wait, which would wait for all who hold the other end.
	reader, writer := testkit.Must2(os.Pipe())(t)
	stdin := testkit.Must(cmd.StdinPipe())(t)
	cmd.Stdout, cmd.Stderr = writer, writer
	testkit.NoError(t, cmd.Start())
	_ = writer.Close() // The shell has it.
	s := &Shell{stdin: stdin, lines: make(chan string, 1000), replace: strings.NewReplacer()}
	go s.read(reader)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // The shell and its jobs, if any still run.
		_ = cmd.Wait()
		for range s.lines { // Until the reader has ended.
		}
		_ = reader.Close()
	})
	return s
}

func (s *Shell) read(from io.Reader) {
	defer close(s.lines)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// Replace has the shell put in what readers put in: pairs of what a page says and what stands for it here.
func (s *Shell) Replace(pairs ...string) { s.replace = strings.NewReplacer(pairs...) }

// Try runs a command and returns what it printed, and its exit code.
func (s *Shell) Try(t testing.TB, command string) (string, int) {
	t.Helper()
	command = s.replace.Replace(command)
	t.Logf("$ %s", command)
	testkit.Must(fmt.Fprintf(s.stdin, "{ %s\n} </dev/null\necho \"%s$?\"\n", command, endOfCommand))(t)
	timeout := time.NewTimer(commandTimeout)
	defer timeout.Stop()
	var output strings.Builder
	for {
		select {
		case line, open := <-s.lines:
			if !open {
				t.Fatalf("the shell ended in %s:\n%s", command, output.String())
			}
			// What was printed before may not have ended its last line.
			before, code, found := strings.Cut(line, endOfCommand)
			output.WriteString(before)
			if found {
				number := testkit.Must(strconv.Atoi(strings.TrimSpace(code)))(t)
				return output.String(), number
			}
		case <-timeout.C:
			t.Fatalf("%s has not ended after %v:\n%s", command, commandTimeout, output.String())
		}
	}
}

// Run runs a command, which has to succeed, and returns what it printed.
func (s *Shell) Run(t testing.TB, command string) string {
	t.Helper()
	output, code := s.Try(t, command)
	if code != 0 {
		t.Fatalf("$ %s\n%sexit code %d", command, output, code)
	}
	return output
}

// Text puts into a text what readers put in.
func (s *Shell) Text(text string) string { return s.replace.Replace(text) }
