// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// service is a web service whose answers change.
type service struct {
	*httptest.Server
	bundle string
	answer atomic.Pointer[http.HandlerFunc]
}

func newService(tb testing.TB, answer http.HandlerFunc) *service {
	tb.Helper()
	s := &service{}
	s.answer.Store(&answer)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.answer.Load())(w, r) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	tb.Cleanup(s.Close)
	s.bundle = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return s
}

func text(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

func code(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// apiCall returns the spec of an entry that calls a service each second.
func apiCall(tb testing.TB, url, bundle string) string {
	tb.Helper()
	spec := testkit.Must(json.Marshal(map[string]any{"apiCall": map[string]any{"url": url, "caBundle": bundle, "refreshIntervalSeconds": 1}}))(tb)
	return string(spec)
}

// local lets calls go to the services of tests, and take their time.
func local(c *contextcache.Config) {
	c.AllowRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.CallTimeout = patience
	c.MaxResponse = 1 << 20
}

func TestCallIsRepeatedAndItsAnswerOutlivesFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, text("application/json", `{"teams":["a"]}`))
	id := w.entry(t, cachedEntries, "e", apiCall(t, s.URL, s.bundle))
	cache := w.cache(t, local)
	teams := policy.Query{Entry: id, Alias: "x", Expression: "x.teams"}
	gets(t, cache, teams, []any{"a"})
	isReady(t, cache)
	status := w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	if status.Objects != nil || status.Resource != nil || status.Bytes == nil || status.LastRefreshTime == nil {
		t.Errorf("%+v", status)
	}
	subscriber := &told{entries: map[policy.Entry]bool{}}
	defer cache.Subscribe(subscriber.tell)()
	again := text("application/json", `{"teams":["b"]}`)
	s.answer.Store(&again)
	gets(t, cache, teams, []any{"b"})
	subscriber.awaits(t, true, id)

	broken := code(http.StatusInternalServerError)
	s.answer.Store(&broken)
	w.shows(t, cachedEntries, id, contextcache.ReasonFailing, "500 Internal Server Error", "still served")
	if got, err := query(t, cache, teams); err != nil || !cmp.Equal(got, []any{"b"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnswerThatIsTooOldIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer, broken := text("application/json", `{"teams":["a"]}`), code(http.StatusInternalServerError)
	s := newService(t, answer)
	id := w.entry(t, cachedEntries, "e", apiCall(t, s.URL, s.bundle))
	cache := w.cache(t, local, func(c *contextcache.Config) { c.MaxStale = 100 * time.Millisecond })
	teams := policy.Query{Entry: id, Alias: "x", Expression: "x.teams"}
	gets(t, cache, teams, []any{"a"})
	s.answer.Store(&broken)
	refuses(t, cache, teams, "too old", "500 Internal Server Error")
	w.shows(t, cachedEntries, id, contextcache.ReasonStale, "500")
	s.answer.Store(&answer)
	gets(t, cache, teams, []any{"a"})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
}

// TestCallsOfPolicies: equal calls of policies are made once, with all that they have; one that fails is made
// again, and policies in a namespace make none.
func TestCallsOfPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls atomic.Int32
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]string{r.Method, r.URL.RawQuery, r.Header.Get("X-Key"), string(body)})
	})
	entry := func(header, value string) policy.Entry {
		service, err := policy.NewEntryService(s.URL+"/teams?token=secret", "POST", map[string]string{header: value}, map[string]any{"b": 1, "a": "x"}, s.bundle)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Entry{Service: service}
	}
	cache := w.cache(t, local)
	cache.Want([]policy.Entry{entry("x-key", "one"), entry("X-Key", "one")})
	first := policy.Query{Entry: entry("X-KEY", "one")}
	gets(t, cache, first, []any{"POST", "token=secret", "one", `{"a":"x","b":1}`})
	gets(t, cache, policy.Query{Entry: entry("x-key", "one"), Expression: "[0]"}, "POST")
	if got := calls.Load(); got != 2 {
		t.Errorf("%d calls for one that failed and one that did not", got)
	}
	// One that no policy has declared yet.
	gets(t, cache, policy.Query{Entry: entry("x-key", "two"), Expression: "[2]"}, "two")
	first.Namespace = "team"
	refuses(t, cache, first, "apiCall POST "+s.URL+"/teams: ", "services are called by cluster policies")
	if _, err := query(t, cache, policy.Query{Entry: first.Entry, Namespace: "team"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestCallsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gigabyte := func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat(" ", 1<<20))
		for range 1024 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	stranger := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: newOtherAuthority(t)}))
	tests := map[string]struct {
		answer http.HandlerFunc
		bundle string
		reason string
		words  []string
	}{
		"hang":     {answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, reason: "timeout", words: []string{"no answer within 2s"}},
		"500":      {answer: code(http.StatusInternalServerError), reason: "status", words: []string{"500 Internal Server Error"}},
		"html":     {answer: text("text/html", "not JSON"), reason: "content", words: []string{"text/html", "not JSON"}},
		"1gb":      {answer: gigabyte, reason: "size", words: []string{"more than 1048576 bytes"}},
		"redirect": {answer: http.RedirectHandler("https://169.254.169.254/latest/meta-data", http.StatusFound).ServeHTTP, reason: "blocked", words: []string{"169.254.169.254 is blocked"}},
		"cabundle": {answer: text("application/json", "{}"), bundle: stranger, reason: "tls", words: []string{"certificate"}},
	}
	before, ids := map[string]float64{}, map[string]policy.Entry{}
	for name, test := range tests {
		s := newService(t, test.answer)
		if test.bundle == "" {
			test.bundle = s.bundle
		}
		ids[name] = w.entry(t, cachedEntries, name, apiCall(t, s.URL, test.bundle))
		before[name] = w.metric(t, "failures_total", test.reason)
	}
	cache := w.cache(t, local, func(c *contextcache.Config) { c.CallTimeout = 2 * time.Second })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			refuses(t, cache, policy.Query{Entry: ids[name]}, append(test.words, ids[name].Name, "can't be loaded")...)
			w.shows(t, cachedEntries, ids[name], contextcache.ReasonFailing, test.words...)
			w.grows(t, before[name], "failures_total", test.reason)
			w.grows(t, 0, "staleness_seconds", ids[name].Name)
		})
	}
	isReady(t, cache) // A failure is an answer.
	w.grows(t, 0, "entries", "failing")
}

