// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestBrokenAnswerIsSilent: an answer that breaks off breaks off in the browser, and leaves nothing on the terminal of
// the person who started the console. Not parallel: the standard logger is global.
func TestBrokenAnswerIsSilent(t *testing.T) {
	var told bytes.Buffer
	before := log.Writer()
	log.SetOutput(&told)
	t.Cleanup(func() { log.SetOutput(before) })
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half of ")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(cluster.Close)
	console := httptest.NewServer(newProxy(http.DefaultTransport, testkit.Must(url.Parse(cluster.URL))(t), false))
	t.Cleanup(console.Close)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, console.URL, nil))(t)
	answer, err := http.DefaultClient.Do(request)
	testkit.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("no error after %q", body)
	}
	if told.Len() > 0 {
		t.Errorf("it says %s", &told)
	}
}
