// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsclients

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// timeout of one request is long enough for the start of a Java machine on a busy computer.
const timeout = 2 * time.Minute

// The programs.
const (
	Curl   = "curl"    // OpenSSL
	Python = "python3" // OpenSSL, strict as from Python 3.13 on
	GnuTLS = "gnutls-cli"
	Java   = "java"
)

//go:embed Get.java
var javaSource []byte

//go:embed get.py
var pythonSource string

// Server is what to ask. It listens on 127.0.0.1.
type Server struct {
	// URL has the name that the certificate has to be for, and the port. The name need not lead anywhere.
	URL string
	// CAFile has the authorities to trust, as PEM.
	CAFile string
}

// All returns the names of all programs.
func All() []string { return []string{Curl, Python, GnuTLS, Java} }

// Check asks with each program, of which each has to get want. It installs what is missing.
func Check(t testing.TB, server Server, want string) {
	t.Helper()
	for _, program := range All() {
		output, err := Get(t, program, server)
		if err != nil || !strings.Contains(output, want) {
			t.Errorf("%s: GET %s: %v, want %q in:\n%s", program, server.URL, err, want, output)
		}
	}
}

// Get asks with one program, and returns what it printed. The error is non-nil if it does not trust the server.
func Get(t testing.TB, program string, server Server) (string, error) {
	t.Helper()
	asked, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := need(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	arguments := argumentsOf(t, program, asked, server.CAFile)
	command := exec.CommandContext(ctx, program, arguments...)
	if program == GnuTLS {
		if err := giveRequest(command, asked); err != nil {
			t.Fatal(err)
		}
	}
	output, err := command.CombinedOutput()
	return string(output), err
}

// giveRequest writes a request to the standard input of a command. It stays open until the command ends: a server
// of Go takes the end of what a client sends for the end of its interest.
func giveRequest(command *exec.Cmd, asked *url.URL) error {
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(input, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", asked.RequestURI(), asked.Host)
	return err
}

func need(ctx context.Context, program string) error {
	switch program {
	case GnuTLS:
		return testenv.Need(ctx, program+"=gnutls-bin")
	case Java: // Running a source file needs the compiler.
		return testenv.Need(ctx, "javac=default-jdk-headless")
	default:
		return testenv.Need(ctx, program+"="+program)
	}
}

func argumentsOf(t testing.TB, program string, asked *url.URL, caFile string) []string {
	t.Helper()
	switch program {
	case Curl:
		return []string{
			"--silent", "--show-error", "--fail", "--cacert", caFile,
			"--resolve", asked.Host + ":127.0.0.1", asked.String(),
		}
	case Python:
		return []string{"-c", pythonSource, asked.String(), caFile}
	case GnuTLS:
		arguments := []string{"--x509cafile=" + caFile, "--port=" + asked.Port(), "--verify-hostname=" + asked.Hostname()}
		if net.ParseIP(asked.Hostname()) == nil {
			arguments = append(arguments, "--sni-hostname="+asked.Hostname())
		}
		return append(arguments, "127.0.0.1")
	case Java:
		dir := t.TempDir()
		source, hosts := filepath.Join(dir, "Get.java"), filepath.Join(dir, "hosts")
		if err := errors.Join(
			os.WriteFile(source, javaSource, 0o600),
			os.WriteFile(hosts, []byte("127.0.0.1 "+asked.Hostname()+"\n"), 0o600),
		); err != nil {
			t.Fatal(err)
		}
		return []string{"-XX:TieredStopAtLevel=1", "-Djdk.net.hosts.file=" + hosts, source, asked.String(), caFile}
	default:
		t.Fatalf("%q is none of %q", program, All())
		return nil
	}
}
