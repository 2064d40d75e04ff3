// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// fakeCluster is as much of a kube-apiserver as a server asks at start and while
// it runs. All lists are empty; watches stay open and say nothing.
type fakeCluster struct {
	// served resources by group version; lists of others are 404.
	served map[string][]string
	// denied resources may not be listed or watched.
	denied []string
	// extra, if not nil, answers some requests first, and returns false for others.
	extra func(http.ResponseWriter, *http.Request) bool
	// failures is how many of the first requests fail.
	failures int

	mu sync.Mutex
	// seen are the paths that were asked for.
	seen []string
}

// newestCluster serves everything.
func newestCluster() *fakeCluster {
	return &fakeCluster{served: map[string][]string{
		"v1": {"namespaces", "resourcequotas"},
		"admissionregistration.k8s.io/v1": {
			"mutatingwebhookconfigurations", "validatingwebhookconfigurations",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings",
			"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
		},
		"flowcontrol.apiserver.k8s.io/v1": {"flowschemas", "prioritylevelconfigurations"},
	}}
}

func (c *fakeCluster) without(gv string, resources ...string) *fakeCluster {
	c.served[gv] = slices.DeleteFunc(c.served[gv], func(r string) bool { return slices.Contains(resources, r) })
	if len(c.served[gv]) == 0 {
		delete(c.served, gv)
	}
	return c
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.seen = append(c.seen, r.Method+" "+r.URL.Path)
	failing := c.failures > 0
	c.failures--
	c.mu.Unlock()
	if failing {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	if c.extra != nil && c.extra(w, r) {
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		c.review(w, r)
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		c.token(w, r)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		c.allow(w, r)
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		reply(w, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-uid"}})
	case strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/ns"):
		reply(w, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	case parts[0] == "api" && len(parts) == 2, parts[0] == "apis" && len(parts) == 3:
		c.discover(w, strings.Join(parts[1:], "/"))
	case parts[0] == "api" && len(parts) == 3:
		c.list(w, r, parts[1], parts[2])
	case parts[0] == "apis" && len(parts) == 4:
		c.list(w, r, parts[1]+"/"+parts[2], parts[3])
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		panic(err)
	}
}

// decode reads what a client sends, in whichever form it likes.
func decode(w http.ResponseWriter, r *http.Request, into runtime.Object) bool {
	data, err := io.ReadAll(r.Body)
	if err == nil {
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(data, nil, into)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func (c *fakeCluster) discover(w http.ResponseWriter, gv string) {
	resources, ok := c.served[gv]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
	for _, resource := range resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
	}
	reply(w, list)
}

func (c *fakeCluster) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	if !decode(w, r, &review) {
		return
	}
	asked := review.Spec.ResourceAttributes.Resource
	if sub := review.Spec.ResourceAttributes.Subresource; sub != "" {
		asked += "/" + sub
	}
	review.Status.Allowed = !slices.Contains(c.denied, asked)
	reply(w, review)
}

func (c *fakeCluster) token(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if !decode(w, r, &review) {
		return
	}
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: review.Spec.Token == testToken, User: authenticationv1.UserInfo{Username: "alice"}}
	reply(w, review)
}

func (c *fakeCluster) allow(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if !decode(w, r, &review) {
		return
	}
	review.Status.Allowed = review.Spec.User == "alice"
	reply(w, review)
}

func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request, gv, resource string) {
	switch {
	case !slices.Contains(c.served[gv], resource):
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Query().Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			kind, _ := schema.ParseGroupVersion(gv)
			_, _ = w.Write([]byte(`{"type":"BOOKMARK","object":{"kind":"` + kindOf(resource) + `","apiVersion":"` + kind.String() +
				`","metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"))
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		reply(w, map[string]any{"kind": kindOf(resource) + "List", "apiVersion": gv, "metadata": map[string]any{"resourceVersion": "5"}, "items": []any{}})
	}
}

func kindOf(resource string) string {
	return map[string]string{
		"namespaces": "Namespace", "resourcequotas": "ResourceQuota", "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
		"validatingwebhookconfigurations": "ValidatingWebhookConfiguration", "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
		"validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding", "mutatingadmissionpolicies": "MutatingAdmissionPolicy",
		"mutatingadmissionpolicybindings": "MutatingAdmissionPolicyBinding", "flowschemas": "FlowSchema",
		"prioritylevelconfigurations": "PriorityLevelConfiguration",
	}[resource]
}

// start serves the cluster and returns a kubeconfig file for it.
func (c *fakeCluster) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c"}},
		CurrentContext: "c",
	}
	testkit.NoError(t, clientcmd.WriteToFile(config, path))
	return path
}

// clusterOptions are options of a server that belongs to the cluster.
func clusterOptions(t *testing.T, kubeconfig string) *apiserver.Options {
	t.Helper()
	options := apiserver.NewOptions()
	options.Storage.Database = databases()["sqlite"](t)
	options.CoreAPI.CoreAPIKubeconfigPath = kubeconfig
	options.SecureServing.BindPort = 0
	options.SecureServing.Listener = listenLoopback(t)
	options.Authentication.SkipInClusterLookup = true
	options.Server.ShutdownDelayDuration = 0
	options.Server.ShutdownSendRetryAfter = false
	return options
}

// TestAdmissionProbe: what the cluster does not serve or does not allow is left
// out, by name, and nothing else.
func TestAdmissionProbe(t *testing.T) {
	t.Parallel()
	const admission, flow = "admissionregistration.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1"
	tests := map[string]struct {
		cluster *fakeCluster
		change  func(*apiserver.Options)
		want    []apiserver.Unmet
		wantErr string
	}{
		"the newest cluster offers all": {cluster: newestCluster()},
		"before 1.36 there is no v1 of mutatingadmissionpolicies": {
			cluster: newestCluster().without(admission, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
			want: []apiserver.Unmet{{
				Part: "MutatingAdmissionPolicy", Reason: "the cluster does not serve mutatingadmissionpolicies in " + admission,
			}},
		},
		"too few rights on policies": {
			cluster: &fakeCluster{served: newestCluster().served, denied: []string{"mutatingadmissionpolicybindings", "validatingadmissionpolicies"}},
			want: []apiserver.Unmet{
				{Part: "ValidatingAdmissionPolicy", Reason: "this server may not list and watch validatingadmissionpolicies in " + admission},
				{Part: "MutatingAdmissionPolicy", Reason: "this server may not list and watch mutatingadmissionpolicybindings in " + admission},
			},
		},
		"no right to charge a quota": {
			cluster: &fakeCluster{served: newestCluster().served, denied: []string{"resourcequotas/status"}},
			want:    []apiserver.Unmet{{Part: "ResourceQuota", Reason: "this server may not update resourcequotas/status in v1"}},
		},
		"before 1.29 there is no v1 of flowschemas": {
			cluster: newestCluster().without(flow, "flowschemas", "prioritylevelconfigurations"),
			want:    []apiserver.Unmet{{Part: "PriorityAndFairness", Reason: "the cluster does not serve flowschemas in " + flow}},
		},
		"no rights on namespaces": {
			cluster: &fakeCluster{served: newestCluster().served, denied: []string{"namespaces"}},
			want: func() []apiserver.Unmet {
				var all []apiserver.Unmet
				for _, part := range []string{"NamespaceLifecycle", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
					all = append(all, apiserver.Unmet{Part: part, Reason: "this server may not list and watch namespaces in v1"})
				}
				return all
			}(),
		},
		"what is off is not asked for": {
			cluster: newestCluster().without(admission, "mutatingadmissionpolicies"),
			change: func(o *apiserver.Options) {
				o.Admission.DisablePlugins = []string{"MutatingAdmissionPolicy"}
			},
		},
		"what was asked for by name must work": {
			cluster: newestCluster().without(admission, "mutatingadmissionpolicies"),
			change: func(o *apiserver.Options) {
				o.Admission.EnablePlugins = []string{"MutatingAdmissionPolicy"}
			},
			wantErr: "--enable-admission-plugins: MutatingAdmissionPolicy",
		},
		"a cluster that is just starting": {cluster: &fakeCluster{served: newestCluster().served, failures: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := clusterOptions(t, test.cluster.start(t))
			if test.change != nil {
				test.change(options)
			}
			config, err := options.Complete().Config(t.Context())
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			testkit.NoDiff(t, cmp.Diff(test.want, config.Unmet), "left out (-want +got)")
			flowOff := slices.ContainsFunc(test.want, func(u apiserver.Unmet) bool { return u.Part == "PriorityAndFairness" })
			if (config.Generic.FlowControl == nil) != flowOff {
				t.Errorf("priority and fairness is on: %v", config.Generic.FlowControl != nil)
			}
		})
	}
}

// TestServeInCluster runs a server against a cluster that lacks a resource which an
// admission plugin would wait for: it must get ready, and writes must pass.
func TestServeInCluster(t *testing.T) {
	t.Parallel()
	cluster := newestCluster().without("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
	options := clusterOptions(t, cluster.start(t))
	options.Storage.Cluster = apiserver.ClusterAuto
	config := testkit.Must(options.Complete().Config(t.Context()))(t)
	if config.Database.Cluster != "cluster-uid" {
		t.Errorf("the cluster is called %q in the database, want the UID of kube-system", config.Database.Cluster)
	}
	completed := testkit.Must(config.Complete())(t)
	server := testkit.Must(completed.New(t.Context()))(t)
	s := runServer(t, server)
	mustCreate(t, s.reports("ns"), report("a", 1))

	stranger := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.config.Host+reportsPath("ns", "a"), nil))(t)
	stranger.Header.Set("Authorization", "Bearer not-the-token")
	response, err := anonymousClient(t, server).Do(stranger)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token that the cluster does not know: %s", response.Status)
	}
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	for _, path := range cluster.seen {
		if strings.Contains(path, "mutatingadmissionpolicies") || strings.Contains(path, "apiservices") ||
			strings.HasPrefix(path, http.MethodPut) || strings.HasPrefix(path, http.MethodDelete) ||
			strings.HasPrefix(path, http.MethodPost) && !strings.HasSuffix(path, "reviews") {
			t.Errorf("the server did %s: it must not watch what is not there, nor register anything", path)
		}
	}
}

// TestOutsideOfCluster: the error says what to do.
func TestOutsideOfCluster(t *testing.T) {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
	}
	options := clusterOptions(t, "")
	_, err := options.Complete().Config(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") || !strings.Contains(err.Error(), "docket up") {
		t.Errorf("got error %v, want one that names --kubeconfig and docket up", err)
	}
	options = clusterOptions(t, filepath.Join(t.TempDir(), "none"))
	if _, err = options.Complete().Config(t.Context()); err == nil || !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("got error %v, want one that names --kubeconfig", err)
	}
}

// TestProbeGivesUp: a cluster that never answers ends the start with a reason, within
// the time that the caller gives.
func TestProbeGivesUp(t *testing.T) {
	t.Parallel()
	cluster := &fakeCluster{served: newestCluster().served, failures: 1 << 30}
	ctx, cancel := context.WithCancel(t.Context())
	options := clusterOptions(t, cluster.start(t))
	done := make(chan error, 1)
	go func() {
		_, err := options.Complete().Config(ctx)
		done <- err
	}()
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "ask the cluster") {
		t.Errorf("got error %v, want one about asking the cluster", err)
	}
}
