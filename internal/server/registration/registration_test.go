// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/testutil"
	testclock "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/registration"
)

const (
	group    = "wgpolicyk8s.io"
	ours     = "v1alpha2"
	interval = time.Minute
)

// cluster is as much of an API server as discovery of one group needs.
type cluster struct {
	mu sync.Mutex
	// versions of the group, in their order; empty for a group that does not exist.
	versions []string
	// resources by version; a version without any doesn't answer.
	resources map[string][]string
	// docket is whether our version is answered by a server of reports.
	docket bool
	// more are other versions that a server of reports answers.
	more []string
	// away answers all with 503.
	away bool
	// rounds is how often the group was asked for.
	rounds int
}

func (c *cluster) set(change func(*cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *cluster) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rounds
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := strings.Trim(strings.TrimPrefix(r.URL.Path, "/apis/"+group), "/")
	if version == "" {
		c.rounds++
	}
	switch {
	case c.away:
		http.Error(w, "starting", http.StatusServiceUnavailable)
	case version == "" && len(c.versions) == 0, version != "" && !slices.Contains(c.versions, version):
		http.NotFound(w, r)
	case version == "":
		var answer metav1.APIGroup
		for _, v := range c.versions {
			answer.Versions = append(answer.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + v, Version: v})
		}
		write(w, answer)
	case c.resources[version] == nil:
		http.Error(w, "no endpoints", http.StatusServiceUnavailable)
	default:
		c.version(w, r, version)
	}
}

func (c *cluster) version(w http.ResponseWriter, r *http.Request, version string) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		list := metav1.APIResourceList{GroupVersion: group + "/" + version}
		for _, name := range c.resources[version] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		write(w, list)
	})
	if c.docket {
		registration.Mark(answer, served(append(c.more, ours)...)).ServeHTTP(w, r)
		return
	}
	answer.ServeHTTP(w, r)
}

