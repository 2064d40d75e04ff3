// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestGatewayClients: what other clients than kubectl do, at a gateway that is killed and
// comes back in between.
func TestGatewayClients(t *testing.T) {
	t.Parallel()
	c := harness.SharedCluster(t)
	apps := c.Namespace(t, "apps")
	gateway := harness.Gateway(t, c.Kubeconfig(), "--listen", "127.0.0.1:"+strconv.Itoa(testenv.FreePort(t)))
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", gateway.Kubeconfig()))(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	// What happens in the cluster is seen through the gateway.
	maps := c.Client(t).CoreV1().ConfigMaps(apps)
	create := func(name string) {
		t.Helper()
		testkit.Must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
	}
	list := testkit.Must(client.CoreV1().ConfigMaps(apps).List(t.Context(), metav1.ListOptions{}))(t)
	retrying := testkit.Must(watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().ConfigMaps(apps).Watch(ctx, options)
		},
	}))(t)
	t.Cleanup(retrying.Stop)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(apps))
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(apps)
	factory.Core().V1().ConfigMaps().Informer()
	factory.Start(t.Context().Done())

	for i, name := range []string{"first", "second", "third"} {
		if i > 0 {
			gateway.Kill(t)
			create(name) // While it is away.
			gateway.Start(t)
		} else {
			create(name)
		}
		wantAdded(t, retrying.ResultChan(), name)
		waitUntil(t, "the informer has "+name, func() bool {
			_, err := lister.Get(name)
			return err == nil
		})
	}
	t.Run("kubectl proxy", func(t *testing.T) { testProxy(t, gateway.Kubectl(t, apps), apps) })
}

func wantAdded(t *testing.T, events <-chan watch.Event, name string) {
	t.Helper()
	timeout := time.NewTimer(settleTimeout)
	defer timeout.Stop()
	select {
	case event := <-events:
		added, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type != watch.Added || added.Name != name {
			t.Fatalf("the watch got %s %v, want %s", event.Type, describe(event.Object), name)
		}
	case <-timeout.C:
		t.Fatalf("the watch did not get %s", name)
	}
}

func describe(object runtime.Object) string { return fmt.Sprintf("%T %.300v", object, object) }

