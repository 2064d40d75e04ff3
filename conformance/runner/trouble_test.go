// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// refuse answers requests that match with a Status.
func refuse(code int, reason, message string, match func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}) //nolint:errcheck // The client has gone.
		})
	}
}

func isPost(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+resource)
	}
}

func TestCantBegin(t *testing.T) {
	nobody := rest.CopyConfig(good(t))
	nobody.BearerToken, nobody.BearerTokenFile = "wrong", ""
	away := rest.CopyConfig(good(t))
	away.Host = "https://127.0.0.1:1"
	sample := []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}}
	check := makes("makes", nil)
	for _, test := range []struct {
		name    string
		options runner.Options
		want    []string
	}{
		{"no version", runner.Options{Config: good(t)}, []string{"GroupVersion is required"}},
		{"unknown version", runner.Options{Config: good(t), GroupVersion: schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v9"}}, []string{"does not have the group version wgpolicyk8s.io/v9", "it has ", "wgpolicyk8s.io/v1alpha2"}},
		{"unknown resource", runner.Options{Config: good(t), GroupVersion: reports, Resources: []string{"reports"}}, []string{`no resource "reports"`, "clusterpolicyreports, policyreports"}},
		{"unused sample", runner.Options{Config: good(t), GroupVersion: reports, Samples: sample}, []string{"sample of the kind Pod (v1)"}},
		{"unknown user", runner.Options{Config: nobody, GroupVersion: reports}, []string{"does not know the user", "401"}},
		{"no server", runner.Options{Config: away, GroupVersion: reports}, []string{"ask for the resources of wgpolicyk8s.io/v1alpha2", "connection refused"}},
		{"no namespace", runner.Options{Config: bad(t, refuse(http.StatusForbidden, "Forbidden", `namespaces is forbidden: User "x" cannot create resource "namespaces" in API group "" at the cluster scope`, isPost("namespaces"))), GroupVersion: reports}, []string{"no namespace can be made", "cannot create", "--namespace"}},
		{"namespaces denied", runner.Options{Config: bad(t, refuse(http.StatusBadRequest, "BadRequest", "no more namespaces", isPost("namespaces"))), GroupVersion: reports}, []string{"no namespace can be made", "no more namespaces"}},
		{"no core API", runner.Options{Config: bad(t, refuse(http.StatusNotFound, "NotFound", "not found", func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") })), GroupVersion: reports}, []string{"the server has no namespaces", "--namespace"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Checks = []runner.Check{check}
			_, err := runner.Run(t.Context(), test.options)
			if err == nil {
				t.Fatal("no error")
			}
			wantText(t, err.Error(), test.want...)
		})
	}
	wantNothingLeft(t)
}

// TestNotAllowed: checks are left out, and say why.
func TestNotAllowed(t *testing.T) {
	config := bad(t, refuse(http.StatusForbidden, "Forbidden", `policyreports is forbidden: User "x" cannot create resource "policyreports"`, isPost("policyreports")))
	report, err := run(t.Context(), config, makes("makes", nil), runner.Check{ID: "reads", PerResource: true, Verbs: []string{"list"}, Run: func(p *runner.Probe) {
		p.Send(runner.Get(p.Collection()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, report, map[string]runner.Outcome{"makes": runner.Skipped, "reads": runner.Passed})
	wantText(t, report.Results[0].Reason, `not allowed: `, `cannot create resource "policyreports"`)
	if report.Troubled() {
		t.Error("missing rights are taken for trouble")
	}
}

// TestRefusedObjects: a webhook or a rule that the schema does not have.
func TestRefusedObjects(t *testing.T) {
	config := bad(t, refuse(http.StatusBadRequest, "BadRequest", `admission webhook "no.example.com" denied the request: no`, isPost("policyreports")))
	report := testkit.Must(run(t.Context(), config, makes("makes", nil)))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"makes": runner.Skipped})
	wantText(t, report.Results[0].Reason, "no object of the resource could be made")
	if !report.Troubled() || len(report.Troubles) != 1 {
		t.Fatalf("troubles: %v", report.Troubles)
	}
	wantText(t, report.Troubles[0].Reason, "--sample")
	wantText(t, report.Troubles[0].Exchange.String(), "POST ", "/policyreports", "denied the request: no")
	wantNothingLeft(t)
}

// TestNotDeletable: an object that was made to try it, and can't be deleted, is reported.
func TestNotDeletable(t *testing.T) {
	config := bad(t, refuse(http.StatusBadRequest, "BadRequest", "nothing is deleted", func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/clusterpolicyreports/")
	}))
	options := runner.Options{Config: config, GroupVersion: reports, Resources: []string{"clusterpolicyreports"}, Checks: []runner.Check{makes("makes", nil)}}
	report := testkit.Must(runner.Run(t.Context(), options))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"makes": runner.Skipped})
	if len(report.Troubles) != 1 || len(report.Left) != 1 {
		t.Fatalf("troubles: %v, left: %q", report.Troubles, report.Left)
	}
	wantText(t, report.Troubles[0].Reason, "can't be deleted")
	wantText(t, report.Left[0], "clusterpolicyreports.wgpolicyk8s.io dc-")
	client := testkit.Must(dynamic.NewForConfig(good(t)))(t)
	_, name, _ := strings.Cut(report.Left[0], " ")
	if err := client.Resource(reports.WithResource("clusterpolicyreports")).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	wantNothingLeft(t)
}

// TestReadOnlyResource: a resource without create or list, as that of metrics.
func TestReadOnlyResource(t *testing.T) {
	config := bad(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/apis/wgpolicyk8s.io/v1alpha2" {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"wgpolicyk8s.io/v1alpha2","resources":[{"name":"policyreports","singularName":"policyreport","namespaced":true,"kind":"PolicyReport","verbs":["get"]}]}`)) //nolint:errcheck // The client has gone.
		})
	})
	report := testkit.Must(run(t.Context(), config, makes("makes", nil)))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"makes": runner.Skipped})
	wantText(t, report.Results[0].Reason, "the resource has no verb create")
	if report.Troubled() {
		t.Errorf("troubles: %v", report.Troubles)
	}
}

