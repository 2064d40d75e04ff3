// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv/tlsclients"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	bootstrapNamespace = "docket-system"
	bootstrapHost      = "docket.docket-system.svc"
	bootstrapPatience  = 2 * time.Minute
)

// bootstrapped is a cluster in which an administrator follows docs/operate/bootstrap.md.
type bootstrapped struct {
	*harness.Cluster
	kubectl *harness.Kubectl
	replica *harness.Replica
	folder  string
}

func (b *bootstrapped) path(name string) string { return filepath.Join(b.folder, name) }

// TestBootstrap registers a server with only the output of `docket bootstrap`,
// replaces its certificate, and removes everything by the same List.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	b := newBootstrapped(t)
	list := b.list(t, "ca.crt")
	b.kubectl.RunInput(t, list, "create", "-f", "-")
	b.kubectl.RunInput(t, list, "apply", "-f", "-") // Adds the annotation that apply works with.
	for line := range strings.Lines(b.kubectl.RunInput(t, list, "apply", "-f", "-")) {
		if !strings.HasSuffix(line, " unchanged\n") {
			t.Errorf("the same List again: %s", line)
		}
	}
	b.serveAsItself(t)

	t.Run("reports", b.testReports)
	t.Run("roles", b.testRoles)
	t.Run("endpoint", b.testEndpoint)
	t.Run("rotation", b.testRotation)
	t.Run("other clients", b.testOtherClients)
	t.Run("removal", func(t *testing.T) { b.testRemoval(t, list) })
}

// TestBootstrapBesideCRDs: where CRDs of the groups are installed, kube-apiserver has
// made APIServices itself. The List takes them over, and they stay so whatever happens
// to the CRDs. Without them kube-apiserver serves the group again.
func TestBootstrapBesideCRDs(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	b := newBootstrapped(t)
	b.kubectl.RunInput(t, reportCRD, "create", "-f", "-")
	b.waitForService(t, "")

	b.kubectl.RunInput(t, b.list(t, "ca.crt"), "apply", "-f", "-")
	b.serveAsItself(t)
	b.createReport(t, "in-docket")
	// Each of these makes kube-apiserver look at its APIService again.
	for _, change := range [][]string{
		{"label", "crd", "policyreports.wgpolicyk8s.io", "looked=at"},
		{"delete", "crd", "policyreports.wgpolicyk8s.io"},
	} {
		b.kubectl.Run(t, change...)
		b.waitForService(t, "docket")
		b.WaitAvailable(t)
		if got := b.kubectl.Run(t, "get", "policyreports", "--namespace", "default", "-o", "name"); got != "policyreport.wgpolicyk8s.io/in-docket\n" {
			t.Errorf("after kubectl %s the reports are %q", change[0], got)
		}
	}
	b.kubectl.RunInput(t, reportCRD, "create", "-f", "-")
	b.kubectl.Run(t, "wait", "--for=condition=Established", "crd/policyreports.wgpolicyk8s.io")
	b.waitForService(t, "docket")
	b.createReport(t, "after-the-crd")

	b.kubectl.RunInput(t, b.list(t, "ca.crt"), "delete", "--ignore-not-found", "-f", "-")
	b.waitForService(t, "") // The way back: the cluster serves the group itself.
	b.createReport(t, "in-etcd")
	if got := b.kubectl.Run(t, "get", "policyreports", "--namespace", "default", "-o", "name"); got != "policyreport.wgpolicyk8s.io/in-etcd\n" {
		t.Errorf("without Docket the reports are %q", got)
	}
}