// newOtherAuthority returns a certificate that signs nothing here.
func newOtherAuthority(tb testing.TB) []byte {
	tb.Helper()
	// All test servers have the same certificate; this one is from the test data of package call.
	const other = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUKqYiDZAUYY+uy+TxzFEc6SGn9vcwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTIxMTkwMjM2WhgPMjEyNjEwMjgxOTAy
MzZaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
HCTUa+BiCMwfviQRaW7t8J2Hq4ZIlkFSg1Sv4Luhi0AP3iVPYBn5IuXa5nCMNNpi
rbPPXeudwNYgpkTKE423MaNTMFEwHQYDVR0OBBYEFAoc5MlgoGHhhsYynWmOJd5o
fg04MB8GA1UdIwQYMBaAFAoc5MlgoGHhhsYynWmOJd5ofg04MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAJEeadUxoiNolZkuFte6+xmz7eVsi8WF
QUBbD3iwxv0cAiEArPU3ZXJVCDWYGMIdmZXG24zCMV7Wd7ermwzcCQoInoQ=
-----END CERTIFICATE-----
`
	block, _ := pem.Decode([]byte(other))
	if block == nil {
		tb.Fatal("no PEM")
	}
	return block.Bytes
}

func TestServicesOnLoopbackAreBlocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, text("application/json", "{}"))
	id := w.entry(t, cachedEntries, "e", apiCall(t, s.URL, s.bundle))
	cache := w.cache(t)
	refuses(t, cache, policy.Query{Entry: id}, "127.0.0.1 is blocked", "allow its range")
	w.shows(t, cachedEntries, id, contextcache.ReasonFailing, "127.0.0.1 is blocked")
}

func TestDefinitionsThatCannotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	zero := w.entry(t, globalEntries, "zero", "apiCall: {urlPath: /version, refreshInterval: 0s}")
	bundle := w.entry(t, cachedEntries, "bundle", "apiCall: {url: 'https://svc.kyverno/example', caBundle: REDACTED, refreshIntervalSeconds: 10}")
	cache := w.cache(t)
	refuses(t, cache, policy.Query{Entry: zero}, zero.Name, "spec.apiCall.refreshInterval", "at least 1 s")
	w.shows(t, globalEntries, zero, contextcache.ReasonInvalid, "spec.apiCall.refreshInterval")
	refuses(t, cache, policy.Query{Entry: bundle}, "spec.apiCall.caBundle", "PEM")
	w.shows(t, cachedEntries, bundle, contextcache.ReasonInvalid, "spec.apiCall.caBundle")
	w.grows(t, 0, "entries", "invalid")
	isReady(t, cache)

	// A CachedContextEntry is refused by its schema.
	object := w.entryObject(t, cachedEntries, policy.CachedContextEntry, "zero", "apiCall: {url: 'https://x/', refreshIntervalSeconds: 0}")
	_, err := w.at(cachedEntries, "").Create(t.Context(), object, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "refreshIntervalSeconds") {
		t.Error(err)
	}
}

func TestPathsOfTheClusterAreCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	get := w.entry(t, globalEntries, "get", fmt.Sprintf(`
apiCall: {urlPath: /api/v1/namespaces/%s/configmaps, refreshInterval: 1s}
projections: [{name: names, jmesPath: "items[].metadata.name"}]`, w.name))
	own := w.entry(t, cachedEntries, "own", fmt.Sprintf("apiCall: {urlPath: /api/v1/namespaces/%s, refreshIntervalSeconds: 1}", w.name))
	cache := w.cache(t)
	gets(t, cache, policy.Query{Entry: get, Projection: "names"}, []any{"one"})
	w.configMap(t, "two", nil)
	gets(t, cache, policy.Query{Entry: get, Expression: "items[].metadata.name"}, []any{"one", "two"})
	gets(t, cache, policy.Query{Entry: own, Expression: "metadata.name"}, w.name)
	status := w.shows(t, globalEntries, get, contextcache.ReasonLoaded)
	if status.LastRefreshTime == nil || status.Bytes != nil {
		t.Errorf("%+v", status)
	}
}