// hanging holds requests that match until they are given up.
func hanging(match func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// TestHangs: the time of a check is limited, and another check goes on.
func TestHangs(t *testing.T) {
	config := bad(t, hanging(func(r *http.Request) bool { return r.URL.Query().Get("limit") == "7" }))
	report := testkit.Must(runner.Run(t.Context(), runner.Options{
		Config: config, GroupVersion: reports, Resources: []string{"policyreports"}, Timeout: 10 * time.Second,
		Checks: []runner.Check{makes("hangs", func(p *runner.Probe) {
			p.Send(runner.Get(p.Collection(), "limit", "7"))
		}), makes("goes on", nil)},
	}))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"hangs": runner.Undecided, "goes on": runner.Passed})
	wantText(t, report.Results[0].Reason, "not finished after 10s", "limit=7")
	if len(report.Troubles) > 0 {
		t.Errorf("troubles: %v", report.Troubles)
	}
	wantNothingLeft(t)
}

// TestDies: a server that goes away ends the run, and not after the time of each check.
func TestDies(t *testing.T) {
	var dead atomic.Bool
	config := bad(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	checks := make([]runner.Check, 0, 100)
	for i := range 100 {
		checks = append(checks, makes("check"+string(rune('A'+i)), func(p *runner.Probe) {
			dead.Store(i == 50 || dead.Load())
			err := runner.Try(func() { p.Make() })
			if i == 50 { // What a check may make of a connection that ends.
				runner.Stop(&runner.Failure{Expected: "an end that is none"})
			}
			runner.StopOn(err)
		}))
	}
	report, err := runner.Run(t.Context(), runner.Options{Config: config, GroupVersion: reports, Resources: []string{"policyreports"}, Checks: checks, Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Troubles) != 1 || report.Count(runner.Passed) == 0 || report.Count(runner.Undecided) == 0 || report.Count(runner.Failed) > 0 {
		t.Errorf("%d passed, %d undecided, %d failed, troubles: %v", report.Count(runner.Passed), report.Count(runner.Undecided), report.Count(runner.Failed), report.Troubles)
	} else {
		wantText(t, report.Troubles[0].Reason, "the server has stopped answering")
	}
	// Nothing can be removed, and that is said.
	if !slices.ContainsFunc(report.Left, func(left string) bool { return strings.HasPrefix(left, "namespace docket-conformance-") }) {
		t.Errorf("left: %q", report.Left)
	}
	removeNamespaces(t)
}

// removeNamespaces does what the report tells people to do.
func removeNamespaces(t *testing.T) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(good(t)))(t)
	namespaces := client.Resource(core.WithResource("namespaces"))
	list := testkit.Must(namespaces.List(t.Context(), metav1.ListOptions{LabelSelector: runner.RunLabel}))(t)
	for _, item := range list.Items {
		testkit.NoError(t, namespaces.Delete(t.Context(), item.GetName(), metav1.DeleteOptions{}))
	}
}

