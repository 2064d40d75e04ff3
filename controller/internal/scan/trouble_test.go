// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestForbiddenKind: what is known of it stays, other kinds are evaluated, and an Event says what
// is missing. Once it may be listed, it is as all others.
func TestForbiddenKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "forbidden")
	w.configMap(t, "forbidden", "a")
	secret := w.create(t, secrets, object("v1", "Secret", "forbidden", "a"))
	w.policy(t, "forbidden", spec{Targets: targets("ConfigMap", "Secret"), Rules: asking("team")})
	r, told := newRunning(), &events{}
	stale := policy.ReferenceTo(secret)
	stale.Name, stale.UID = "stale", "1"
	r.results.load(clusterPolicy("forbidden"), policy.ReferenceTo(secret), "has-team=pass")
	r.results.load(clusterPolicy("forbidden"), stale, "has-team=pass")
	gone := stale
	gone.Kind = "ConfigMap"
	r.results.load(clusterPolicy("forbidden"), gone, "has-team=pass")
	allowed := atomic.Bool{}
	r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !allowed.Load() && strings.HasSuffix(request.URL.Path, "/secrets") {
			return forbidden(request), nil
		}
		return next.RoundTrip(request)
	})
	w.start(t, r, func(c *scan.Config) { c.Recorder = told })
	r.rest(t)
	const configMaps, prefix = "ClusterPolicy/forbidden ConfigMap/forbidden/", "ClusterPolicy/forbidden Secret/forbidden/"
	r.want(t, configMaps, configMaps+"a has-team=fail")
	r.want(t, prefix, prefix+"a has-team=pass", prefix+"stale has-team=pass")
	if got := told.with("ClusterPolicy/forbidden "); len(got) != 1 || !strings.Contains(got[0], `apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"]`) {
		t.Errorf("Events: %q", got)
	}
	allowed.Store(true)
	r.want(t, prefix, prefix+"a has-team=fail")
	r.want(t, configMaps, configMaps+"a has-team=fail")
}

// TestForbiddenPolicies: results of policies that can't be listed stay.
func TestForbiddenPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "unseen")
	configMap := w.create(t, configMaps, object("v1", "ConfigMap", "unseen", "a"))
	w.policy(t, "unseen", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	twin := policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "unseen", Name: "twin"}
	r.results.load(twin, policy.ReferenceTo(configMap), "has-team=pass")
	r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, "/policies") {
			return forbidden(request), nil
		}
		return next.RoundTrip(request)
	})
	w.start(t, r)
	r.rest(t)
	r.want(t, "Policy/unseen/twin", "Policy/unseen/twin ConfigMap/unseen/a has-team=pass")
	r.want(t, "ClusterPolicy/unseen ConfigMap/unseen/", "ClusterPolicy/unseen ConfigMap/unseen/a has-team=fail")
}

// TestServerAway: nothing is removed while it is, and what happened meanwhile is seen
// afterwards.
func TestServerAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "away")
	for _, name := range []string{"changed", "deleted", "same"} {
		w.configMap(t, "away", name)
	}
	w.policy(t, "away", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	door := newDoor(t, w.config.Host)
	r.via = rest.CopyConfig(w.config)
	r.via.Host = "https://" + door.listener.Addr().String()
	w.start(t, r)
	r.rest(t)
	const prefix = "ClusterPolicy/away ConfigMap/away/"
	before := []string{prefix + "changed has-team=fail", prefix + "deleted has-team=fail", prefix + "same has-team=fail"}
	r.want(t, prefix, before...)
	r.compiler.reset()
	door.set(true)
	w.update(t, configMaps, "away", "changed", func(o *unstructured.Unstructured) { setLabels(o, "team") })
	w.remove(t, configMaps, "away", "deleted")
	w.configMap(t, "away", "new")
	testkit.Settles(t, func() string {
		if door.refusals() < 10 {
			return "discovery and watches don't try again"
		}
		return ""
	})
	if got := r.results.lines(prefix); !slices.Equal(got, before) {
		t.Errorf("results while the server was away: %q", got)
	}
	door.set(false)
	r.want(t, prefix, prefix+"changed has-team=pass", prefix+"new has-team=fail", prefix+"same has-team=fail")
	if n := r.compiler.count("ClusterPolicy/away", "ConfigMap/away/same"); n != 0 {
		t.Errorf("what did not change was evaluated %d times", n)
	}
	if err := r.scanner.Ready(); err != nil {
		t.Error(err)
	}
}

