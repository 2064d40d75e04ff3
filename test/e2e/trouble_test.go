// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestCRDsInstalledBefore: Docket takes over from the published CRDs. The cluster's
// OpenAPI and discovery stay whole, with the CRDs and without them.
func TestCRDsInstalledBefore(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	c.InstallCRDs(t)
	c.EnsureNamespace(t, "a")
	r := policyReports(t, c, "a")
	r.create(t, "in-etcd")
	replica := c.Serve(t)
	c.Register(t, replica.Port)
	waitStored(t, c, r, replica, "first")
	wantWholeAPI(t, c, withReports)
	// As `kubectl apply` of a new release of the CRDs does.
	c.Kubectl(t, "default").Run(t, "patch", "crd", "policyreports.wgpolicyk8s.io", "--type=json",
		`-p=[{"op":"add","path":"/spec/names/categories","value":["reports"]}]`)
	waitStored(t, c, r, replica, "second")
	wantWholeAPI(t, c, withReports)

	// kube-aggregator v0.36.3 asks for the OpenAPI of an APIService only if that
	// pointed to a Service when it was created. Thus it has our part from the CRDs as
	// long as they are there, then not; docs/operate/migrate.md tells the remedy, which
	// follows. The rest, discovery included, is whole all the time.
	c.RemoveCRDs(t)
	waitStored(t, c, r, replica, "third")
	wantWholeAPI(t, c, withoutReports)
	c.Unregister(t)
	c.Register(t, replica.Port)
	wantWholeAPI(t, c, withReports)
}

// TestCRDsInstalledLater: somebody installs the CRDs after Docket, and removes them.
func TestCRDsInstalledLater(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	c.EnsureNamespace(t, "a")
	r := policyReports(t, c, "a")
	replica := c.Serve(t)
	c.Register(t, replica.Port)
	wantWholeAPI(t, c, withReports)
	c.InstallCRDs(t)
	waitStored(t, c, r, replica, "first")
	wantWholeAPI(t, c, withReports)
	c.RemoveCRDs(t)
	waitStored(t, c, r, replica, "second")
	wantWholeAPI(t, c, withReports)
}

// waitStored returns when a report that is written through the cluster is in Docket.
func waitStored(t *testing.T, c *harness.Cluster, r reports, replica *harness.Replica, name string) {
	t.Helper()
	c.WaitAvailable(t)
	r.create(t, name)
	if err := replica.Client(t).Get().AbsPath("/apis/wgpolicyk8s.io/v1alpha2/namespaces/a/policyreports/" + name).Do(t.Context()).Error(); err != nil {
		t.Errorf("a report that was created through the cluster is not in Docket: %v", err)
	}
}

// openAPI is whether the cluster's OpenAPI has a part about reports.
type openAPI bool

const (
	withReports    openAPI = true
	withoutReports openAPI = false
)

// openAPITimeout is how long kube-aggregator may take to have all parts of the OpenAPI: it asks for each once a minute.
const openAPITimeout = 5 * time.Minute

// wantWholeAPI checks what all clients of the cluster depend on.
func wantWholeAPI(t *testing.T, c *harness.Cluster, reports openAPI) {
	t.Helper()
	k := c.Kubectl(t, "default")
	waitSettledWithin(t, openAPITimeout, time.Second, func() string { return apiProblem(t, k, reports) })
}

func apiProblem(t *testing.T, k *harness.Kubectl, reports openAPI) string {
	t.Helper()
	want := map[string][]string{"/openapi/v2": {"/apis/apps/v1/deployments"}, "/openapi/v3": {"apis/apps/v1"}}
	if reports {
		want["/openapi/v2"] = append(want["/openapi/v2"], "/apis/wgpolicyk8s.io/v1alpha2/policyreports", "/apis/openreports.io/v1alpha1/reports")
		want["/openapi/v3"] = append(want["/openapi/v3"], "apis/wgpolicyk8s.io/v1alpha2", "apis/reports.kyverno.io/v1")
		if explained := k.Try(t, "", "explain", "policyreports.results.severity"); explained.Code != 0 {
			return "kubectl explain: " + explained.Stderr
		}
	}
	for path, texts := range want {
		result := k.Try(t, "", "get", "--raw", path)
		if result.Code != 0 {
			return path + ": " + result.Stderr
		}
		for _, text := range texts {
			if !strings.Contains(result.Stdout, text) {
				return fmt.Sprintf("%s has no %s", path, text)
			}
		}
	}
	resources := k.Try(t, "", "api-resources", "--cached=false")
	if resources.Code != 0 {
		return "kubectl api-resources: " + resources.Stderr
	}
	for _, kind := range []string{"PolicyReport", "EphemeralReport", "ClusterReport", "Deployment"} {
		if n := strings.Count(resources.Stdout, " "+kind+"\n"); n != 1 {
			return fmt.Sprintf("kubectl api-resources shows %s %d times:\n%s", kind, n, resources.Stdout)
		}
	}
	return ""
}

