// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

// unavailable checks that requests to a server are answered with a Status by what was found out
// before: the server is not asked.
func (w *world) unavailable(t *testing.T, gv, want string) {
	t.Helper()
	testkit.Settles(t, func() string {
		code, body, _ := w.get(t, "/apis/"+gv+"/namespaces/a/widgets")
		s := status(t, body)
		known, why, _ := strings.Cut(s.Message, ": ")
		if code != http.StatusServiceUnavailable || s.Reason != metav1.StatusReasonServiceUnavailable ||
			known != "the server of "+gv+" is not available" || !strings.Contains(why, want) {
			return fmt.Sprintf("%d %s, want %q", code, body, want)
		}
		return ""
	})
}

// unavailableSince waits until the condition of an APIService has a reason. The first one may be that time was up, on a
// busy machine.
func (w *world) unavailableSince(t *testing.T, name, reason string) {
	t.Helper()
	testkit.Settles(t, func() string {
		if text := w.available(t, name, apiregistration.ConditionFalse); !strings.Contains(text, reason) {
			return fmt.Sprintf("%s: %s, want %q", name, text, reason)
		}
		return ""
	})
}

// TestDeadServerAmongOthers: nothing else suffers, and it is served again when it is back, be
// it elsewhere.
func TestDeadServerAmongOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.serving(t, "good.example.com/v1")
	b := w.serving(t, "wardle.example.com/v1")
	b.CloseClientConnections()
	b.Close()
	// The first request tells the client, and has the server checked.
	code, body, _ := w.get(t, "/apis/"+b.gv+"/namespaces/a/widgets")
	if s := status(t, body); code != int(s.Code) || code != http.StatusServiceUnavailable && code != http.StatusBadGateway {
		t.Errorf("%d %s", code, body)
	}
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionFalse)
	w.unavailable(t, b.gv, "can't connect to 127.0.0.1:")
	if code, _, _ := w.get(t, "/apis/"+good.gv); code != http.StatusOK {
		t.Errorf("the good server: %d", code)
	}
	client, err := discovery.NewDiscoveryClientForConfig(w.config)
	testkit.NoError(t, err)
	groups, resources, failed, err := client.GroupsAndMaybeResources()
	if err != nil || len(groups.Groups) < 4 || len(resources) < 3 || len(failed) != 1 {
		t.Errorf("discovery: %d groups, %d lists, failed %v, %v", len(groups.Groups), len(resources), failed, err)
	}
	b.start(t, w, echoHost)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, aggregator.EndpointAnnotation, b.URL)
	_, err = w.client.ApiregistrationV1().APIServices().Patch(t.Context(), "v1.wardle.example.com", types.MergePatchType, patch, metav1.PatchOptions{})
	testkit.NoError(t, err)
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionTrue)
	if code, body, _ := w.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
		t.Errorf("elsewhere: %d %s", code, body)
	}
	_, body, _ = w.get(t, "/apis/wardle.example.com", "Accept", "application/json")
	if !strings.Contains(body, strings.TrimPrefix(b.URL, "https://")) {
		t.Errorf("discovery has the old address: %s", body)
	}
}

// TestHangingServer: it is found out in seconds, does not keep others waiting, and a request
// to one that hangs later ends with a Status.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	})
	for i := range 5 {
		b := newBackend(t, w, fmt.Sprintf("hang%d.example.com/v1", i), echoHost)
		b.list.Store(&hang)
		w.register(t, b)
	}
	good := w.serving(t, "good.example.com/v1")
	if text := w.available(t, "v1.hang0.example.com", apiregistration.ConditionFalse); text != "FailedDiscoveryCheck: the server did not answer in time" {
		t.Errorf("%s", text)
	}
	w.unavailable(t, "hang0.example.com/v1", "did not answer in time")
	good.mux.Handle("/apis/"+good.gv+"/slow", hang)
	for _, path := range []string{"/slow", ""} {
		if path == "" {
			good.list.Store(&hang) // A discovery request.
		}
		code, body, _ := w.get(t, "/apis/"+good.gv+path)
		if s := status(t, body); code != http.StatusGatewayTimeout || s.Reason != metav1.StatusReasonTimeout {
			t.Errorf("%q: %d %s", path, code, body)
		}
	}
}

