// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestOptionsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	if errs := NewOptions().Validate(); len(errs) != 0 {
		t.Errorf("the defaults are refused: %v", errs)
	}
	for flag, change := range map[string]func(*Options){
		"--reports-api":              func(o *Options) { o.ReportsAPI = "example.com" },
		"--report-interval":          func(o *Options) { o.ReportInterval = time.Millisecond },
		"--background-scan-interval": func(o *Options) { o.ScanInterval = time.Second },
		"--workers":                  func(o *Options) { o.Workers = -1 },
		"--allowed-results":          func(o *Options) { o.AllowedResults = []string{"fail", "failed"} },
		"--events-per-policy":        func(o *Options) { o.EventsPerPolicy = 1000 },
		"--exclude-kinds":            func(o *Options) { o.ExcludeKinds = []string{"Pod/exec"} },
		"--leader-elect-namespace":   func(o *Options) { o.LeaderElectNamespace = "a.b" },
		"--shards":                   func(o *Options) { o.Shards, o.LeaderElect = 2, false },
		"--metrics-policy-series":    func(o *Options) { o.MetricsPolicySeries = -1 },
		"--metrics-bind-address":     func(o *Options) { o.MetricsBindAddress = "8080" },
	} {
		options := NewOptions()
		change(options)
		if errs := options.Validate(); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), flag+": ") {
			t.Errorf("%s: %v", flag, errs)
		}
	}
	for want, change := range map[string]func(*Options){
		"--webhook-url: \"http://localhost\" is not like https://": func(o *Options) { o.WebhookURL = "http://localhost" },
		"--webhook-url: give https://host:port, without user":      func(o *Options) { o.WebhookURL = "http://me:secret@localhost" },
		"--webhook-inject-from: \"x\" is not the NAMESPACE/NAME":   func(o *Options) { o.WebhookInjectFrom = "x" },
		"--admission-exclude-users: \"*\" would exclude":           func(o *Options) { o.AdmissionExcludeUsers = []string{"*"} },
		"--webhook-timeout: 1m0s":                                  func(o *Options) { o.WebhookTimeout = time.Minute },
		"--webhook-client-names: says nothing without":             func(o *Options) { o.Admission, o.WebhookClientNames = true, []string{"a"} },
		"--webhook-service: is required":                           func(o *Options) { o.Admission, o.WebhookService = true, "" },
		"--webhook-service: is required to register":               func(o *Options) { o.Admission, o.WebhookService, o.WebhookCertDir = true, "", "/certificates" },
	} {
		options := NewOptions()
		change(options)
		if errs := options.Validate(); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) || strings.Contains(errs[0].Error(), "secret") {
			t.Errorf("%v, want %q", errs, want)
		}
	}
	none := NewOptions()
	none.AllowedResults = nil
	if errs := none.Validate(); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "--allowed-results: ") {
		t.Errorf("no results at all: %v", errs)
	}
	never := NewOptions()
	never.ScanInterval, never.MetricsBindAddress = 0, "0"
	if errs := never.Validate(); len(errs) != 0 || never.serves() {
		t.Errorf("0 does not switch off: %v", errs)
	}
}

