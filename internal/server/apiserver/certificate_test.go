// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

const (
	secretPath      = "/api/v1/namespaces/docket-system/secrets/docket-serving"
	apiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices/"
	servedName      = "docket.docket-system.svc"
)

// trustingCluster is a cluster that has the Secret of the manifests, which is empty, and APIServices
// without a caBundle.
type trustingCluster struct {
	*fakeCluster

	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	// services are APIServices by name.
	services map[string]*unstructured.Unstructured
	// away has all requests about either fail.
	away bool
	// writes counts changes of the Secret.
	writes int
}

func newTrustingCluster() *trustingCluster {
	c := &trustingCluster{fakeCluster: newestCluster(), services: map[string]*unstructured.Unstructured{}}
	c.secret = &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "docket-serving", Namespace: "docket-system", ResourceVersion: "1"},
	}
	for _, name := range []string{"v1alpha1.openreports.io", "v1.reports.kyverno.io", "v1alpha1.results.docket.dev", "v1alpha2.wgpolicyk8s.io"} {
		c.services[name] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name, "resourceVersion": "1"},
			"spec": map[string]any{"service": map[string]any{"namespace": "docket-system", "name": "docket"}, "groupPriorityMinimum": int64(1000)},
		}}
	}
	c.extra = c.serve
	return c
}

// serve answers requests for the Secret and for APIServices.
func (c *trustingCluster) serve(w http.ResponseWriter, r *http.Request) bool {
	name, isService := strings.CutPrefix(r.URL.Path, apiServicesPath)
	if !isService && r.URL.Path != secretPath {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch service := c.services[name]; {
	case c.away:
		http.Error(w, "away", http.StatusInternalServerError)
	case isService && service == nil:
		http.NotFound(w, r)
	case isService:
		c.serveService(w, r, service)
	default:
		c.serveSecret(w, r)
	}
	return true
}

func (c *trustingCluster) next() string {
	c.version++
	return strconv.Itoa(c.version + 1)
}

func conflict(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	reply(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonConflict, Code: http.StatusConflict})
}

func (c *trustingCluster) serveSecret(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		var secret corev1.Secret
		if !decode(w, r, &secret) {
			return
		}
		if secret.ResourceVersion != c.secret.ResourceVersion {
			conflict(w)
			return
		}
		secret.ResourceVersion, secret.TypeMeta = c.next(), c.secret.TypeMeta
		c.secret = &secret
		c.writes++
	}
	reply(w, c.secret)
}

func (c *trustingCluster) serveService(w http.ResponseWriter, r *http.Request, service *unstructured.Unstructured) {
	if r.Method == http.MethodPatch {
		var patch struct {
			Metadata struct{ ResourceVersion string }
			Spec     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || len(patch.Spec) != 1 {
			http.Error(w, fmt.Sprintf("%v: may change the caBundle alone, not %v", err, patch.Spec), http.StatusForbidden)
			return
		}
		if patch.Metadata.ResourceVersion != service.GetResourceVersion() {
			conflict(w)
			return
		}
		_ = unstructured.SetNestedField(service.Object, patch.Spec["caBundle"], "spec", "caBundle")
		service.SetResourceVersion(c.next())
	}
	reply(w, service.Object)
}

// bundles are the authorities that each of the APIServices trusts, as PEM.
func (c *trustingCluster) bundles() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all [][]byte
	for _, service := range c.services {
		text, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
		bundle, _ := base64.StdEncoding.DecodeString(text)
		all = append(all, bundle)
	}
	return all
}

// stored is the serving certificate that the Secret has.
func (c *trustingCluster) stored() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	block, _ := pem.Decode(c.secret.Data[corev1.TLSCertKey])
	if block == nil {
		return nil
	}
	return block.Bytes
}

func (c *trustingCluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// start runs a replica.
func (c *trustingCluster) startReplica(t *testing.T, now *clocktesting.FakeClock) *testServer {
	t.Helper()
	options := clusterOptions(t, c.start(t))
	options.Storage.Cluster = apiserver.ClusterAuto
	options.Certificate.Secret, options.Certificate.Namespace, options.Certificate.Clock = "docket-serving", "docket-system", now
	config := testkit.Must(options.Complete().Config(t.Context()))(t)
	completed := testkit.Must(config.Complete())(t)
	server := testkit.Must(completed.New(t.Context()))(t)
	return runServer(t, server)
}

// greet makes a connection as kube-apiserver does that trusts a bundle, and returns the certificate
// that it was shown.
func greet(ctx context.Context, s *testServer, bundle []byte, now *clocktesting.FakeClock) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: servedName, Time: now.Now}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.config.Host+"/livez", nil)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return response.TLS.PeerCertificates[0], response.Body.Close()
}

