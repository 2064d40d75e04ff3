// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/crddiff"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	shop = "shop" // the namespace with what is issued
	// shopCertificates are issued at first, killedCertificates while Docket is killed.
	shopCertificates, killedCertificates = 20, 10
	// certManagerPatience is for one step. kube-controller-manager may take half a minute to learn of new kinds.
	certManagerPatience = 3 * time.Minute
)

// certManagerKinds are all kinds of cert-manager's two groups.
func certManagerKinds() []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for group, resources := range map[string][]string{
		"cert-manager.io":      {"certificates", "certificaterequests", "issuers", "clusterissuers"},
		"acme.cert-manager.io": {"orders", "challenges"},
	} {
		for _, resource := range resources {
			all = append(all, schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource})
		}
	}
	return all
}

// TestProgramCertManager runs cert-manager's controllers on kinds of their own that Docket serves. After each step all
// objects are those that the same controllers leave with CRDs.
func TestProgramCertManager(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	acme := startACME(t)
	backings := []backing{onCRDs(), onSQLite()}
	found := onEach(t, backings, func(t *testing.T, b backing) map[string]map[string]any { return runCertManager(t, b, acme) })
	if found == nil {
		return
	}
	for i, b := range backings[1:] {
		for step, want := range found[0] {
			testkit.NoDiff(t, cmp.Diff(want, found[i+1][step]), "objects on %s after %s (-CRDs +Docket)", b.name, step)
		}
	}
}

// certManagerRun is cert-manager on one cluster.
type certManagerRun struct {
	t        *testing.T
	cluster  *harness.Cluster
	replica  *harness.Replica // nil where its kinds are custom resources
	kubectl  *harness.Kubectl
	client   dynamic.Interface
	operator *harness.Operator
	began    time.Time                 // of the step
	found    map[string]map[string]any // objects after each step
}

func runCertManager(t *testing.T, b backing, acme string) map[string]map[string]any {
	m := startCertManager(t, b)
	m.issue()
	m.refuse()
	m.renew()
	m.challenge(acme)
	m.remove()
	m.bound()
	m.kill()
	m.clear()
	return m.found
}

func startCertManager(t *testing.T, b backing) *certManagerRun {
	t.Helper()
	c := harness.StartCluster(t)
	m := &certManagerRun{t: t, cluster: c, kubectl: c.Kubectl(t, shop), began: time.Now(), found: map[string]map[string]any{}}
	definitions := harness.CertManagerCRDs(t)
	if b.serve == nil {
		c.Install(t, testkit.Must(crddiff.ReadDefinitions(nil, definitions))(t))
	} else {
		m.replica = c.Serve(t, "--custom-resources", definitions)
		c.Register(t, m.replica.Port, metav1.GroupVersion{Group: "cert-manager.io", Version: "v1"}, metav1.GroupVersion{Group: "acme.cert-manager.io", Version: "v1"})
	}
	config := c.RESTConfig(t)
	config.QPS = -1
	m.client = testkit.Must(dynamic.NewForConfig(config))(t)
	c.EnsureNamespace(t, shop)
	c.EnsureNamespace(t, "bounded")
	m.kubectl.Run(t, "create", "quota", "few", "--namespace=bounded", "--hard=count/certificates.cert-manager.io=2")
	m.operator = c.NewCertManager(t)
	m.operator.Start(t)
	return m
}

// issue has certificates issued by an authority that is issued itself.
func (m *certManagerRun) issue() {
	m.apply(newIssuer("ClusterIssuer", "self", "selfSigned: {}"), newCertificate("authority", "ClusterIssuer/self", "isCA: true, commonName: shop"),
		newIssuer("Issuer", "authority", "ca: {secretName: authority}"))
	m.applyCertificates("site", shopCertificates)
	m.after("issuing", shopCertificates+1, 0)
}

// refuse has what can't be issued, and what the schema refuses.
func (m *certManagerRun) refuse() {
	m.apply(newCertificate("orphan", "Issuer/nobody", `dnsNames: ["a.example.com"]`), newCertificate("odd", "Printer/self", `dnsNames: ["a.example.com"]`))
	m.refused("a bad certificate", newCertificate("bad", "Issuer/authority", `dnsNames: "a.example.com"`))
	m.after("invalid issuers", shopCertificates+1, 2)
}

