// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
)

func newTestOptions(t *testing.T) *Options {
	t.Helper()
	o := testkit.Must(NewOptions())(t)
	o.Dir, o.Listen = filepath.Join(t.TempDir(), "state"), "127.0.0.1:0"
	return o
}

// TestValidate: each mistake is named with its flag.
func TestValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"--dir: is required":                                     func(o *Options) { o.Dir = "" },
		"--profile: \"x\" is unknown":                            func(o *Options) { o.Profile = "x" },
		"--reviews: \"x\" is unknown":                            func(o *Options) { o.Reviews = "x" },
		"--reviews: delegated is for":                            func(o *Options) { o.Reviews = reviewsDelegated },
		"--impersonate-groups: is required":                      func(o *Options) { o.Profile = ProfileImpersonate },
		"--impersonate-groups: \"*\" is not the name of a group": func(o *Options) { o.Profile, o.Groups = ProfileImpersonate, []string{"a", "*"} },
		"--impersonate-groups: \"system:masters\"":               func(o *Options) { o.Profile, o.Groups = ProfileImpersonate, []string{"system:masters"} },
		"--impersonate-groups: is for":                           func(o *Options) { o.Groups = []string{"a"} },
		"--client-ca-file: is for":                               func(o *Options) { o.Profile, o.ClientCAFile = ProfileToken, "ca.crt" },
		"--tls-cert-file, --tls-private-key-file":                func(o *Options) { o.CertFile = "tls.crt" },
		"--advertise: \"gateway\" is not an address":             func(o *Options) { o.Advertise = "gateway" },
		"--discovery-interval: 0s is too short":                  func(o *Options) { o.DiscoveryInterval = 0 },
		"--database: registrations are kept in":                  func(o *Options) { o.Database = "etcd://127.0.0.1:2379" },
		"--cluster: is empty":                                    func(o *Options) { o.Cluster = "" },
		"--services: open /nonexistent":                          func(o *Options) { o.Services = "/nonexistent" },
		"--apiservice: stat /nonexistent":                        func(o *Options) { o.Registrations = []string{"/nonexistent"} },
	} {
		o := newTestOptions(t)
		change(o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := newTestOptions(t).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

const manifestText = `# a comment
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1.new.example.com
  annotations:
    docket.dev/endpoint: https://127.0.0.1:1
spec:
  group: new.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {namespace: default, name: ext}
`

// TestReadRegistrations: what is wrong is named with file and field.
func TestReadRegistrations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, new, want string }{
		"another kind":    {"kind: APIService", "kind: Service", "kind: is \"Service\""},
		"unknown field":   {"versionPriority", "versionPriorty", "versionPriorty"},
		"another name":    {"name: v1.new", "name: v2.new", "metadata.name"},
		"no priority":     {"versionPriority: 15", "versionPriority: 0", "spec.versionPriority"},
		"empty":           {manifestText, "", "has no APIService"},
		"only a comment":  {manifestText, "# a comment\n", "has no APIService"},
		"without service": {"service: {namespace: default, name: ext}", "", "spec.service"},
	} {
		path := filepath.Join(t.TempDir(), "api.yaml")
		testkit.NoError(t, os.WriteFile(path, []byte(strings.Replace(manifestText, test.old, test.new, 1)), 0o600))
		if _, err := readRegistrations([]string{path}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q and the file", name, err, test.want)
		}
	}
	dir := t.TempDir()
	if _, err := readRegistrations([]string{dir}); err == nil {
		t.Error("an empty folder is no error")
	}
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, "api.yml"), []byte(manifestText), 0o600))
	if got, err := readRegistrations([]string{dir}); err != nil || len(got) != 1 || got[0].Name != "v1.new.example.com" {
		t.Errorf("%v, %v", got, err)
	}
}

// text can be read while it is written.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *text) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

func writeKubeconfig(t *testing.T, path string, cluster *fakeCluster) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.server.URL, CertificateAuthorityData: cluster.config("").CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "alice-token"}
	config.Contexts["other"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	testkit.NoError(t, clientcmd.WriteToFile(*config, path))
}

