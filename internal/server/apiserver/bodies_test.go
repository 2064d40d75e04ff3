// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// The limit of memory in the manifests, and their GOMEMLIMIT.
const (
	manifestMemory   = 1 << 30
	manifestGoMemory = "GOMEMLIMIT=800MiB"
)

// largeBody returns a report of nearly as many bytes as are allowed. Its name is the placeholder NAME.
func largeBody(t *testing.T) []byte {
	t.Helper()
	data := testkit.Must(json.Marshal(report("NAME", 1).Object))(t)
	head, tail, _ := bytes.Cut(data, []byte(`"results":[`))
	one, _, _ := bytes.Cut(tail, []byte("]"))
	one = bytes.Replace(one, []byte(`"message":"`), []byte(`"message":"`+strings.Repeat("a longer text ", 22)), 1)
	body := append(bytes.Clone(head), `"results":[`...)
	for len(body)+2*len(one) < apiserver.DefaultMaxRequestBytes-len(tail) {
		body = append(append(body, one...), ',')
	}
	return append(append(body, one...), tail[bytes.IndexByte(tail, ']'):]...)
}

// create creates a report from a body with NAME for its name, without a copy of it. It returns the status
// of the answer, or why there was none.
func (s *testServer) create(t *testing.T, body []byte, name string) string {
	t.Helper()
	before, after, _ := bytes.Cut(body, []byte("NAME"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.config.Host+reportsPath("ns", ""),
		io.MultiReader(bytes.NewReader(before), strings.NewReader(name), bytes.NewReader(after)))
	if err != nil {
		return err.Error()
	}
	request.ContentLength = int64(len(before) + len(name) + len(after))
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return err.Error()
	}
	if err := errors.Join(drain(response.Body), response.Body.Close()); err != nil {
		return err.Error()
	}
	if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
		return response.Status + " without Retry-After"
	}
	return response.Status
}

// TestBigWrites: 50 bodies of 16 MB at once, with the memory of the manifests. The server asks clients to
// retry the writes that it can't take now, and answers all small requests. The log has their times: they also
// depend on how busy the machine is.
//
// It measures memory.
func TestBigWrites(t *testing.T) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			if database == "postgres" { // What is bounded is read before any database is asked.
				testkit.Full(t)
			}
			testBigWrites(t, databases()[database](t))
		})
	}
}

func testBigWrites(t *testing.T, databaseURL string) {
	t.Helper()
	const clients = 50
	body := largeBody(t)
	s := startProcess(t, databaseURL, manifestGoMemory)
	mustCreate(t, s.reports("ns"), report("small", 17))
	alone := s.small(t, time.After(2*time.Second))

	answers := make([]string, clients)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i] = s.create(t, body, fmt.Sprintf("large-%d", i))
		})
	}
	done := make(chan time.Time)
	go func() { group.Wait(); close(done) }()
	beside := s.small(t, done)

	counts := map[string]int{}
	for _, answer := range answers {
		counts[answer]++
	}
	peak := s.peak(t)
	t.Logf("answers %v; peak %d MiB; small requests alone: %s; beside the large ones: %s", counts, peak>>20, alone, beside)
	// A busy machine may need longer than a request may take.
	taken := counts["201 Created"] + counts["504 Gateway Timeout"]
	if taken == 0 || taken+counts["429 Too Many Requests"] != clients {
		t.Errorf("answers: %v, want 201 or 429 with Retry-After", counts)
	}
	if peak > manifestMemory {
		t.Errorf("the server took %d MiB, the manifests allow %d", peak>>20, manifestMemory>>20)
	}
	if len(beside.reads) == 0 || len(beside.creates) == 0 {
		t.Error("no small request was answered beside the large ones")
	}
}

// smallRequests are how long small requests took.
type smallRequests struct{ reads, creates []time.Duration }

func (r smallRequests) String() string {
	return fmt.Sprintf("reads p50 %s, p99 %s of %d, creates p50 %s, p99 %s of %d",
		percentile(r.reads, 50), percentile(r.reads, 99), len(r.reads),
		percentile(r.creates, 50), percentile(r.creates, 99), len(r.creates))
}

// small reads a report over and over, and creates others beside that, every 5 ms, until done.
func (s *testServer) small(t *testing.T, done <-chan time.Time) smallRequests {
	t.Helper()
	body := testkit.Must(json.Marshal(report("NAME", 17).Object))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var r smallRequests
	var group sync.WaitGroup
	group.Go(func() {
		r.creates = timed(ctx, func() {
			if got := s.create(t, body, strings.ToLower(rand.Text())); got != "201 Created" {
				t.Errorf("a small report: %s", got)
			}
		})
	})
	group.Go(func() { <-done; cancel() })
	r.reads = timed(ctx, func() {
		s.do(t, http.MethodGet, reportsPath("ns", "small"), nil).want(t, http.StatusOK)
	})
	group.Wait()
	return r
}

// timed does something over and over, every 5 ms, and returns how long each time took.
func timed(ctx context.Context, do func()) (took []time.Duration) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return took
		case <-ticker.C:
			started := time.Now()
			do()
			took = append(took, time.Since(started))
		}
	}
}

func percentile(took []time.Duration, p int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)*p/100].Round(100 * time.Microsecond)
}