// renew changes what certificates are made of while the controllers are away.
func (m *certManagerRun) renew() {
	names := []string{"site3", "site4"}
	revision := func(name string) int64 {
		c := testkit.Must(m.client.Resource(certificatesResource).Namespace(shop).Get(m.t.Context(), name, metav1.GetOptions{}))(m.t)
		n, _, _ := unstructured.NestedInt64(c.Object, "status", "revision")
		return n
	}
	before := map[string]int64{}
	for _, name := range names {
		before[name] = revision(name)
	}
	m.operator.Kill(m.t)
	m.kubectl.Run(m.t, "delete", "secret", names[0])
	m.kubectl.Run(m.t, "patch", "certificate", names[1], "--type=merge", "--patch", `{"spec":{"dnsNames":["site4.example.com","www.site4.example.com"]}}`)
	m.operator.Start(m.t)
	waitSettledWithin(m.t, certManagerPatience, time.Second/2, func() string {
		for _, name := range names {
			if revision(name) == before[name] {
				return name + " is not issued again"
			}
		}
		return ""
	})
	m.after("renewal", shopCertificates+1, 2)
}

// challenge has an order at a server, and a challenge that nobody can solve.
func (m *certManagerRun) challenge(acme string) {
	m.apply(newIssuer("Issuer", "acme", "acme: {server: "+acme+"/directory, privateKeySecretRef: {name: account}, solvers: [{http01: {ingress: {}}}]}"),
		newCertificate("public", "Issuer/acme", `ipAddresses: ["127.0.0.1"]`))
	waitSettledWithin(m.t, certManagerPatience, time.Second/2, func() string {
		for _, object := range m.list(challengesResource) {
			if reason, _, _ := unstructured.NestedString(object.Object, "status", "reason"); strings.Contains(reason, "self check") {
				return ""
			}
		}
		return "there is no challenge that is checked"
	})
	m.after("a challenge", shopCertificates+1, 3)
}

// remove leaves requests, orders and challenges to kube-controller-manager.
func (m *certManagerRun) remove() {
	deleted := []string{"site5", "public", "odd"}
	m.kubectl.Run(m.t, append([]string{"delete", "certificate"}, deleted...)...)
	waitSettledWithin(m.t, certManagerPatience, time.Second/2, func() string {
		left := len(m.list(ordersResource)) + len(m.list(challengesResource))
		for _, request := range m.list(requestsResource) {
			if certificate, _, _ := strings.Cut(request.GetName(), "-"); slices.Contains(deleted, certificate) {
				left++
			}
		}
		if left > 0 {
			return fmt.Sprintf("%d objects outlive their owners", left)
		}
		return ""
	})
	m.after("deletion", shopCertificates, 1)
}

// bound has more certificates than a quota allows.
func (m *certManagerRun) bound() {
	counted := func(n int) {
		m.kubectl.Run(m.t, "wait", fmt.Sprintf(`--for=jsonpath={.status.used.count/certificates\.cert-manager\.io}=%d`, n), "--timeout=60s", "--namespace=bounded", "resourcequota/few")
	}
	counted(0)
	few := func(n int) string {
		return newCertificate(fmt.Sprint("few", n), "ClusterIssuer/self", `dnsNames: ["few.example.com"]`)
	}
	m.kubectl.RunInput(m.t, few(0)+"\n---\n"+few(1), "create", "--namespace=bounded", "-f", "-")
	m.refused("a certificate too many", few(2), "--namespace=bounded")
	m.after("a quota", shopCertificates+2, 1)
	counted(2)
}

// kill ends Docket while certificates are issued.
func (m *certManagerRun) kill() {
	m.applyCertificates("late", killedCertificates)
	if m.replica != nil {
		waitUntil(m.t, "the first request", func() bool {
			for _, request := range m.list(requestsResource) {
				if strings.HasPrefix(request.GetName(), "late") {
					return true
				}
			}
			return false
		})
		m.replica.Kill(m.t)
		m.replica.Start(m.t)
	}
	m.after("kill -9", shopCertificates+2+killedCertificates, 1)
	if !m.operator.Alive() {
		m.t.Error("cert-manager has ended")
	}
}

// clear deletes the namespaces.
func (m *certManagerRun) clear() {
	if m.replica != nil {
		direct := testkit.Must(dynamic.NewForConfig(m.replica.RESTConfig()))(m.t)
		list := testkit.Must(direct.Resource(certificatesResource).List(m.t.Context(), metav1.ListOptions{}))(m.t)
		if want := shopCertificates + 3 + killedCertificates; len(list.Items) != want {
			m.t.Errorf("%d certificates are in Docket, want %d", len(list.Items), want)
		}
	}
	m.kubectl.Run(m.t, "delete", "namespace", shop, "bounded", "--timeout=3m")
	m.after("the end of the namespaces", 0, 0)
}
