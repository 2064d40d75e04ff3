// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// origin is the address of what [serve] serves.
const origin = "http://in-memory"

// serve has a handler answer over connections in memory until the test ends. Unlike those of the network, goroutines
// that wait for them let the time of a bubble pass.
func serve(tb testing.TB, handler http.Handler) (*bufconn.Listener, *http.Client) {
	tb.Helper()
	listener := bufconn.Listen(64 << 10)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return listener, &http.Client{Transport: transport}
}

// trickle sends the head of a request over a connection of its own, and the beginning of its body.
func trickle(tb testing.TB, server *bufconn.Listener, path string, length int, beginning string) net.Conn {
	tb.Helper()
	conn := testkit.Must(server.DialContext(tb.Context()))(tb)
	tb.Cleanup(func() { _ = conn.Close() })
	testkit.Must(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, length, beginning))(tb)
	return conn
}

// answerOf returns what a connection answers.
func answerOf(tb testing.TB, conn net.Conn) string {
	tb.Helper()
	testkit.NoError(tb, conn.SetReadDeadline(time.Now().Add(patience)))
	data, err := io.ReadAll(conn)
	if err != nil && len(data) == 0 {
		tb.Fatal(err)
	}
	return string(data)
}

func (in *intake) arriving() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.reading.Len()
}

func (in *intake) room() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.used
}

// TestSlowBodiesTakeNoSlot: connections that send one byte each keep no request from its slot.
func TestSlowBodiesTakeNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testSlowBodiesTakeNoSlot)
}

func testSlowBodiesTakeNoSlot(t *testing.T) {
	u := newUnit(t, func(c *Config) { c.Concurrency = 2 }, newPolicy("p", closed))
	server, _ := serve(t, u.handler)
	in := u.webhooks[PathFail].intake
	for range 16 {
		trickle(t, server, PathFail+"?timeout=30s", 1000, "{")
	}
	synctest.Wait()
	if n := in.arriving(); n != 16 {
		t.Fatalf("%d bodies arrive", n)
	}
	for range 5 {
		if answer := u.post(t, PathFail+"?timeout=1s", encodeReview(t, request(pod("default", "a")))); answer.Code != http.StatusOK {
			t.Errorf("a request beside slow ones: %d %s", answer.Code, answer.Body)
		}
	}
	testkit.Eventually(t, "the slow ones were sent away", func() bool { return in.arriving() == 0 && in.room() == 0 })
}

// TestSlowBodyIsToldSo within seconds, whatever time its request asks for.
func TestSlowBodyIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testSlowBodyIsToldSo)
}

func testSlowBodyIsToldSo(t *testing.T) {
	u := newUnit(t, nil, newPolicy("p"))
	server, _ := serve(t, u.handler)
	begin := time.Now()
	answer := answerOf(t, trickle(t, server, PathIgnore+"?timeout=30s", 1000, "{"))
	if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, errSlowBody.Error()) {
		t.Errorf("the answer is %q", answer)
	}
	if took := time.Since(begin); took != bodyTime {
		t.Errorf("it came after %v", took)
	}
}

// TestBodiesAreBounded: all of them together, from their first byte to the end of the evaluation. One
// that arrives slowly gives way to one that doesn't.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testBodiesAreBounded)
}

func testBodiesAreBounded(t *testing.T) {
	u := newUnit(t, func(c *Config) { c.BodyMemory = 2 * maxBody }, newPolicy("p", closed))
	server, client := serve(t, u.handler)
	in := u.webhooks[PathFail].intake
	large := strings.Repeat(" ", maxBody-1)
	var slow []net.Conn
	for i := range 2 {
		slow = append(slow, trickle(t, server, PathFail+"?timeout=30s", maxBody, large))
		testkit.Eventually(t, "its bytes are counted", func() bool { return in.room() > int64(i+1)*(maxBody-firstRead) })
	}
	body := append(encodeReview(t, request(pod("default", "a"))), bytes.Repeat([]byte(" "), maxBody/2)...)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+PathFail+"?timeout=2s", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", jsonType)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // It was only read.
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("beside slow bodies that fill the memory: %s %s %v", answer.Status, text, err)
	}
	if got := answerOf(t, slow[0]); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, errGivesWay.Error()) {
		t.Errorf("the oldest of them is told %q", got)
	}
	testkit.Eventually(t, "all room is free", func() bool { return in.room() == 0 })
}

// TestBodyThatFindsNoRoom is refused in time if the room is taken by requests that are being evaluated.
func TestBodyThatFindsNoRoom(t *testing.T) {
	t.Parallel()
	in := newIntake(100)
	other, late := &body{intake: in, begin: time.Now()}, &body{intake: in, begin: time.Now()}
	for _, b := range []*body{other, late} {
		in.begin(b)
	}
	testkit.NoError(t, in.take(other, 80, time.Now().Add(patience)))
	in.end(other)
	if err := in.take(late, 30, time.Now().Add(10*time.Millisecond)); !errors.Is(err, errNoMemory) {
		t.Errorf("without room: %v", err)
	}
	taken := make(chan error)
	go func() { taken <- in.take(late, 30, time.Now().Add(patience)) }()
	other.release()
	if err := <-taken; err != nil || in.room() != 30 {
		t.Errorf("once there is room: %v, %d", err, in.room())
	}
}

// TestBodiesOfOnePeer: one address has no more than its part, and its oldest body gives way, not that of
// another.
func TestBodiesOfOnePeer(t *testing.T) {
	t.Parallel()
	in := newIntake(100)
	mine := make([]*body, 0, maxReading)
	neighbour := &body{intake: in, peer: "neighbour"}
	in.begin(neighbour)
	for range maxReadingPeer + 1 {
		mine = append(mine, &body{intake: in, peer: "mine"})
		in.begin(mine[len(mine)-1])
	}
	if !mine[0].cut || mine[1].cut || neighbour.cut || in.arriving() != maxReadingPeer+1 {
		t.Errorf("%t %t %t, %d arrive", mine[0].cut, mine[1].cut, neighbour.cut, in.arriving())
	}
	for i := range maxReading {
		in.begin(&body{intake: in, peer: fmt.Sprint(i)})
	}
	if !neighbour.cut || in.arriving() != maxReading {
		t.Errorf("of too many the oldest does not give way: %d arrive", in.arriving())
	}
}