// callers connect to all replicas as long as a test lasts, with what each of the APIServices trusts and
// with what it trusted in the round before.
type callers struct {
	now     *clocktesting.FakeClock
	rounds  atomic.Int64
	stopped chan struct{}
	// err is the first failure; it is written before stopped is closed.
	err error
}

func startCallers(t *testing.T, c *trustingCluster, now *clocktesting.FakeClock, replicas ...*testServer) (callers *callers, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	callers = newCallers(now)
	go func() {
		defer close(callers.stopped)
		for before := c.bundles(); ctx.Err() == nil; callers.rounds.Add(1) {
			bundles := c.bundles()
			for _, replica := range replicas {
				for _, bundle := range slices.Concat(before, bundles) {
					if _, err := greet(ctx, replica, bundle, now); err != nil && ctx.Err() == nil {
						callers.err = fmt.Errorf("in round %d: %w", callers.rounds.Load(), err)
						return
					}
				}
			}
			before = bundles
		}
	}()
	return callers, func() {
		t.Helper()
		cancel()
		if <-callers.stopped; callers.err != nil {
			t.Error(callers.err)
		}
	}
}

func newCallers(now *clocktesting.FakeClock) *callers {
	return &callers{now: now, stopped: make(chan struct{})}
}

// step lets time pass, and all replicas be called before and thereafter: callers learn of a bundle within
// minutes, however fast the clock is moved.
func (c *callers) step(by time.Duration) {
	c.pass(3) // The first has begun already, and the next one still calls with what it knew.
	c.now.Step(by)
	c.pass(2)
}

