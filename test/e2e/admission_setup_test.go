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

// webhooks returns names and resources of what is registered.
func (c *controlled) webhooks(t *testing.T) string {
	t.Helper()
	return c.kubectl.Run(t, "get", "validatingwebhookconfiguration", "docket-controller", "-o", "jsonpath={range .webhooks[*]}{.name} {.timeoutSeconds} {.rules}{end}")
}

// TestAdmissionInstalledByHelm: the chart ships the configuration empty and the controller, which may not make one,
// fills it in. Upgrades of either kind leave that alone, one that brings it back has it filled in again, and an
// uninstall takes it away.
func TestAdmissionInstalledByHelm(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	const release = "installed"
	c := startControlledEverywhere(t)
	for _, namespace := range []string{release, "strict"} {
		c.cluster.EnsureNamespace(t, namespace)
	}
	chart := []string{"docket", deployFolder + "/chart", "--namespace", release}
	values := withSet([]string{
		"apiServices.create=false", "controller.enabled=true", "controller.crds.cachedContextEntries=false", "controller.admission.enabled=true",
	})
	upgrade := func(more ...string) {
		arguments := append(append([]string{"upgrade", "--install"}, chart...), values...)
		helm(t, c.cluster.Kubeconfig(), append(arguments, more...)...)
	}
	upgrade()
	if got := c.webhooks(t); got != "" {
		t.Fatalf("the chart registers %s", got)
	}
	token := strings.TrimSpace(c.cluster.Kubectl(t, release).Run(t, "create", "token", "docket-controller"))
	port := testenv.FreePort(t)
	c.controller = harness.RunController(t, c.cluster.KubeconfigOf(t, "docket-controller", token),
		"--leader-elect-namespace", release, "--admission", "--webhook-namespace", release,
		fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", port), fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port))
	c.kubectl.RunInput(t, enforcedLabel("helm-labels"), "apply", "-f", "-")
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}}"
	c.waitRegistered(t, bad)
	registered := c.webhooks(t)
	writes := c.controller.Metric(t, "docket_controller_webhook_configuration_writes_total", nil)

	for _, more := range [][]string{{"--set", "controller.logLevel=1"}, {"--server-side=false", "--set", "controller.logLevel=2"}, {"--set", "controller.logLevel=3"}} {
		upgrade(more...)
		if got := c.webhooks(t); got != registered {
			t.Errorf("helm upgrade %v makes %s of %s", more, got, registered)
		}
		c.kubectl.Refused(t, bad, []string{"label team is required"}, "create", "-f", "-")
	}
	if got := c.controller.Metric(t, "docket_controller_webhook_configuration_writes_total", nil); got != writes {
		t.Errorf("the controller has written %v times during upgrades", got-writes)
	}

	c.kubectl.Run(t, "delete", "validatingwebhookconfiguration", "docket-controller")
	waitUntil(t, "an Event says that it is missing", func() bool {
		return strings.Contains(c.kubectl.Run(t, "get", "events", "-A", "--field-selector", "reason=NotRegistered", "-o", "jsonpath={.items[*].message}"), "helm upgrade")
	})
	wantOutput(t, c.controller.Log(), "nobody is asked about requests and nothing is denied")
	c.kubectl.RunInput(t, bad, "create", "-f", "-")
	c.kubectl.RunInput(t, bad, "delete", "-f", "-")
	upgrade()
	c.waitRegistered(t, bad)

	for verb, want := range map[string]string{"create": "no", "update": "no", "update/docket-controller": "yes"} {
		verb, name, _ := strings.Cut(verb, "/")
		resource := strings.TrimSuffix("validatingwebhookconfigurations/"+name, "/")
		got := c.kubectl.Try(t, "", "auth", "can-i", verb, resource, "--as", "system:serviceaccount:"+release+":docket-controller").Stdout
		if strings.TrimSpace(got) != want {
			t.Errorf("the controller may %s %s: %s", verb, resource, got)
		}
	}
	helm(t, c.cluster.Kubeconfig(), "uninstall", "docket", "--namespace", release)
	waitUntil(t, "the configuration is gone", func() bool {
		return c.kubectl.Try(t, "", "get", "validatingwebhookconfiguration", "docket-controller").Code != 0
	})
	c.kubectl.RunInput(t, bad, "create", "-f", "-")
}

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
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/validate/fail", strings.NewReader("{}")))(t)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