// TestRun: the command as a whole, from flags and files to a kubeconfig that works.
func TestRun(t *testing.T) {
	t.Parallel()
	cluster, o := newCluster(t), newTestOptions(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig, cluster)
	manifest := filepath.Join(t.TempDir(), "api.yaml")
	testkit.NoError(t, os.WriteFile(manifest, []byte(manifestText), 0o600))
	o.Kubeconfig, o.Context, o.Registrations = kubeconfig, "other", []string{manifest}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	out, ended := &text{}, make(chan error, 1)
	go func() { ended <- o.Run(ctx, out, clock.RealClock{}) }()
	for !strings.Contains(out.String(), "--requestheader-allowed-names=docket-gateway") {
		select {
		case err := <-ended:
			t.Fatalf("ended: %v: %s", err, out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	own := filepath.Join(o.Dir, "kubeconfig")
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v, %v", info, err)
	}
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", own))(t)
	g := &running{t: t, url: config.Host, token: config.BearerToken}
	g.ca = testkit.Must(parseAuthority(config.CAData))(t)
	if code, body := g.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.new.example.com", ""); code != 200 || !strings.Contains(body, "https://127.0.0.1:1") {
		t.Errorf("the registration: %d %s", code, body)
	}
	wantStatus(t, g.do("GET", "/apis/new.example.com/v1/things", g.token), 503)
	again := newTestOptions(t)
	again.Dir, again.Kubeconfig = o.Dir, own
	if _, err := again.clusterConfig("https://x"); err == nil || !strings.Contains(err.Error(), "the gateway's own") {
		t.Errorf("the gateway in front of itself: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDatabaseAway: who starts a gateway sees for what it waits.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	cluster, o := newCluster(t), newTestOptions(t)
	o.Context, o.Kubeconfig, o.Database = "other", filepath.Join(t.TempDir(), "kubeconfig"), "postgres://me:secret@127.0.0.1:1/reports"
	writeKubeconfig(t, o.Kubeconfig, cluster)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	out, ended := &text{}, make(chan error, 1)
	go func() { ended <- o.Run(ctx, out, clock.RealClock{}) }()
	for !strings.Contains(out.String(), "\n") {
		select {
		case err := <-ended:
			t.Fatalf("ended: %v: %s", err, out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("after the end was asked for: %v", err)
	}
	const want = "Waiting for the database postgres://me:xxxxx@127.0.0.1:1/reports: connection refused; giving up in "
	if got := out.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("it says %q, want one line with %q", got, want)
	}
}

// TestOpenAddresses: one person's gateway is for this machine, unless that is confirmed.
func TestOpenAddresses(t *testing.T) {
	t.Parallel()
	o := newTestOptions(t)
	o.Listen = "0.0.0.0:0"
	if err := o.Run(t.Context(), &text{}, clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "--allow-non-loopback") {
		t.Errorf("got %v", err)
	}
}

// TestAdvertise: callers who come by another address find it in their kubeconfig, which has
// no credentials, and in the certificate.
func TestAdvertise(t *testing.T) {
	t.Parallel()
	o := newTestOptions(t)
	o.Profile, o.Listen, o.Advertise = ProfileToken, "127.0.0.1:0", "gateway.team.svc:7444"
	o.Kubeconfig, o.Context = filepath.Join(t.TempDir(), "kubeconfig"), "other"
	writeKubeconfig(t, o.Kubeconfig, newCluster(t))
	testkit.NoError(t, o.Validate())
	held := testkit.Must(statedir.Open(o.Dir))(t)
	server, config := testkit.Must2(o.open(t.Context(), held, io.Discard, clock.RealClock{}))(t)
	t.Cleanup(func() {
		if err := errors.Join(config.Identity.Listener.Close(), server.Close(), held.Close()); err != nil {
			t.Error(err)
		}
	})
	team := testkit.Must(clientcmd.LoadFromFile(filepath.Join(o.Dir, "team.kubeconfig")))(t)
	cluster := team.Clusters[team.Contexts[team.CurrentContext].Cluster]
	if cluster.Server != "https://gateway.team.svc:7444" || len(team.AuthInfos) != 1 || team.AuthInfos["docket-gateway"].Token != "" {
		t.Errorf("the team gets %+v %+v", cluster, team.AuthInfos)
	}
	serving, _ := config.Identity.Serving.CurrentCertKeyContent()
	block, _ := pem.Decode(serving)
	leaf := testkit.Must(x509.ParseCertificate(block.Bytes))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cluster.CertificateAuthorityData)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "gateway.team.svc"}); err != nil {
		t.Error(err)
	}
}
