// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestAdmissionOfCallersWithCertificate does what docs/controller/admission.md says of who may ask: kube-apiserver
// shows a certificate, and nobody else gets in.
func TestAdmissionOfCallersWithCertificate(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	folder, port := t.TempDir(), testenv.FreePort(t)
	authority := testkit.Must(certificate.NewAuthority("webhook-callers", time.Now(), time.Hour))(t)
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	issue := func(name string) *certificate.Pair {
		pair := testkit.Must(certificate.NewClient(authority, name, time.Now(), time.Hour))(t)
		write(name+".crt", string(pair.CertificatePEM))
		write(name+".key", string(pair.KeyPEM))
		return pair
	}
	issue("kube-apiserver-webhooks")
	other := issue("somebody")
	kubeconfig := write("webhooks.kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
users:
  - name: 127.0.0.1:%d
    user:
      client-certificate: kube-apiserver-webhooks.crt
      client-key: kube-apiserver-webhooks.key
`, port))
	admission := write("admission.yaml", fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionWebhook
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: WebhookAdmissionConfiguration
      kubeConfigFile: %s
`, kubeconfig))
	cluster := harness.StartCluster(t, harness.APIServerArguments("--admission-control-config-file="+admission))
	cluster.Register(t, cluster.Serve(t).Port)
	c := startControlledOn(t, cluster)
	c.kubectl = cluster.Kubectl(t, "")
	address := fmt.Sprintf("127.0.0.1:%d", port)
	admitting(t, c, "--webhook-bind-address="+address, "--webhook-url=https://"+address,
		"--webhook-client-ca-file="+write("callers.crt", string(authority.CertificatePEM)), "--webhook-client-names=kube-apiserver-webhooks")
	cluster.EnsureNamespace(t, "strict")
	c.kubectl.RunInput(t, enforcedLabel("labels"), "apply", "-f", "-")
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}}"
	c.waitRegistered(t, bad)
	c.kubectl.Refused(t, bad, []string{"label team is required"}, "create", "-f", "-")
	c.kubectl.RunInput(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: strict, labels: {team: a}}}", "create", "-f", "-")

	for name, certificates := range map[string][]tls.Certificate{"nothing": nil, "another name": {keyPair(t, other)}} {
		if err := ask(t, address, certificates); err == nil || !strings.Contains(err.Error(), "remote error: tls") {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

func keyPair(t *testing.T, pair *certificate.Pair) tls.Certificate {
	t.Helper()
	return testkit.Must(tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM))(t)
}

// ask sends a request to a webhook as any caller could.
func ask(t *testing.T, address string, certificates []tls.Certificate) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/validate/fail", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