// TestWrongCertificates: the condition tells what to repair, and the annotation for another
// name repairs it.
func TestWrongCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBackend(t, w, "wardle.example.com/v1", "other.example.com")
	w.register(t, b)
	w.unavailableSince(t, "v1.wardle.example.com", "certificate is valid for other.example.com, not echo.default.svc")
	w.unavailable(t, b.gv, "certificate is valid for other.example.com, not echo.default.svc")
	change := func(what func(*apiregistration.APIService)) {
		testkit.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
			if err != nil {
				return err
			}
			what(service)
			_, err = w.client.ApiregistrationV1().APIServices().Update(t.Context(), service, metav1.UpdateOptions{})
			return err
		}))
	}
	change(func(s *apiregistration.APIService) {
		s.Annotations[aggregator.ServerNameAnnotation] = "other.example.com"
	})
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionTrue)
	change(func(s *apiregistration.APIService) { s.Spec.CABundle = w.authority.CertificatePEM })
	w.unavailableSince(t, "v1.wardle.example.com", "unknown authority; put that authority into spec.caBundle")
	change(func(s *apiregistration.APIService) { s.Spec.CABundle, s.Spec.InsecureSkipTLSVerify = nil, true })
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionTrue)
}

// TestBadDiscovery: what is not a list of resources, or is huge, makes a server unavailable and
// costs no memory.
func TestBadDiscovery(t *testing.T) { // It measures memory, which other tests need as well.
	w := newWorld(t)
	answers := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"huge": {func(rw http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 1<<20); ; {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		}, "too large"},
		"long": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1000000000")
			rw.WriteHeader(http.StatusOK)
		}, "too large"},
		"broken": {func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "<html>") }, "APIResourceList in JSON"},
		"other": {func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "else/v1"})
		}, `group version "else/v1"`},
		"error":   {func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }, "status 403"},
		"missing": {func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotFound) }, "does not serve /apis/missing"},
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, answer := range answers {
		b := newBackend(t, w, name+".example.com/v1", echoHost)
		b.list.Store(&answer.handler)
		w.register(t, b)
		w.unavailableSince(t, "v1."+name+".example.com", answer.want)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if code, _, _ := w.get(t, "/apis"); code != http.StatusOK {
		t.Errorf("/apis: %d", code)
	}
}

// probeLookUps is how often a probe asks where the server is.
const probeLookUps = 2

// countingResolver knows one server, and counts who asks for it.
type countingResolver struct {
	url   string
	asked atomic.Int64
}

// ResolveEndpoint implements aggregator.Resolver.
func (c *countingResolver) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	c.asked.Add(1)
	return url.Parse(c.url)
}

// TestConditionIsWrittenOnce: a server that stays as it is causes no writes.
func TestConditionIsWrittenOnce(t *testing.T) {
	t.Parallel()
	resolver := &countingResolver{}
	w := newWorld(t, func(c *aggregator.Config) { c.Resolver = resolver })
	b := newBackend(t, w, "wardle.example.com/v1", echoHost)
	b.CloseClientConnections()
	b.Close()
	service := b.service()
	delete(service.Annotations, aggregator.EndpointAnnotation)
	resolver.url = b.URL
	_, err := w.client.ApiregistrationV1().APIServices().Create(t.Context(), service, metav1.CreateOptions{})
	testkit.NoError(t, err)
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionFalse)
	first, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
	testkit.NoError(t, err)
	asked := resolver.asked.Load()
	testkit.Settles(t, func() string {
		if resolver.asked.Load() <= asked+probeLookUps {
			return "no second probe, after which the outcome of the first would be written"
		}
		return ""
	})
	second, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
	testkit.NoError(t, err)
	if first.ResourceVersion != second.ResourceVersion {
		t.Errorf("%v became %v", first.Status, second.Status)
	}
}

// TestEndsCompletely: no goroutine of the package is left when Run has returned, not even with
// a server that hangs, or an open watch.
func TestEndsCompletely(t *testing.T) {
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	block := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	b.list.Store(&block)
	b.mux.HandleFunc("/apis/"+b.gv+"/namespaces/a/widgets", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "{}\n")
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.config.Host+"/apis/"+b.gv+"/namespaces/a/widgets?watch=true", nil)
	testkit.NoError(t, err)
	answer, err := w.httpClient(t, "").Do(r)
	testkit.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	w.stop()
	testkit.Settles(t, func() string {
		buffer := make([]byte, 4<<20)
		for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			if strings.Contains(stack, "internal/plane/aggregator.") && !strings.Contains(stack, "aggregator_test.") {
				return stack
			}
		}
		return ""
	})
}