func write(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// checked is a checker that runs, and a clock that only the test moves.
type checked struct {
	*registration.Checker

	cluster *cluster
	clock   *testclock.FakeClock
}

func start(t *testing.T, c *cluster) *checked {
	t.Helper()
	return startWith(t, c, registration.Config{Served: served(ours)})
}

// served returns versions of the group that a server has.
func served(versions ...string) func() []registration.Served {
	return func() (all []registration.Served) {
		for _, version := range versions {
			all = append(all, registration.Served{
				GroupVersion: schema.GroupVersion{Group: group, Version: version}, Resources: []string{"policyreports", "clusterpolicyreports"},
			})
		}
		return all
	}
}

func startWith(t *testing.T, c *cluster, config registration.Config) *checked {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	config.Cluster, config.Interval, config.Clock = &rest.Config{Host: server.URL}, interval, clock
	checker := testkit.Must(registration.New(config))(t)
	testkit.Run(t, "the checker", checker.Run)
	return &checked{Checker: checker, cluster: c, clock: clock}
}

// round lets the checker look once more, and returns when it has.
func (c *checked) round(t *testing.T) {
	t.Helper()
	before := c.cluster.asked()
	testkit.Eventually(t, "the checker waits", c.clock.HasWaiters)
	c.clock.Step(2 * interval)
	testkit.Eventually(t, "the checker looked", func() bool { return c.cluster.asked() > before && c.clock.HasWaiters() })
}

func (c *checked) status(t *testing.T) registration.Status {
	t.Helper()
	all := c.Statuses()
	if len(all) != 1 {
		t.Fatalf("%d statuses, want 1", len(all))
	}
	return all[0]
}

func (c *checked) reasons(t *testing.T) []registration.Reason {
	t.Helper()
	found := []registration.Reason{}
	for _, problem := range c.status(t).Problems {
		found = append(found, problem.Reason)
	}
	return found
}

// TestReasons: each state of a cluster has its own reason, which names the remedy.
func TestReasons(t *testing.T) {
	t.Parallel()
	reports := []string{"policyreports", "policyreports/status", "clusterpolicyreports"}
	for name, test := range map[string]struct {
		cluster *cluster
		want    []registration.Reason
		message string // part of the first one
	}{
		"alone": {cluster: &cluster{versions: []string{ours}, resources: map[string][]string{ours: reports}, docket: true}},
		"another version comes first": {
			cluster: &cluster{versions: []string{"v1beta1", ours}, resources: map[string][]string{ours: reports, "v1beta1": {"policyreports"}}, docket: true},
			want:    []registration.Reason{registration.Outranked}, message: "policyreports of wgpolicyk8s.io/v1beta1 come before wgpolicyk8s.io/v1alpha2",
		},
		"other versions come later": {
			cluster: &cluster{versions: []string{ours, "v1beta1", "v1alpha1"}, resources: map[string][]string{ours: reports, "v1beta1": {"policyreports"}, "v1alpha1": {"policyreports"}}, docket: true},
			want:    []registration.Reason{registration.OtherVersion}, message: "policyreports of wgpolicyk8s.io/v1beta1, policyreports of wgpolicyk8s.io/v1alpha1 are other objects",
		},
		"before and after": {
			cluster: &cluster{versions: []string{"v1", ours, "v1alpha1"}, resources: map[string][]string{ours: reports, "v1": {"policyreports"}, "v1alpha1": {"clusterpolicyreports"}}, docket: true},
			want:    []registration.Reason{registration.Outranked, registration.OtherVersion}, message: "v1alpha2.wgpolicyk8s.io",
		},
		"first, with other resources": {
			cluster: &cluster{versions: []string{"v1", ours}, resources: map[string][]string{ours: reports, "v1": {"exceptions"}}, docket: true},
		},
		"first, and silent": {
			cluster: &cluster{versions: []string{"v1", ours}, resources: map[string][]string{ours: reports}, docket: true},
			want:    []registration.Reason{registration.Outranked}, message: "policyreports of wgpolicyk8s.io/v1",
		},
		"a CRD answers": {
			cluster: &cluster{versions: []string{ours}, resources: map[string][]string{ours: reports}},
			want:    []registration.Reason{registration.Elsewhere}, message: "apply APIService v1alpha2.wgpolicyk8s.io",
		},
		"a CRD answers, and has more": {
			cluster: &cluster{versions: []string{ours}, resources: map[string][]string{ours: append(reports, "exceptions", "exceptions/status", "waivers")}},
			want:    []registration.Reason{registration.MissingKind, registration.Elsewhere},
			message: "the cluster has exceptions, waivers in wgpolicyk8s.io/v1alpha2, which this server does not have",
		},
		"no such group":   {cluster: &cluster{}, want: []registration.Reason{registration.NotRegistered}, message: "create APIService v1alpha2.wgpolicyk8s.io"},
		"no such version": {cluster: &cluster{versions: []string{"v1"}}, want: []registration.Reason{registration.NotRegistered}},
		"no endpoints": {
			cluster: &cluster{versions: []string{ours}},
			want:    []registration.Reason{registration.Unavailable}, message: "503",
		},
		"the cluster is away": {cluster: &cluster{away: true}, want: []registration.Reason{registration.Unknown}, message: "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, test.cluster)
			c.round(t)
			if c.status(t).Known {
				t.Error("one look is enough to be sure")
			}
			c.round(t)
			if diff := cmp.Diff(test.want, c.reasons(t), cmp.Transformer("", func(r []registration.Reason) []registration.Reason { return append([]registration.Reason{}, r...) })); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if problems := c.status(t).Problems; len(problems) > 0 && !strings.Contains(problems[0].Message, test.message) {
				t.Errorf("the message is %q, want %q in it", problems[0].Message, test.message)
			}
			if !c.status(t).Known {
				t.Error("nothing is known after two looks")
			}
		})
	}
}

// TestSeveralVersions: a server's own versions are no rivals, each has a status, and what is no longer served has none.
// As TestShown, it runs before the parallel ones continue.
func TestSeveralVersions(t *testing.T) {
	registration.RegisterMetrics()
	reports := []string{"policyreports"}
	state := &cluster{versions: []string{"v1", ours}, resources: map[string][]string{ours: reports, "v1": reports}, docket: true, more: []string{"v1"}}
	var now atomic.Pointer[[]string]
	now.Store(&[]string{"v1", ours})
	c := startWith(t, state, registration.Config{Served: func() []registration.Served { return served(*now.Load()...)() }})
	check := func(what string, want map[string][]registration.Reason, elsewhere float64) {
		t.Helper()
		c.round(t)
		c.round(t)
		got := map[string][]registration.Reason{}
		for _, status := range c.Statuses() {
			got[status.Version] = nil
			for _, problem := range status.Problems {
				got[status.Version] = append(got[status.Version], problem.Reason)
			}
		}
		testkit.NoDiff(t, cmp.Diff(want, got), "%s (-want +got)", what)
		if value := testkit.Must(testutil.GetGaugeMetricValue(registration.Metric().WithLabelValues(group, "elsewhere")))(t); value != elsewhere {
			t.Errorf("%s: the metric says %v, want %v", what, value, elsewhere)
		}
	}
	check("both are ours", map[string][]registration.Reason{"v1": nil, ours: nil}, 0)
	state.set(func(c *cluster) { c.more = nil })
	check("a CRD answers v1", map[string][]registration.Reason{"v1": {registration.Elsewhere}, ours: nil}, 1)
	now.Store(&[]string{ours})
	check("v1 is no longer ours", map[string][]registration.Reason{ours: {registration.Outranked}}, 0)
}

