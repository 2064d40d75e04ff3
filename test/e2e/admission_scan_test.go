// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/workload"
)

const (
	scannedPods = 4000
	// floodRate is how many requests a second kube-apiserver gets, whether or not it has answered others.
	floodRate = 100
	// floodTimeout is the webhook's timeout. kube-apiserver refuses requests that are not answered in that time.
	floodTimeout = 3 * time.Second
)

// TestAdmissionDuringScan: while thousands of pods are scanned for the first time, requests are answered in time and
// rightly, the scan ends, and what was found at admission is reported, too.
func TestAdmissionDuringScan(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	for i := range workload.Namespaces {
		c.cluster.EnsureNamespace(t, workload.Namespace(i))
	}
	testkit.NoError(t, workload.CreatePods(t.Context(), c.cluster.Client(t), scannedPods))
	c.cluster.EnsureNamespace(t, "strict")
	c.cluster.EnsureNamespace(t, "owned")
	admitting(t, c, "--webhook-timeout="+floodTimeout.String())
	c.kubectl.RunInput(t, enforcedLabel("labels")+admissionOnly("owners", "owned"), "apply", "-f", "-")
	c.waitRegistered(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}}")
	probes := 0
	waitUntil(t, "admission is reported", func() bool {
		probes++
		c.kubectl.RunInput(t, ownedMap(fmt.Sprintf("probe-%d", probes), "admin"), "create", "-f", "-")
		return len(c.results(t, "owned")) > 0
	})

	f := &requestFlood{t: t, client: c.cluster.Client(t)}
	idle := f.during(func() { time.Sleep(8 * time.Second) }) //nolint:forbidigo // It is measured for that long.
	begun := time.Now()
	scanning := f.during(func() {
		c.kubectl.RunInput(t, workload.PodSecurity(t), "apply", "-f", "-")
		waitUntil(t, "the scan is complete", func() bool {
			return c.soFar(t, "docket_controller_results") >= scannedPods*workload.RulesPerPod && c.soFar(t, "docket_controller_scan_queue") == 0
		})
	})
	took := time.Since(begun).Round(100 * time.Millisecond)
	t.Logf("without a scan: %s", idle)
	t.Logf("during a scan of %d pods, complete after %v: %s", scannedPods, took, scanning)

	want := map[string]string{}
	for i := range probes {
		want[fmt.Sprintf("probe-%d", i+1)] = "pass"
	}
	for _, name := range f.made {
		want[name] = "pass"
	}
	var owned map[string]string
	waitUntil(t, "all requests are reported", func() bool {
		owned = c.results(t, "owned")
		return len(owned) >= len(want)
	})
	wantSameResults(t, "of requests", owned, owners(want))
	waitUntil(t, "everything is written", func() bool { return c.quiet(t) })
	wantPodResults(t, c)
}

// wantPodResults wants each rule once for each pod.
func wantPodResults(t *testing.T, c *controlled) {
	t.Helper()
	outcomes := map[string]int{}
	for i := range workload.Namespaces {
		for key, outcome := range c.results(t, workload.Namespace(i)) {
			if outcomes[outcome]++; outcome != "pass" && outcome != "fail" {
				t.Errorf("%s: %s", key, outcome)
			}
		}
	}
	if total := outcomes["pass"] + outcomes["fail"]; total != scannedPods*workload.RulesPerPod {
		t.Errorf("%d results of pods, want %d: %v", total, scannedPods*workload.RulesPerPod, outcomes)
	}
}

// requestFlood sends requests that the webhook must allow, with a result, and others that it must deny, in turn.
type requestFlood struct {
	t      *testing.T
	client kubernetes.Interface
	sent   int

	mu   sync.Mutex // guards what follows
	made []string
	seen floodAnswers
}

// floodAnswers are how long right answers took, and how many requests the webhook had no place for, which it says at
// once: the machine may be busy with other tests.
type floodAnswers struct {
	times   []time.Duration
	refused int
}

func (a floodAnswers) String() string {
	slices.Sort(a.times)
	at := func(q float64) time.Duration {
		return a.times[min(int(q*float64(len(a.times))), len(a.times)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d requests were answered, p50 %v, p99 %v, longest %v; %d were refused", len(a.times), at(0.5), at(0.99), at(1), a.refused)
}

// during sends requests until do returns.
func (f *requestFlood) during(do func()) floodAnswers {
	f.t.Helper()
	f.seen = floodAnswers{}
	done := make(chan struct{})
	group, ctx := errgroup.WithContext(f.t.Context())
	group.Go(func() error {
		ticker := time.NewTicker(time.Second / floodRate)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
				f.sent++
				n := f.sent
				group.Go(func() error { return f.ask(ctx, n) })
			}
		}
	})
	do()
	close(done)
	if err := group.Wait(); err != nil {
		f.t.Fatal(err)
	}
	if len(f.seen.times) == 0 {
		f.t.Fatalf("no request was answered, %d were refused", f.seen.refused)
	}
	return f.seen
}

// ask makes the n-th request. A wrong answer is an error, and so is none: kube-apiserver says that the webhook took
// too long.
func (f *requestFlood) ask(ctx context.Context, n int) error {
	namespace, data := "owned", map[string]string{"owner": "admin"}
	if n%2 == 1 {
		namespace, data = "strict", nil
	}
	name := fmt.Sprintf("flood-%d", n)
	begun := time.Now()
	_, err := f.client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	took := time.Since(begun)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch text := fmt.Sprint(err); {
	case strings.Contains(text, "failed to call webhook: the server is currently unable to handle the request"):
		f.seen.refused++
		return nil
	case namespace == "owned" && err == nil:
		f.made = append(f.made, name)
	case namespace == "strict" && strings.Contains(text, "label team is required"):
	default:
		return fmt.Errorf("request %d in namespace %s got a wrong answer after %v: %s", n, namespace, took, text)
	}
	f.seen.times = append(f.seen.times, took)
	return nil
}