// TestRegistrationMistakes: the APIService says what is wrong, and the rest of
// the cluster does not notice.
func TestRegistrationMistakes(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	replica := c.Serve(t)
	t.Run("wrong caBundle", func(t *testing.T) {
		c.RegisterWith(t, replica.Port, c.NewRotation(t).New())
		waitUnavailable(t, c, "certificate signed by unknown authority")
		wantRestOfCluster(t, c)
	})
	t.Run("nowhere", func(t *testing.T) {
		c.RegisterWith(t, testenv.FreePort(t), c.DocketAuthority())
		waitUnavailable(t, c, "connection refused")
		wantRestOfCluster(t, c)
	})
	t.Run("put right", func(t *testing.T) {
		c.Register(t, replica.Port)
		c.Kubectl(t, "default").Run(t, "get", "polr", "-A")
	})
}

func waitUnavailable(t *testing.T, c *harness.Cluster, want string) {
	t.Helper()
	waitSettled(t, 100*time.Millisecond, func() string {
		if said := c.Availability(t, "v1alpha2.wgpolicyk8s.io"); !strings.Contains(said, want) {
			return fmt.Sprintf("the APIService says %q, want %q", said, want)
		}
		return ""
	})
}

// wantRestOfCluster checks that what is not about reports works without an error.
func wantRestOfCluster(t *testing.T, c *harness.Cluster) {
	t.Helper()
	k := c.Kubectl(t, "default")
	k.Run(t, "get", "namespaces,configmaps,deployments.apps")
	k.Run(t, "create", "configmap", "unrelated", "--from-literal=a=b")
	k.Run(t, "delete", "configmap", "unrelated")
	result := k.Try(t, "", "get", "policyreports.v1alpha2.wgpolicyk8s.io")
	if result.Code == 0 || strings.Contains(result.Stderr, "NotFound") {
		t.Errorf("a server that can't be reached looks as if it were empty: code %d, %s", result.Code, result.Stderr)
	}
}

// TestDocketDown: the rest of the cluster does not notice, and the deletion of a
// namespace explains itself, then goes on.
func TestDocketDown(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	replica := c.Serve(t)
	c.Register(t, replica.Port)
	c.EnsureNamespace(t, "stuck")
	policyReports(t, c, "stuck").create(t, "a")
	replica.Kill(t)
	waitUnavailable(t, c, "connection refused")
	wantRestOfCluster(t, c)
	deleteNamespace(t, c, "stuck")
	waitNamespaceSays(t, c, "stuck", corev1.NamespaceDeletionDiscoveryFailure, "wgpolicyk8s.io/v1alpha2")
	replica.Start(t)
	c.WaitAvailable(t)
	waitNamespaceGone(t, c, "stuck")
}

// TestWhoMayDoWhat: the cluster's RBAC decides, and nobody can pretend to be the
// cluster's API server.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	c, replica := harness.SharedDocket(t)
	namespace := c.Namespace(t, "secrets")
	policyReports(t, c, namespace).create(t, "secret-finding")
	admin := c.Kubectl(t, namespace)
	t.Run("without rights", func(t *testing.T) {
		admin.As("mallory").Refused(t, "", []string{"Forbidden", `User "mallory" cannot list resource "policyreports"`}, "get", "polr")
	})
	t.Run("with rights in one namespace", func(t *testing.T) {
		admin.Run(t, "create", "role", "reader", "--verb=get,list,watch", "--resource=policyreports.wgpolicyk8s.io")
		admin.Run(t, "create", "rolebinding", "reader", "--role=reader", "--user=alice")
		alice := admin.As("alice")
		if got := alice.Run(t, "get", "polr", "-o", "name"); !strings.Contains(got, "secret-finding") {
			t.Errorf("a reader sees %q", got)
		}
		alice.Refused(t, "", []string{"Forbidden"}, "get", "polr", "--all-namespaces")
		alice.Refused(t, "", []string{"Forbidden"}, "delete", "polr", "secret-finding")
		if got := alice.Run(t, "auth", "can-i", "list", "policyreports.wgpolicyk8s.io"); !strings.Contains(got, "yes") {
			t.Errorf("kubectl auth can-i says %q to what works", got)
		}
	})
	t.Run("spoofed headers", func(t *testing.T) { testSpoofedHeaders(t, c, replica) })
}