// TestBusy: a server that asks to wait is waited for.
func TestBusy(t *testing.T) {
	var requests atomic.Int32
	config := bad(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("limit") == "7" && requests.Add(1) == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	report := testkit.Must(run(t.Context(), config, makes("busy", func(p *runner.Probe) {
		p.Send(runner.Get(p.Collection(), "limit", "7")).WantOK()
	})))(t)
	wantOutcomes(t, report, map[string]runner.Outcome{"busy": runner.Passed})
}

// TestShown: neither credentials nor the contents of Secrets are shown.
func TestShown(t *testing.T) {
	const content, password = "c2VjcmV0LW9mLXRoaXMtdGVzdA==", "password-of-this-test"
	token := good(t).BearerToken
	config := bad(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "session="+password)
			if _, _, ok := r.BasicAuth(); ok { // The client makes it of the address.
				r.Header.Set("Authorization", "Bearer "+token)
			}
			next.ServeHTTP(w, r)
		})
	})
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("me", password)
	config.Host = address.String()
	report, err := runner.Run(t.Context(), runner.Options{
		Config: config, GroupVersion: core, Resources: []string{"secrets"},
		Checks: []runner.Check{{ID: "identifies", Run: func(p *runner.Probe) {
			request := runner.Get("/version")
			for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
				request = request.With(name, password)
			}
			request.Anonymous = true
			response := p.Send(request)
			response.Fail("nothing")
		}}, makes("shows", func(p *runner.Probe) {
			object := p.New()
			object.Object["data"] = map[string]any{"key": content}
			p.Create(object)
			response := p.Send(runner.Get(p.Collection()))
			response.Fail("nothing")
		}), makes("sends", func(p *runner.Probe) {
			object := p.New()
			object.Object["data"], object.Object["unknown"] = map[string]any{"key": content}, "field"
			response := p.Send(runner.Post(p.Collection(), object, "fieldValidation", "Ignore"))
			response.Fail("nothing")
		}), makes("watches", func(p *runner.Probe) {
			stream := p.MustWatch(p.Collection())
			defer stream.Close()
			object := p.New()
			object.Object["data"] = map[string]any{"key": content}
			p.Create(object)
			for {
				event := runner.Must(stream.Next(p.Context))
				if event.Object.GetName() == object.GetName() {
					stream.Fail("nothing", "nothing")
				}
			}
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(runner.Failed) != 4 {
		t.Errorf("%d checks fail: %+v", report.Count(runner.Failed), report.Results)
	}
	if strings.Contains(report.Server, password) {
		t.Errorf("the address has the password: %s", report.Server)
	}
	for i := range report.Results {
		data := testkit.Must(json.Marshal(report.Results[i].Failure))(t)
		wantText(t, string(data), "(hidden)")
		for _, secret := range []string{content, good(t).BearerToken, password} {
			if secret != "" && strings.Contains(string(data), secret) {
				t.Errorf("%s shows %q", report.Results[i].Check.ID, secret)
			}
		}
	}
}
