// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"

	"github.com/docket-project/docket/controller/internal/admission"
	"github.com/docket-project/docket/controller/internal/admission/webhook"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	slowConnections = 1000
	loadRate        = 200
	// spread is the time between the first bytes of two slow connections.
	spread = 4 * time.Millisecond
)

// noCatalog belongs to an API whose kinds are not known.
type noCatalog struct{}

func (noCatalog) Current() *served.Catalog { return nil }

// quickPolicy has nothing against a Pod.
type quickPolicy struct{ policy.Policy }

func (quickPolicy) Identity() policy.Identity {
	return policy.Identity{Kind: policy.ClusterPolicy, Name: "quick"}
}
func (quickPolicy) Background() bool         { return true }
func (quickPolicy) Reported() bool           { return true }
func (quickPolicy) Targets() []policy.Target { return []policy.Target{{Version: "v1", Kind: "Pod"}} }
func (quickPolicy) Admission() policy.Admission {
	return policy.Admission{Enabled: true, Enforces: true, Closed: true, Operations: []admissionv1.Operation{admissionv1.Create}}
}
func (quickPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, nil
}

// loaded is a webhook as a replica serves it.
type loaded struct {
	address string
	roots   *x509.CertPool
}

func newLoaded(tb testing.TB) *loaded {
	tb.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"}}}
	policies := []policy.Policy{quickPolicy{}}
	answers := admission.NewServer(admission.Config{
		Client: fake.NewSimpleDynamicClient(runtime.NewScheme(), namespace), Catalogs: noCatalog{}, Policies: func() []policy.Policy { return policies },
	})
	dir := tb.TempDir()
	roots := issue(tb, dir)
	server := testkit.Must(webhook.NewServer(tb.Context(), webhook.Config{Address: "127.0.0.1:0", Handler: answers.Handler(), CertDir: dir, Drain: -1}))(tb)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	for server.Ready() != nil {
		<-time.After(time.Millisecond)
	}
	return &loaded{server.Address(), roots}
}

// issue writes a serving certificate into a folder.
func issue(tb testing.TB, dir string) *x509.CertPool {
	tb.Helper()
	authority := testkit.Must(certificate.NewAuthority("test", time.Now(), time.Hour))(tb)
	pair := testkit.Must(certificate.NewServing(authority, []string{"127.0.0.1"}, time.Now(), time.Hour))(tb)
	for name, data := range map[string][]byte{"tls.crt": pair.CertificatePEM, "tls.key": pair.KeyPEM} {
		testkit.NoError(tb, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate)
	return roots
}

// trickle keeps a connection from an address that sends a byte of a request now and then, until ctx is
// done. It opens another one when the server has closed it. That all do so at different times keeps this
// process, which both sides share, from being busy with handshakes only.
func (l *loaded) trickle(ctx context.Context, from string, wait time.Duration, opened func()) {
	for pause(ctx, wait) {
		dialer := &tls.Dialer{
			NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}},
			Config:    &tls.Config{RootCAs: l.roots},
		}
		conn, err := dialer.DialContext(ctx, "tcp", l.address)
		if err == nil {
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", admission.PathFail+"?timeout=30s")
			opened()
			for err == nil && pause(ctx, 500*time.Millisecond) {
				_, err = conn.Write([]byte(" "))
			}
			_ = conn.Close()
		}
		wait = time.Second
	}
}

// pause reports whether ctx is still alive after some time.
func pause(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}

// besiege opens all slow connections, spread over some addresses, and returns once they are there.
func (l *loaded) besiege(tb testing.TB, connections, addresses int) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var slow, first sync.WaitGroup
	for i := range connections {
		first.Add(1)
		slow.Go(func() {
			l.trickle(ctx, fmt.Sprintf("127.0.0.%d", 1+i%addresses), time.Duration(i)*spread, sync.OnceFunc(first.Done))
		})
	}
	tb.Cleanup(func() {
		cancel()
		slow.Wait()
	})
	first.Wait()
}

// send sends real requests, so many a second, and returns how long each took and what was not answered well.
func (l *loaded) send(tb testing.TB, count, rate int) (took []time.Duration, failed []string) {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: l.roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	body := podReview(tb)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var mu sync.Mutex
	var sending sync.WaitGroup
	for range count {
		<-ticker.C
		sending.Go(func() {
			begin := time.Now()
			err := l.ask(tb.Context(), client, body)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begin))
			if err != nil {
				failed = append(failed, err.Error())
			}
		})
	}
	sending.Wait()
	slices.Sort(took)
	return took, failed
}

func (l *loaded) ask(ctx context.Context, client *http.Client, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.address+admission.PathFail+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), `"allowed":true`) {
		return fmt.Errorf("%s %s: %v", response.Status, text, err) //nolint:errorlint // It may be nil.
	}
	return nil
}

func podReview(tb testing.TB) []byte {
	tb.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "request", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Operation: admissionv1.Create,
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "default", Name: "a",
			Object: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","labels":{"app":"a"}},"spec":{"containers":[{"name":"main","image":"app:1"}]}}`)},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// TestSlowConnectionsStopNobody: of requests beside connections that send a byte now and then, and are many times
// more than there are slots, no request is refused, whether the connections come from ten addresses or from its own.
// BenchmarkBesideSlowConnections has ten times as many, which a machine that is busy with tests can't bear.
func TestSlowConnectionsStopNobody(t *testing.T) { // It would slow others down.
	const connections, rate, count = 100, 20, 80
	for _, addresses := range []int{10, 1} {
		t.Run(fmt.Sprint(addresses), func(t *testing.T) {
			l := newLoaded(t)
			l.besiege(t, connections, addresses)
			took, failed := l.send(t, count, rate)
			if len(failed) > 0 {
				t.Errorf("%d of %d requests have no good answer, as the first: %s", len(failed), len(took), failed[0])
			}
			t.Logf("half within %v, 99%% within %v, all within %v", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
		})
	}
}

// BenchmarkBesideSlowConnections has the 99th percentile of 200 requests a second beside 1,000 slow
// connections, whatever the number of iterations; it should be at most 50 ms.
func BenchmarkBesideSlowConnections(b *testing.B) {
	for _, addresses := range []int{10, 1} {
		b.Run(fmt.Sprintf("addresses=%d", addresses), func(b *testing.B) {
			l := newLoaded(b)
			l.besiege(b, slowConnections, addresses)
			var refused atomic.Int64
			var took []time.Duration
			for b.Loop() {
				one, failed := l.send(b, loadRate, loadRate)
				took = append(took, one...)
				refused.Add(int64(len(failed)))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			if n := refused.Load(); n > 0 {
				b.Errorf("%d of %d requests have no good answer", n, len(took))
			}
		})
	}
}