// testProxy asks through kubectl proxy, which is how many dashboards do it.
func testProxy(t *testing.T, kubectl *harness.Kubectl, apps string) {
	t.Helper()
	line := kubectl.Start(t, "proxy", "--port=0").Line(t)
	address, found := strings.CutPrefix(line, "Starting to serve on ")
	if !found {
		t.Fatalf("kubectl proxy says %q", line)
	}
	for path, want := range map[string]string{
		"/api/v1/namespaces/" + apps + "/configmaps/first": `"name":"first"`,
		"/apis":               "apiregistration.k8s.io",
		"/apiservers/healthz": "",
	} {
		response, err := http.Get("http://" + strings.TrimSpace(address) + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(strings.ReplaceAll(string(body), `": "`, `":"`), want) {
			t.Errorf("%s: %s %v: %.300s", path, response.Status, err, body)
		}
	}
}

// TestGatewayWebSocket: a browser can't set headers, so that its token is a subprotocol,
// which reaches the cluster through a gateway for several people.
func TestGatewayWebSocket(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	c.StartKubelet(t, "node-of-"+mine.apps).RunPod(t, mine.apps, "web")
	gateway := harness.Gateway(t, mine.kubeconfig, "--profile=token")
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", mine.kubeconfig))(t)
	authority := testkit.Must(os.ReadFile(filepath.Join(gateway.Dir, "ca.crt")))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	exec := strings.Replace(gateway.URL(t), "https://", "wss://", 1) + "/api/v1/namespaces/" + mine.apps + "/pods/web/exec?" +
		url.Values{"command": {"echo", "hello"}, "stdout": {"true"}}.Encode()
	for token, code := range map[string]int{config.BearerToken: http.StatusSwitchingProtocols, "wrong": http.StatusUnauthorized} {
		dialer := websocket.Dialer{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			Subprotocols:    []string{"v4.channel.k8s.io", "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))},
		}
		connection, response, err := dialer.DialContext(t.Context(), exec, nil) //nolint:bodyclose // The library has read and replaced it.
		if response == nil || response.StatusCode != code {
			t.Fatalf("the answer is %v, %v, want code %d", response, err, code)
		}
		if err != nil {
			continue
		}
		var output strings.Builder
		for {
			_, message, err := connection.ReadMessage()
			if err != nil {
				break // Closed by the other side, when the command has ended.
			}
			if len(message) > 0 && message[0] == 1 {
				output.Write(message[1:])
			}
		}
		_ = connection.Close()
		if output.String() != "hello\n" {
			t.Errorf("the command printed %q", output.String())
		}
	}
}

// TestGatewayFrozenCluster: a kube-apiserver that takes connections and says nothing makes the gateway
// unready, with its address as the reason, until it goes on.
func TestGatewayFrozenCluster(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.StartCluster(t)
	kubectl := harness.Gateway(t, c.Kubeconfig()).Kubectl(t, "default")
	kubectl.Run(t, "get", "--raw", "/readyz")
	signal := func(which syscall.Signal) {
		if err := syscall.Kill(c.APIServerPID(), which); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	waitUntil(t, "the gateway is not ready", func() bool { return kubectl.Try(t, "", "get", "--raw", "/readyz").Code != 0 })
	kubectl.Refused(t, "", []string{strings.TrimPrefix(c.URL(), "https://"), "does not answer"}, "get", "--raw", "/readyz/cluster")
	signal(syscall.SIGCONT)
	waitUntil(t, "the gateway is ready again", func() bool { return kubectl.Try(t, "", "get", "--raw", "/readyz").Code == 0 })
}

const flunderRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flunders}
rules: [{apiGroups: [wardle.example.com], resources: [flunders], verbs: ["*"]}]
`

// TestGatewayStreams: commands, attached streams, logs and forwarded ports through the gateways for several people,
// over both protocols; and Kubernetes' sample server behind one that impersonates, which asks the cluster what the
// caller may do.
func TestGatewayStreams(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	kubelet := c.StartKubelet(t, "node-of-"+mine.apps)
	kubelet.RunPod(t, mine.apps, "web")
	for profile, arguments := range map[string][]string{
		"token":       {"--profile=token"},
		"impersonate": {"--profile=impersonate", "--impersonate-groups=developers"},
	} {
		gateway := harness.Gateway(t, c.Kubeconfig(), arguments...)
		for protocol, webSocket := range streams {
			t.Run(profile+" "+protocol, func(t *testing.T) {
				kubectl := gateway.KubectlOf(t, mine.apps, mine.kubeconfig).WithEnv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSocket, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+webSocket)
				wantOutput(t, kubectl.Run(t, "auth", "whoami"), mine.gina)
				testExec(t, kubectl, "web")
				testAttach(t, kubectl, "web")
				testPortForward(t, kubectl, "web")
				pod := strings.Join([]string{"logs", profile, protocol}, "-")
				kubelet.RunPod(t, mine.apps, pod)
				testLogs(t, kubectl, kubelet, mine.apps, pod)
				kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "exec", "-n", "default", "web", "--", "echo", "hello")
			})
		}
		if profile == "impersonate" {
			t.Run("sample-apiserver", func(t *testing.T) { testSampleBehindGateway(t, c, gateway, mine) })
		}
	}
}

// testSampleBehindGateway: the owner of a namespace may do there what the cluster's RBAC says, and nothing elsewhere.
func testSampleBehindGateway(t *testing.T, c *harness.Cluster, gateway *harness.Server, mine owner) {
	t.Helper()
	admin := c.Kubectl(t, mine.apps)
	// Not the harness's administrator, who is one by a group that the gateway does not pass on.
	admin.Run(t, "create", "serviceaccount", "boss", "-n", mine.others)
	admin.Run(t, "create", "clusterrolebinding", "boss-of-"+mine.apps, "--clusterrole=cluster-admin", "--serviceaccount="+mine.others+":boss")
	boss := c.KubeconfigOf(t, "boss", strings.TrimSpace(admin.Run(t, "create", "token", "boss", "-n", mine.others, "--duration=1h")))
	harness.RunExtension(t, gateway.KubeconfigOf(t, boss), gateway.Dir, harness.SampleAPIServer(t), "--etcd-servers="+harness.StartEtcd(t).URL(),
		"--requestheader-client-ca-file="+filepath.Join(gateway.Dir, "front-proxy-ca.crt"), "--requestheader-allowed-names=docket-gateway")
	kubectl := gateway.KubectlOf(t, mine.apps, mine.kubeconfig)
	const flunder = "apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: first}\n"
	kubectl.Refused(t, flunder, []string{"forbidden", mine.gina}, "create", "-f", "-")
	admin.RunInput(t, flunderRole, "create", "-f", "-") // The cluster doesn't know the resource, and need not.
	admin.Run(t, "create", "rolebinding", "flunders", "--role=flunders", "--serviceaccount="+mine.others+":gina")
	waitUntil(t, "the role counts", func() bool { return kubectl.Try(t, flunder, "apply", "-f", "-").Code == 0 })
	wantOutput(t, kubectl.Run(t, "get", "flunders"), "first")
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "flunders", "-n", "default")
}