// reportCRD is as much of the definition as kube-apiserver needs to serve the group.
const reportCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"policyreports.wgpolicyk8s.io","annotations":{"api-approved.kubernetes.io":"unapproved, a test"}},
"spec":{"group":"wgpolicyk8s.io","scope":"Namespaced","names":{"kind":"PolicyReport","plural":"policyreports"},
"versions":[{"name":"v1alpha2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// waitForService waits until the APIService of the reports points to the Service of the
// given name, or to kube-apiserver itself if that is "".
func (b *bootstrapped) waitForService(t *testing.T, want string) {
	t.Helper()
	waitSettled(t, 100*time.Millisecond, func() string {
		result := b.kubectl.Try(t, "", "get", "apiservice", "v1alpha2.wgpolicyk8s.io", "-o", "jsonpath={.spec.service.name}")
		if got := result.Stdout + result.Stderr; result.Code != 0 || got != want {
			return fmt.Sprintf("the APIService points to %q, want %q", got, want)
		}
		return ""
	})
}

// newBootstrapped starts a cluster and makes a certificate for a server in it, with further flags.
func newBootstrapped(t *testing.T, flags ...string) *bootstrapped {
	t.Helper()
	return newBootstrappedIn(t, harness.StartCluster(t), flags...)
}

// newBootstrappedIn makes a certificate for a server in a cluster, with further flags.
func newBootstrappedIn(t *testing.T, c *harness.Cluster, flags ...string) *bootstrapped {
	t.Helper()
	b := &bootstrapped{Cluster: c, folder: t.TempDir()}
	b.kubectl = b.Kubectl(t, "") // Objects of a List are in several namespaces.
	// The harness's own certificate stays for its probes; kube-apiserver gets the one
	// for the name that it asks for.
	b.replica = b.NewReplica(t, append([]string{
		"--kubeconfig", b.path("kubeconfig"),
		"--tls-sni-cert-key", b.path("tls.crt") + "," + b.path("tls.key"), "--bootstrap-ca-file", b.path("ca.crt"),
	}, flags...)...)
	b.docket(t, "bootstrap", "certificate", "--ca-file", b.path("ca.crt"), "--out", b.path("secret.yaml"))
	return b
}

// docket runs the command and returns what it prints.
func (b *bootstrapped) docket(t *testing.T, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bootstrapPatience)
	defer cancel()
	command := exec.CommandContext(ctx, harness.Docket(t), arguments...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("docket %s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return string(output)
}

// list returns the List with the authorities of a file, for the replica's port: there
// is no network here that would translate the Service's.
func (b *bootstrapped) list(t *testing.T, caFile string) string {
	t.Helper()
	return b.docket(t, "bootstrap", "--ca-file", b.path(caFile), "--create-namespace", "--https-port", strconv.Itoa(b.replica.Port))
}

// mount writes the Secret to files as a kubelet does.
func (b *bootstrapped) mount(t *testing.T) {
	t.Helper()
	secret := testkit.Must(b.Client(t).CoreV1().Secrets(bootstrapNamespace).Get(t.Context(), "docket-tls", metav1.GetOptions{}))(t)
	for _, name := range []string{"tls.crt", "tls.key"} {
		testkit.NoError(t, os.WriteFile(b.path(name), secret.Data[name], 0o600))
	}
}

// serveAsItself starts the server with its certificate and the token of its
// ServiceAccount, and points the Service to it.
func (b *bootstrapped) serveAsItself(t *testing.T) {
	t.Helper()
	b.kubectl.Run(t, "apply", "-f", b.path("secret.yaml"))
	b.mount(t)
	token := strings.TrimSpace(b.kubectl.Run(t, "create", "token", "docket", "--namespace", bootstrapNamespace))
	kubeconfig := testkit.Must(os.ReadFile(b.KubeconfigOf(t, "docket", token)))(t)
	testkit.NoError(t, os.WriteFile(b.path("kubeconfig"), kubeconfig, 0o600))
	b.replica.Start(t)
	b.kubectl.Run(t, "patch", "service", "docket", "--namespace", bootstrapNamespace, "--type=merge", "-p", `{"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	b.WaitAvailable(t)
}

// testReports: its rights are all that the server needs, and no more.
func (b *bootstrapped) testReports(t *testing.T) {
	b.createReport(t, "first")
	for line := range strings.Lines(b.replica.Metrics(t)) {
		if strings.HasPrefix(line, "docket_apiserver_unmet_requirement{") {
			t.Errorf("the ServiceAccount lacks rights: %s", line)
		}
	}
	docket := b.kubectl.As("system:serviceaccount:"+bootstrapNamespace+":docket", "system:serviceaccounts")
	for _, denied := range [][]string{
		{"create", "apiservices"}, {"update", "apiservices"}, {"create", "clusterrolebindings"}, {"escalate", "clusterroles"},
		{"get", "secrets"}, {"list", "policyreports.wgpolicyk8s.io", "-A"}, {"create", "policyreports.wgpolicyk8s.io"}, {"get", "/bootstrap/wgpolicyk8s.io"},
	} {
		if got := docket.Try(t, "", append([]string{"auth", "can-i"}, denied...)...); strings.TrimSpace(got.Stdout) != "no" {
			t.Errorf("the server may %s: %q %s", strings.Join(denied, " "), got.Stdout, got.Stderr)
		}
	}
}

func (b *bootstrapped) createReport(t *testing.T, name string) {
	t.Helper()
	b.kubectl.RunInput(t, `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"`+name+`"}}`,
		"create", "--namespace", "default", "-f", "-")
}

// testRoles: users with the role view may read reports; nobody may write by default, and producers
// may when they are bound.
func (b *bootstrapped) testRoles(t *testing.T) {
	b.kubectl.Run(t, "create", "rolebinding", "reader", "--namespace", "default", "--clusterrole=view", "--user=reader")
	b.kubectl.Run(t, "create", "clusterrolebinding", "writer", "--clusterrole=docket:reports-writer", "--user=writer")
	for _, test := range []struct{ user, verb, resource, want string }{
		{"reader", "list", "policyreports.wgpolicyk8s.io", "yes"},
		{"reader", "watch", "reports.openreports.io", "yes"},
		{"reader", "create", "policyreports.wgpolicyk8s.io", "no"},
		{"reader", "list", "ephemeralreports.reports.kyverno.io", "no"},
		{"writer", "create", "reports.openreports.io", "yes"},
		{"writer", "deletecollection", "policyreports.wgpolicyk8s.io", "yes"},
		{"stranger", "list", "policyreports.wgpolicyk8s.io", "no"},
	} {
		// Aggregated roles are made by a controller.
		waitSettled(t, 100*time.Millisecond, func() string {
			got := b.kubectl.As(test.user).Try(t, "", "auth", "can-i", "--namespace", "default", test.verb, test.resource)
			if strings.TrimSpace(got.Stdout) == test.want {
				return ""
			}
			return fmt.Sprintf("may %s %s %s: %q, want %s\n%s", test.user, test.verb, test.resource, got.Stdout, test.want, got.Stderr)
		})
	}
}

// testEndpoint: it shows what the command prints, to those whom the cluster lets.
func (b *bootstrapped) testEndpoint(t *testing.T) {
	const path = "/bootstrap/wgpolicyk8s.io"
	get := func(config *rest.Config) (string, error) {
		client := testkit.Must(kubernetes.NewForConfig(config))(t)
		body, err := client.Discovery().RESTClient().Get().AbsPath(path).Param("https-port", "8443").
			SetHeader("Accept", "*/*").DoRaw(t.Context())
		return string(body), err
	}
	want := b.docket(t, "bootstrap", "wgpolicyk8s.io", "--ca-file", b.path("ca.crt"), "--https-port", "8443")
	if got, err := get(b.replica.RESTConfig()); err != nil || got != want {
		t.Errorf("the endpoint differs from the command: %v\n%s\nwant\n%s", err, got, want)
	}
	anonymous := rest.AnonymousClientConfig(b.replica.RESTConfig())
	if got, err := get(anonymous); !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("anybody gets it: %v\n%s", err, got)
	}
	reader := b.replica.RESTConfig()
	reader.Impersonate = rest.ImpersonationConfig{UserName: "reader", Groups: []string{"system:authenticated"}}
	if got, err := get(reader); !apierrors.IsForbidden(err) {
		t.Errorf("a reader of reports gets it: %v\n%s", err, got)
	}
}

// testRotation: while a certificate replaces another, every request is answered.
func (b *bootstrapped) testRotation(t *testing.T) {
	old := testkit.Must(os.ReadFile(b.path("ca.crt")))(t)
	before := b.serial(t)
	b.docket(t, "bootstrap", "certificate", "--ca-file", b.path("ca.crt"), "--out", b.path("secret.yaml"))
	b.applyList(t, "ca.crt") // Both authorities, before the Secret.
	b.createReport(t, "old-certificate")
	b.kubectl.Run(t, "apply", "-f", b.path("secret.yaml"))
	b.mount(t)
	waitUntil(t, "the server takes the new certificate", func() bool { return b.serial(t) != before })
	b.createReport(t, "new-certificate")

	// The new authority alone: had the old one vouched for it, this would show.
	both := testkit.Must(os.ReadFile(b.path("ca.crt")))(t)
	testkit.NoError(t, os.WriteFile(b.path("new.crt"), bytes.TrimPrefix(both, old), 0o600))
	b.applyList(t, "new.crt")
	b.WaitAvailable(t)
	b.createReport(t, "new-authority")
}

// testOtherClients: OpenSSL, GnuTLS and Java accept the certificate, with one authority and with two.
func (b *bootstrapped) testOtherClients(t *testing.T) {
	for _, name := range []string{"ca.crt", "new.crt"} {
		for _, host := range []string{bootstrapHost, "localhost"} {
			url := "https://" + net.JoinHostPort(host, strconv.Itoa(b.replica.Port)) + "/readyz"
			tlsclients.Check(t, tlsclients.Server{URL: url, CAFile: b.path(name)}, "ok")
		}
	}
}

// applyList applies the APIServices of a List with the authorities of a file, and
// leaves the Service as the test has it.
func (b *bootstrapped) applyList(t *testing.T, caFile string) {
	t.Helper()
	b.kubectl.RunInput(t, b.list(t, caFile), "apply", "-l", "app.kubernetes.io/component=registration", "-f", "-")
}

// serial returns the number of the certificate that kube-apiserver is shown.
func (b *bootstrapped) serial(t *testing.T) string {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{ServerName: bootstrapHost, InsecureSkipVerify: true}} // Looked at, not trusted.
	connection := testkit.Must(dialer.DialContext(t.Context(), "tcp", b.replica.Addr()))(t)
	defer func() { _ = connection.Close() }() // Nothing was written.
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// testRemoval: the List that created everything removes everything.
func (b *bootstrapped) testRemoval(t *testing.T, list string) {
	b.kubectl.RunInput(t, list, "delete", "--ignore-not-found", "-f", "-")
	if versions := b.kubectl.Run(t, "api-versions"); strings.Contains(versions, "wgpolicyk8s.io") {
		t.Errorf("the cluster still serves reports:\n%s", versions)
	}
	resources := b.kubectl.Run(t, "api-resources", "--verbs=list", "-o", "name")
	left := b.kubectl.Run(t, "get", strings.Join(strings.Fields(resources), ","), "--all-namespaces", "--ignore-not-found",
		"-o", "name", "-l", "app.kubernetes.io/name=docket")
	if left != "" {
		t.Errorf("left behind:\n%s", left)
	}
	b.kubectl.Refused(t, "", []string{"not found"}, "get", "namespace", bootstrapNamespace)
}