// testSpoofedHeaders asks the replica directly, as if from the front proxy.
func testSpoofedHeaders(t *testing.T, c *harness.Cluster, replica *harness.Replica) {
	for name, test := range map[string]struct {
		certificate *tls.Certificate
		want        int
	}{
		"without a certificate":                     {nil, http.StatusForbidden}, // system:anonymous
		"with the certificate of a user":            {c.ClientCertificate(t, "mallory"), http.StatusForbidden},
		"with the front proxy's name, other signer": {c.ClientCertificate(t, "front-proxy-client"), http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			client := replica.HTTPClient(t, test.certificate)
			request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, replica.URL()+"/apis/wgpolicyk8s.io/v1alpha2/policyreports", nil))(t)
			request.Header.Set("X-Remote-User", "admin")
			request.Header.Set("X-Remote-Group", "system:masters")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body := testkit.Must(io.ReadAll(response.Body))(t)
			_ = response.Body.Close()
			if !slices.Contains([]int{test.want, http.StatusUnauthorized}, response.StatusCode) {
				t.Errorf("status %d, want %d: %s", response.StatusCode, test.want, body)
			}
			if strings.Contains(string(body), "secret-finding") || strings.Contains(string(body), `"admin"`) {
				t.Errorf("the headers were believed: %s", body)
			}
		})
	}
}

// TestBusyProducer writes as fast as the machine allows, up to 1,000 reports a second,
// while another client lists, watches and reads.
func TestBusyProducer(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.StartCluster(t)
	replica := c.Serve(t, "--database", testenv.Postgres(t).Database(t))
	c.Register(t, replica.Port)
	c.EnsureNamespace(t, "load")
	r := policyReports(t, c, "load")
	follower := startFollower(t, r)
	prober, stopProber := startProber(t, c)
	started := time.Now()
	ledger, stopLedger := startLedger(t, r, 16, time.Millisecond)
	ledger.waitFor(t, 5000)
	t.Logf("%.0f writes a second, each update with a get before it", 5000/time.Since(started).Seconds())
	stopLedger()
	stopProber()
	prober.check(t)
	ledger.check(t)
	follower.check(t, r)
}

// TestDatabaseAway stops PostgreSQL for 30 s under load, and is far away from it for
// another while: clients wait or see errors that they retry.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	database := testenv.NewPostgres(t)
	c := harness.StartCluster(t)
	replica := c.Serve(t, "--database", database.Database(t))
	c.Register(t, replica.Port)
	c.EnsureNamespace(t, "load")
	r := policyReports(t, c, "load")
	follower := startFollower(t, r)
	ledger, stopLedger := startLedger(t, r, 4, 20*time.Millisecond)
	ledger.waitFor(t, 100)
	database.Kill(t)
	away, cancel := context.WithTimeout(t.Context(), awayFor())
	defer cancel()
	waitRefused(away, t, r)
	<-away.Done()
	database.Start(t)
	ledger.waitFor(t, 100)
	stopLedger()
	ledger.check(t)
	follower.check(t, r)
	c.WaitAvailable(t)
}

// awayFor is how long the database is away.
func awayFor() time.Duration {
	if testing.Short() {
		return 5 * time.Second
	}
	return 30 * time.Second
}

// waitRefused wants reads to fail while the database is away: an empty or a short list
// would be a lie.
func waitRefused(ctx context.Context, t *testing.T, r reports) {
	t.Helper()
	for range 3 {
		list, err := r.List(ctx, metav1.ListOptions{})
		if err == nil {
			t.Errorf("a list of %d while the database is away", len(list.Items))
			return
		}
		if ctx.Err() == nil && !retriable(err) {
			t.Errorf("the database is away: got %v, want an error that clients retry", err)
		}
	}
}