// TestBodyLimits: what will never be taken is refused before it is decoded, in whatever
// form it comes.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) { o.Server.MaxRequestBodyBytes = 64 << 10 })
	many := func(value string, n int) string { return strings.Repeat(value+",", n) + value }
	results := func(list string) string {
		return body(`"bad"`, `"many"`)[:strings.LastIndex(body(`"bad"`, `"many"`), "}")] + `,"results":[` + list + `]}`
	}
	properties := make([]string, 5000)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"%d":""`, i)
	}
	const yaml = "Content-Type: application/yaml"
	for name, c := range map[string]struct {
		method, path, body, header string
		text                       string
	}{
		"results":         {body: results(many(`{"policy":"p"}`, 200)), text: "a list in the body has more than 163 items"},
		"values":          {body: results(`{"policy":"p","properties":{` + strings.Join(properties, ",") + `}}`), text: "the body has more than 4096 values"},
		"lists of lists":  {body: results(many(`[[]]`, 100) + strings.Repeat("[", 5000)), text: "the body has more than 4096 values"},
		"escaped quotes":  {body: results(`{"policy":"p\\\""},` + many(`{"policy":"p"}`, 200)), text: "a list in the body has more than 163 items"},
		"YAML":            {body: strings.Repeat("- - a\n", 1000), header: yaml, text: "the body has more than 1365 values"},
		"YAML with quote": {body: `a: it's "` + strings.Repeat("\n- a", 1500), header: yaml, text: "the body has more than 1365 values"},
		"a patch": {
			method: http.MethodPatch, path: reportsPath("ns", "there"), header: mergePatch,
			body: `{"results":[` + many(`{"policy":"p"}`, 200) + `]}`, text: "a list in the body has more than 163 items",
		},
		"bytes":   {body: strings.Repeat(" ", 64<<10+1), text: "--max-request-bytes allows 65536"},
		"imports": {path: imports.Path, body: `{"mode":"fill","items":[` + many(`{}`, 400) + `]}`, text: "a list in the body has more than 327 items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.method == "" {
				c.method = http.MethodPost
			}
			if c.path == "" {
				c.path = reportsPath("ns", "")
			}
			if c.header == "" {
				c.header = "Content-Type: application/json"
			}
			answer := s.do(t, c.method, c.path, []byte(c.body), c.header).want(t, http.StatusRequestEntityTooLarge)
			if !strings.Contains(string(answer.body), c.text) {
				t.Errorf("got %s, want %q", answer.body, c.text)
			}
		})
	}
	t.Run("as many as are allowed", func(t *testing.T) {
		t.Parallel()
		s.do(t, http.MethodPost, reportsPath("ns", ""), []byte(results(many(`{"policy":"p, [x], {y}"}`, 162)))).want(t, http.StatusCreated)
	})
}

// TestSlowBodies: who sends a large body slowly, or not at all, is cut off, and keeps only
// large requests waiting meanwhile.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) {
				o.Server.MaxRequestBodyBytes, o.MaxRequestBytesInFlight = 1<<20, 1<<20
				o.SecureServing.DisableHTTP2Serving = protocol == "HTTP/1.1"
			})
			reader, writer := io.Pipe()
			request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.config.Host+reportsPath("ns", ""), reader))(t)
			request.Header.Set("Content-Type", "application/json")
			slow := make(chan string, 1)
			go func() {
				response, err := s.http.Do(request)
				if err != nil {
					slow <- err.Error()
					return
				}
				slow <- strings.Join([]string{response.Proto, response.Status, fmt.Sprint(response.Body.Close())}, " ")
			}()
			testkit.Must(writer.Write([]byte("{")))(t)
			large := []byte(strings.Repeat(" ", 1<<20-1000) + body(`"bad"`, `"large"`))
			testkit.Eventually(t, "the slow request has its turn", func() bool {
				return s.do(t, http.MethodPost, reportsPath("ns", "")+"?dryRun=All", large).StatusCode == http.StatusTooManyRequests
			})
			mustCreate(t, s.reports("ns"), report("small", 17))
			testkit.Eventually(t, "the slow request has lost its turn", func() bool {
				return s.do(t, http.MethodPost, reportsPath("ns", ""), large).StatusCode == http.StatusCreated
			})
			testkit.NoError(t, writer.Close())
			// A connection of HTTP/1.1 ends with its request.
			if got := <-slow; protocol == "HTTP/2.0" && !strings.HasPrefix(got, protocol+" 408 ") {
				t.Errorf("the slow request got %s", got)
			}
		})
	}
}

// TestStrangersTakeNoTurn: a body of somebody unknown is refused unread.
func TestStrangersTakeNoTurn(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) {
		o.Server.MaxRequestBodyBytes, o.MaxRequestBytesInFlight = 1<<20, 1<<20
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stranger := anonymousClient(t, s.Server)
	endless := func() (io.ReadCloser, error) {
		reader, _ := io.Pipe()
		return reader, nil
	}
	for range 20 {
		reader, _ := endless()
		request := testkit.Must(http.NewRequestWithContext(ctx, http.MethodPost, s.config.Host+reportsPath("ns", ""), reader))(t)
		request.GetBody = endless // The server ends the connection of somebody unknown: what was sent meanwhile is sent again.
		response, err := stranger.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a stranger got %s, %v", response.Status, err)
		}
	}
	s.do(t, http.MethodPost, reportsPath("ns", ""), []byte(strings.Repeat(" ", 1<<20-1000)+body(`"bad"`, `"large"`))).want(t, http.StatusCreated)
}

func drain(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}