// TestUnserved: a group version that the server doesn't serve must not be registered for a server of reports.
func TestUnserved(t *testing.T) {
	t.Parallel()
	reports := map[string][]string{ours: {"policyreports"}}
	for name, test := range map[string]struct {
		cluster *cluster
		want    registration.Reason // of the one problem; none if empty
		message string
	}{
		"not registered":          {cluster: &cluster{}},
		"another version":         {cluster: &cluster{versions: []string{"v1"}}},
		"a CRD answers":           {cluster: &cluster{versions: []string{ours}, resources: reports}},
		"nobody answers":          {cluster: &cluster{versions: []string{ours}}, want: registration.NotServed, message: "its reports are in etcd. Delete the APIService"},
		"another replica answers": {cluster: &cluster{versions: []string{ours}, resources: reports, docket: true}, want: registration.NotServed, message: "has APIService v1alpha2.wgpolicyk8s.io"},
		"the cluster is away":     {cluster: &cluster{away: true}, want: registration.Unknown, message: "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startWith(t, test.cluster, registration.Config{Served: served(), Unserved: []registration.Unserved{{
				GroupVersion: schema.GroupVersion{Group: group, Version: ours}, Why: "its reports are in etcd",
			}}})
			c.round(t)
			c.round(t)
			status := c.status(t)
			if status.Served || !status.Known {
				t.Errorf("status %+v, want it known and not served", status)
			}
			var want []registration.Reason
			if test.want != "" {
				want = append(want, test.want)
			}
			if got := c.reasons(t); !slices.Equal(got, want) {
				t.Fatalf("reasons %v, want %v", got, want)
			}
			if len(want) > 0 && !strings.Contains(status.Problems[0].Message, test.message) {
				t.Errorf("the message is %q, want %q in it", status.Problems[0].Message, test.message)
			}
		})
	}
}

// TestChanges: what one look sees, and the next doesn't, is no change; what two see is.
func TestChanges(t *testing.T) {
	t.Parallel()
	resources := map[string][]string{ours: {"policyreports"}, "v1beta1": {"policyreports"}}
	c := start(t, &cluster{versions: []string{ours}, resources: resources, docket: true})
	c.round(t)
	c.round(t)
	first := c.status(t).Since
	c.cluster.set(func(c *cluster) { c.away = true })
	c.round(t)
	c.cluster.set(func(c *cluster) { c.away = false })
	c.round(t)
	if got := c.reasons(t); len(got) != 0 {
		t.Errorf("after a moment without an answer: %v", got)
	}
	c.cluster.set(func(c *cluster) { c.versions = []string{"v1beta1", ours} })
	c.round(t)
	c.round(t)
	outranked := c.status(t)
	testkit.NoDiff(t, cmp.Diff([]registration.Reason{registration.Outranked}, c.reasons(t)), "outranked (-want +got)")
	if !outranked.Since.After(first.Time) {
		t.Errorf("since %s, the state before is since %s", outranked.Since, first)
	}
	c.round(t)
	if since := c.status(t).Since; since != outranked.Since {
		t.Errorf("nothing has changed, but since %s and not %s", since, outranked.Since)
	}
}

// TestShown: the path and the metric say the same. The metric belongs to the process, so this test
// runs before the parallel ones continue.
func TestShown(t *testing.T) {
	registration.RegisterMetrics()
	c := start(t, &cluster{versions: []string{"v1beta1", ours}, resources: map[string][]string{ours: {"policyreports"}, "v1beta1": {"policyreports"}}, docket: true})
	c.round(t)
	c.round(t)
	response := httptest.NewRecorder()
	c.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, registration.Path, http.NoBody))
	var shown struct{ Groups []registration.Status }
	testkit.NoError(t, json.Unmarshal(response.Body.Bytes(), &shown))
	if len(shown.Groups) != 1 || len(shown.Groups[0].Problems) != 1 || shown.Groups[0].Problems[0].Reason != registration.Outranked {
		t.Errorf("%s shows %+v", registration.Path, shown)
	}
	response = httptest.NewRecorder()
	c.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodPost, registration.Path, http.NoBody))
	if response.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d", response.Code)
	}
	for reason, want := range map[string]float64{"outranked": 1, "not_registered": 0, "elsewhere": 0} {
		labels := map[string]string{"group": group, "reason": reason}
		got, err := testutil.GetGaugeMetricValue(registration.Metric().With(labels))
		if err != nil || got != want {
			t.Errorf("the metric of %s is %v (%v), want %v", reason, got, err, want)
		}
	}
}