// TestSpellingOfTheDesignDocument: the flag has the name of Kyverno's document, too.
func TestSpellingOfTheDesignDocument(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"split-policy-report", "splitPolicyReport"} {
		options := NewOptions()
		sections := options.Flags()
		if err := sections.FlagSet("reports").Set(name, "false"); err != nil || options.Split {
			t.Errorf("--%s=false: %v, split %t", name, err, options.Split)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := testkit.Must(newHealth(ctx, "127.0.0.1:0", nil))(t)
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx) }()
	want := func(path string, code int, text string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != code || !strings.Contains(string(body), text) {
			t.Errorf("%s: %d %.200s %v, want %d %s", path, answer.StatusCode, body, err, code, text)
		}
	}
	want("/healthz", http.StatusOK, "ok")
	want("/readyz", http.StatusServiceUnavailable, "starting")
	h.setReady(func() error { return errors.New("not yet") })
	want("/readyz", http.StatusServiceUnavailable, "not yet")
	h.setReady(func() error { return nil })
	want("/readyz", http.StatusOK, "ok")
	want("/readyz/scan", http.StatusOK, "ok") // A replica that does not lead.
	h.setScanned(func() error { return errors.New("the first scan") })
	want("/readyz/scan", http.StatusServiceUnavailable, "the first scan")
	want("/readyz", http.StatusOK, "ok")
	want("/metrics", http.StatusOK, "go_goroutines")
	if _, err := newHealth(ctx, h.listener.Addr().String(), nil); err == nil || !strings.Contains(err.Error(), "--metrics-bind-address") {
		t.Errorf("an address in use: %v", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestMetricsConnectionsAreBounded: in the process of a webhook that fails closed, nobody can fill the other port.
func TestMetricsConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	h := testkit.Must(newHealth(t.Context(), "127.0.0.1:0", nil))(t)
	if s := h.server; s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("the server keeps clients without end: %+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx) }()
	testkit.Crowd(t, h.listener.Addr().String(), connections.MostOfPeer+1, 4*time.Second)
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("default").Get(context.WithoutCancel(t.Context()), leaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Fatalf("lease: %v %v", lease, err)
	}
	return *lease.Spec.HolderIdentity
}

// TestLeaseIsHeldUntilTheLeaderHasEnded: the next one finds all that it wrote.
func TestLeaseIsHeldUntilTheLeaderHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLeaseIsHeld)
}

func testLeaseIsHeld(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	led := false
	err := elect(ctx, client, "default", 1, func(leading context.Context, _ shard.Set) error {
		cancel()
		<-leading.Done()
		if !errors.Is(context.Cause(leading), shard.ErrEnding) {
			t.Errorf("the cause of the end is %v", context.Cause(leading))
		}
		if holder(t, client) == "" {
			t.Error("the lease was given back while the leader worked")
		}
		led = true
		return nil
	})
	if err != nil || !led {
		t.Errorf("led: %v, error: %v", led, err)
	}
	if got := holder(t, client); got != "" {
		t.Errorf("the lease is still held by %q", got)
	}
}

func TestLeaderThatFailsEnds(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	broken := errors.New("broken")
	if err := elect(t.Context(), client, "default", 1, func(context.Context, shard.Set) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error: %v", err)
	}
	if got := holder(t, client); got != "" {
		t.Errorf("the lease is still held by %q", got)
	}
}

// TestLostLease: the leader's context ends, and not as if the process did.
func TestLostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLostLease)
}

func testLostLease(t *testing.T) {
	client := fake.NewClientset()
	var away atomic.Bool
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the cluster is away")
	})
	err := elect(t.Context(), client, "default", 1, func(leading context.Context, _ shard.Set) error {
		away.Store(true)
		<-leading.Done()
		if errors.Is(context.Cause(leading), shard.ErrEnding) {
			t.Error("a lost lease looks like the end of the process")
		}
		return nil
	})
	if !errors.Is(err, shard.ErrLost) {
		t.Errorf("error: %v", err)
	}
}

// TestStandbyEnds: a replica that never leads ends with its context.
func TestStandbyEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testStandbyEnds)
}

func testStandbyEnds(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("somebody else leads")
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := elect(ctx, client, "default", 1, func(context.Context, shard.Set) error {
		t.Error("leads without a lease")
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestLeaseNamespaceIsAskedForOutsideOfAPod(t *testing.T) {
	t.Parallel()
	if _, err := podNamespace("leader-elect-namespace", ""); err == nil || !strings.Contains(err.Error(), "--leader-elect-namespace") {
		t.Errorf("error: %v", err)
	}
	if got, err := podNamespace("leader-elect-namespace", "a"); err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}
}