// TestServerAwayAtStart: the scan begins when it is there.
func TestServerAwayAtStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "late")
	configMap := w.create(t, configMaps, object("v1", "ConfigMap", "late", "a"))
	w.policy(t, "late", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	r.results.load(clusterPolicy("late"), policy.ReferenceTo(configMap), "has-team=pass")
	up, asked := atomic.Bool{}, atomic.Int64{}
	r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !up.Load() {
			asked.Add(1)
			return nil, syscall.ECONNREFUSED
		}
		return next.RoundTrip(request)
	})
	w.start(t, r)
	testkit.Settles(t, func() string {
		if asked.Load() < 3 {
			return "it is not asked again"
		}
		return ""
	})
	if err := r.scanner.Ready(); err == nil {
		t.Error("ready without a server")
	}
	r.want(t, "ClusterPolicy/late ConfigMap/late/", "ClusterPolicy/late ConfigMap/late/a has-team=pass")
	up.Store(true)
	r.want(t, "ClusterPolicy/late ConfigMap/late/", "ClusterPolicy/late ConfigMap/late/a has-team=fail")
}

// TestEndInMidScan: it ends between two evaluations, whatever waits, without a trace. Not
// parallel, because it looks at the goroutines of the process.
func TestEndInMidScan(t *testing.T) {
	w := newWorld(t)
	w.namespace(t, "ending")
	for _, name := range numbered("a", 200) {
		w.configMap(t, "ending", name)
	}
	w.policy(t, "ending", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("server away %v", away), func(t *testing.T) {
			r := newRunning()
			r.compiler.hold, r.compiler.heldPolicy = make(chan struct{}), "ending"
			refuse := atomic.Bool{}
			r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				if refuse.Load() && strings.HasSuffix(request.URL.Path, "/pods") {
					return nil, syscall.ECONNREFUSED
				}
				return next.RoundTrip(request)
			})
			refuse.Store(away)
			if away { // The kind that never answers doesn't hold up the end.
				w.policy(t, "ending-away", spec{Targets: targets("Pod"), Rules: asking("team")})
			}
			pprof.Do(context.WithoutCancel(t.Context()), pprof.Labels("scan", t.Name()), func(context.Context) { w.start(t, r) })
			for range 10 {
				r.compiler.release(t)
			}
			ended := make(chan struct{})
			go func() {
				r.stop()
				close(ended)
			}()
			testkit.Receive(t, "the end, which waits for nothing", ended)
			if n := r.compiler.count("ClusterPolicy/ending", "ConfigMap/"); n > 10 {
				t.Errorf("%d evaluations, of which 10 were let through", n)
			}
			testkit.Settles(t, func() string { return leftGoroutines(t.Name()) })
		})
	}
}

// leftGoroutines returns the goroutines with a label, without those of HTTP connections, which
// live as long as the client.
func leftGoroutines(label string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var left []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, `"scan":"`+label+`"`) && !strings.Contains(stack, "net/http") && !strings.Contains(stack, "leftGoroutines") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// TestFreshEventsFirst: a new resource does not wait for the scan that is going on.
func TestFreshEventsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "fresh")
	const many = 300
	for _, name := range numbered("a", many) {
		w.configMap(t, "fresh", name)
	}
	w.policy(t, "fresh", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	r.compiler.hold, r.compiler.heldPolicy = make(chan struct{}), "fresh"
	w.start(t, r, func(c *scan.Config) { c.Workers = 1 })
	r.compiler.release(t)
	w.configMap(t, "fresh", "new")
	testkit.Settles(t, func() string {
		if !r.scanner.WaitsUrgently(configMaps, "fresh", "new") {
			return "the new one is not urgent"
		}
		return ""
	})
	for r.compiler.count("ClusterPolicy/fresh", "ConfigMap/fresh/new") == 0 {
		r.compiler.release(t)
	}
	// One came before, one was under way, and one may have been next. Other tests have urgent ones, too, after many
	// of which comes one that isn't.
	if n := r.compiler.count("ClusterPolicy/fresh", "ConfigMap/fresh/a"); n > 10 {
		t.Errorf("the new one came after %d of %d", n, many)
	}
}
