// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// relay passes on what clients and a server say, unless it is paused: then both wait.
type relay struct {
	listener net.Listener
	paused   sync.RWMutex
	running  sync.WaitGroup
}

// newRelay starts a relay to an address.
func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	var listening net.ListenConfig
	listener := testkit.Must(listening.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	r := &relay{listener: listener}
	t.Cleanup(func() {
		_ = listener.Close() // It has no error.
		r.running.Wait()
	})
	r.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			r.running.Go(func() { r.connect(client, to) })
		}
	})
	return r
}

// connect ends with either side.
func (r *relay) connect(client net.Conn, to string) {
	defer func() { _ = client.Close() }() // Nothing is left to say.
	server, err := new(net.Dialer).Dial("tcp", to)
	if err != nil {
		return
	}
	r.running.Go(func() {
		r.copy(server, client)
		_ = server.Close() // Nothing is left to say.
	})
	r.copy(client, server)
}

func (r *relay) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.paused.RLock()
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		r.paused.RUnlock()
		if err != nil {
			return
		}
	}
}

// replicas are two servers of one cluster behind an address that has reports watched at the second one, and
// everything else asked at the first.
type replicas struct {
	first  http.RoundTripper
	second http.RoundTripper
	at     *url.URL // The second one.
}

func (r *replicas) RoundTrip(request *http.Request) (*http.Response, error) {
	if !request.URL.Query().Has("watch") {
		return r.first.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host, request.Host = r.at.Scheme, r.at.Host, ""
	request.Header.Del("Authorization") // That of the first one.
	return r.second.RoundTrip(request)
}

// startReplica starts a server on a database.
func startReplica(t *testing.T, database string) *rest.Config {
	t.Helper()
	server := &uptest.Server{Database: database}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return testkit.Must(server.Config(nil))(t)
}

// TestReplicaBehind: where the replica that tells of changes hears nothing of its database, what is shown is what was
// read, pages that are opened show the present, and nothing that happened meanwhile is missed afterwards.
func TestReplicaBehind(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	postgres := testenv.Postgres(t)
	database := postgres.Database(t)
	between := newRelay(t, postgres.Addr())
	f := &following{config: startReplica(t, database)}
	second := startReplica(t, testenv.WithAddr(t, database, between.listener.Addr().String()))
	testkit.NoError(t, writeReports(t.Context(), f.config))
	at := testkit.Must(url.Parse(second.Host))(t)
	transport := testkit.Must(rest.TransportFor(second))(t)
	f.person = visitAt(t, f.config, func(next http.RoundTripper) http.RoundTripper {
		return &replicas{next, transport, at}
	})
	f.do(chromedp.WaitVisible(".live"))
	f.wants("132 failures")

	between.paused.Lock()
	resume := sync.OnceFunc(between.paused.Unlock)
	defer resume()
	f.remove("web")
	f.wants("132 failures")
	f.open("#/results?namespace=shop")
	f.wants("1–100 of 132") // And not 134, with those of the report that is gone.
	f.open("#/overview")
	f.wants("131 failures")
	f.remove("many")
	f.wants("131 failures")
	resume()
	f.until(".heading", "1 failure in all namespaces")
	f.until(".since", "many")
	f.do(chromedp.WaitVisible(".live"))
	f.remove("hostile")
	f.until(".since", "−2") // Its errors.
	f.sound()
}