// TestOpenAPIOfBadServers: whatever they send, /openapi/v2 and /openapi/v3 stay valid and have
// what good servers send.
func TestOpenAPIOfBadServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := newBackend(t, w, "good.example.com/v1", echoHost)
	document := func(gv, extension string) string {
		return fmt.Sprintf(`{"swagger":"2.0","info":{"title":"x","version":"1"},"paths":{"/apis/%s/widgets":{"get":{"operationId":"list%s","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Widget"}}}}},
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions":{"get":{"operationId":"stolen","responses":{"200":{"description":"stolen"}}}}},
			"definitions":{"Widget":{"type":"object","description":"a widget"%s}}}`, gv, strings.Split(gv, ".")[0], extension)
	}
	send := func(b *backend, path, body string) {
		b.mux.HandleFunc(path, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, body)
		})
	}
	send(good, "/openapi/v2", document(good.gv, ""))
	w.register(t, good)
	for name, body := range map[string]string{
		// Equal definitions, with kinds or without, in an order that is up to the library.
		"own1": document("own1.example.com/v1", `,"x-kubernetes-group-version-kind":[{"group":"own1.example.com","kind":"Widget","version":"v1"}]`),
		"own2": document("own2.example.com/v1", `,"x-kubernetes-group-version-kind":[{"group":"own2.example.com","kind":"Widget","version":"v1"}]`),
		"own3": document("own3.example.com/v1", `,"X-Kubernetes-Group-Version-Kind":[{"group":"own3.example.com","kind":"Widget","version":"v1"}]`),
		"html": "<html>", "null": "null", "nopaths": `{"swagger":"2.0"}`, "list": `{"swagger":"2.0","paths":[]}`,
		"kinds":  document("kinds.example.com/v1", `,"x-kubernetes-group-version-kind":"wrong"`),
		"kinds2": document("kinds2.example.com/v1", `,"x-kubernetes-group-version-kind":[{"group":"apps","kind":"Widget","version":"v1"}]`),
		"deep":   strings.Repeat(`{"paths":`, 20_000),
		"big":    strings.Repeat(" ", 20<<20),
		"ref":    strings.Replace(document("ref.example.com/v1", ""), "#/definitions/Widget", "http://[::bad", 1),
	} {
		b := newBackend(t, w, name+".example.com/v1", echoHost)
		send(b, "/openapi/v2", body)
		send(b, "/openapi/v3/apis/"+b.gv, body)
		w.register(t, b)
	}
	hanging := newBackend(t, w, "hanging.example.com/v1", echoHost)
	block := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	hanging.mux.Handle("/openapi/", block)
	w.register(t, hanging)
	testkit.Settles(t, func() string {
		for _, accept := range []string{"application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"} {
			// What waited for the server that hangs would end after RequestTimeout with 504.
			code, body, _ := w.get(t, "/openapi/v2", "Accept", accept)
			if code != http.StatusOK {
				t.Fatalf("/openapi/v2 as %s: %d %s", accept, code, body)
			}
			if !strings.Contains(body, "/apis/good.example.com/v1/widgets") {
				return "v2 lacks the good server"
			}
			if !strings.Contains(body, "/apis/kinds.example.com/v1/widgets") {
				return "v2 lacks the server that is only a little wrong"
			}
			if !strings.Contains(body, "/apis/own1.example.com/v1/widgets") || !strings.Contains(body, "/apis/own2.example.com/v1/widgets") {
				return "v2 lacks a server with kinds"
			}
			if strings.Contains(body, "stolen") {
				t.Fatal("v2 has a path of another group")
			}
		}
		code, body, _ := w.get(t, "/openapi/v3")
		var root struct{ Paths map[string]any }
		if err := json.Unmarshal([]byte(body), &root); err != nil || code != http.StatusOK {
			t.Fatalf("/openapi/v3: %d %s", code, body)
		}
		if root.Paths["apis/good.example.com/v1"] == nil || root.Paths["apis/apiextensions.k8s.io/v1"] == nil {
			return "v3 lacks a group"
		}
		for name := range root.Paths {
			code, body, _ := w.get(t, "/openapi/v3/"+name)
			if code != http.StatusOK || !json.Valid([]byte(body)) || strings.Contains(body, "stolen") {
				t.Errorf("/openapi/v3/%s: %d %.300s", name, code, body)
			}
		}
		return ""
	})
}
