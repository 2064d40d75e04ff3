// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// listening is what `docket console` says once a proxy can reach it.
var listening = regexp.MustCompile(`(?m)^Listening on (\S+) for the proxy`)

// Console is a `docket console` for a team. The test is the proxy in front of it.
type Console struct {
	process process
	address string
}

// StartConsole starts one on loopback. It ends with the test.
func StartConsole(t testing.TB, kubeconfig string, flags ...string) *Console {
	t.Helper()
	c := &Console{process: process{path: Docket(t), arguments: append([]string{"console", "--kubeconfig", kubeconfig, "--host", "localhost"}, flags...)}}
	ready := func(_ context.Context, o *output) bool { return listening.MatchString(o.text()) }
	testkit.NoError(t, c.process.start(t.Context(), ready))
	c.address = listening.FindStringSubmatch(c.process.output.text())[1]
	t.Cleanup(func() {
		if err := c.process.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		c.process.log(t)
	})
	return c
}

// Ask sends a request with headers, as a page of the console does, and returns the code and the text of the answer.
func (c *Console) Ask(t testing.TB, method, path, body string, header http.Header) (status int, text string) {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), method, "http://"+c.address+path, strings.NewReader(body)))(t)
	r.Header = header.Clone()
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+c.address)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	answer := testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(answer)
}