// pass waits for rounds.
func (c *callers) pass(count int64) {
	for begun := c.rounds.Load(); c.rounds.Load() < begun+count; {
		select {
		case <-c.stopped:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// awaitServed lets minutes pass until all replicas serve what the Secret has, and check is content.
func (c *trustingCluster) awaitServed(t *testing.T, calling *callers, replicas []*testServer, check func() error) {
	t.Helper()
	testkit.Succeeds(t, "all replicas serve what the Secret has", func() error {
		last := check()
		for _, replica := range replicas {
			shown, err := greet(t.Context(), replica, c.bundles()[0], calling.now)
			switch {
			case err != nil:
				last = errors.Join(last, err)
			case !bytes.Equal(shown.Raw, c.stored()):
				last = errors.Join(last, errors.New("a replica serves another certificate than the Secret has"))
			}
		}
		if last != nil {
			calling.step(rotation.SecretInterval)
		}
		return last
	})
}

// trusting wants each APIService to trust a number of authorities.
func (c *trustingCluster) trusting(number int) error {
	for _, bundle := range c.bundles() {
		parsed, err := certificate.ParseBundle(bundle)
		if err != nil {
			return err
		}
		if len(parsed) != number {
			return fmt.Errorf("an APIService trusts %d authorities, want %d", len(parsed), number)
		}
	}
	return nil
}

// TestCertificateIsRenewedWhileServing: two replicas live through seven years, in which both their
// certificate and its authority are replaced, and no call fails.
func TestCertificateIsRenewedWhileServing(t *testing.T) {
	t.Parallel()
	cluster, now := newTrustingCluster(), clocktesting.NewFakeClock(time.Now())
	replicas := []*testServer{cluster.startReplica(t, now), cluster.startReplica(t, now)}
	calling, stop := startCallers(t, cluster, now, replicas...)
	seen := map[string]bool{}
	old := cluster.bundles()[0]
	for age := time.Duration(0); age < rotation.AuthorityLifetime/3*2; age += rotation.ServingLifetime / 4 * 3 {
		cluster.awaitServed(t, calling, replicas, func() error {
			if seen[string(cluster.stored())] {
				return errors.New("the certificate is not renewed")
			}
			return cluster.trusting(1)
		})
		seen[string(cluster.stored())] = true
		calling.step(rotation.ServingLifetime / 4 * 3)
	}
	cluster.awaitServed(t, calling, replicas, func() error { return cluster.trusting(2) })
	calling.step(rotation.Settling)
	cluster.awaitServed(t, calling, replicas, func() error {
		if _, err := greet(t.Context(), replicas[0], old, now); err == nil {
			return errors.New("the authority of before still signs")
		}
		return cluster.trusting(2)
	})
	calling.step(rotation.Overlap)
	cluster.awaitServed(t, calling, replicas, func() error { return cluster.trusting(1) })
	stop()
	if len(seen) < 8 {
		t.Errorf("%d certificates in seven years", len(seen))
	}
	// One for each certificate, the authority, its first certificate, and the end of the one before.
	cluster.set(func() {
		if most := len(seen) + 3; cluster.writes > most {
			t.Errorf("the Secret was written %d times, want %d at most: the replicas fight", cluster.writes, most)
		}
	})
}

// certificateErrors is the value of the counter.
func certificateErrors(t *testing.T) float64 {
	t.Helper()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(t)
	for _, family := range families {
		if family.GetName() == "docket_apiserver_certificate_errors_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// TestCertificateWhileTheClusterIsAway: the server uses the certificate until it expires. After that the replica is
// not ready. It recovers once the cluster is back, although the authority has expired as well.
func TestCertificateWhileTheClusterIsAway(t *testing.T) { // Errors are counted for the whole process.
	cluster, now := newTrustingCluster(), clocktesting.NewFakeClock(time.Now())
	replicas := []*testServer{cluster.startReplica(t, now)}
	before := cluster.stored()
	cluster.set(func() { cluster.away = true })
	calling, stop := startCallers(t, cluster, now, replicas...)
	failed := certificateErrors(t)
	calling.step(rotation.ServingLifetime / 4 * 3)
	testkit.Eventually(t, "the failures are counted", func() bool {
		calling.step(rotation.SecretInterval)
		return certificateErrors(t) >= failed+3
	})
	stop()
	replicas[0].do(t, http.MethodGet, "/readyz", nil).want(t, http.StatusOK)
	now.Step(rotation.ServingLifetime / 2)
	if answer := replicas[0].do(t, http.MethodGet, "/readyz?verbose", nil); answer.StatusCode == http.StatusOK || !bytes.Contains(answer.body, []byte("[-]"+apiserver.CertificateCheck)) {
		t.Errorf("after the end of the certificate: %s\n%s", answer.Status, answer.body)
	}

	now.Step(rotation.AuthorityLifetime)
	cluster.set(func() { cluster.away = false })
	cluster.awaitServed(t, calling, replicas, func() error {
		if bytes.Equal(cluster.stored(), before) {
			return errors.New("the certificate is not renewed")
		}
		return cluster.trusting(1)
	})
	replicas[0].waitReady(t)
}

// TestCertificateTakesOver: other authorities stay until they expire, other servers' APIServices stay
// unchanged, and APIServices that cert-manager writes to are an error.
func TestCertificateTakesOver(t *testing.T) {
	t.Parallel()
	cluster, now := newTrustingCluster(), clocktesting.NewFakeClock(time.Now())
	other := testkit.Must(certificate.NewAuthority("docket bootstrap", now.Now(), 24*time.Hour))(t)
	foreign := cluster.services["v1.reports.kyverno.io"]
	_ = unstructured.SetNestedField(foreign.Object, "reports-server", "spec", "service", "name")
	for _, service := range cluster.services {
		_ = unstructured.SetNestedField(service.Object, base64.StdEncoding.EncodeToString(other.CertificatePEM), "spec", "caBundle")
	}
	replica := cluster.startReplica(t, now)
	printed := replica.do(t, http.MethodGet, "/bootstrap/wgpolicyk8s.io", nil).want(t, http.StatusOK)
	if !bytes.Contains(printed.body, []byte("caBundle: ")) {
		t.Error("/bootstrap does not have the authority of the certificate")
	}
	cluster.set(func() {
		text, _, _ := unstructured.NestedString(foreign.Object, "spec", "caBundle")
		if text != base64.StdEncoding.EncodeToString(other.CertificatePEM) {
			t.Error("the APIService of another server was changed")
		}
		delete(cluster.services, foreign.GetName())
	})
	if err := cluster.trusting(2); err != nil {
		t.Error(err)
	}
	for _, bundle := range cluster.bundles() {
		if !certificate.Holds(bundle, other.Certificate) {
			t.Error("the authority of before is not trusted any more, although replicas may still serve what it signed")
		}
	}
	now.Step(25 * time.Hour)
	calling := newCallers(now)
	close(calling.stopped) // Nobody calls.
	cluster.awaitServed(t, calling, []*testServer{replica}, func() error { return cluster.trusting(1) })
}
