// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/up"
)

// patience is for machines with other things to do. The runs under test have less of it: their errors
// say which step they waited for.
const (
	patience = 3 * time.Minute
	timeout  = 2 * time.Minute
	interval = 50 * time.Millisecond
)

// startUp starts a whole control plane in this process. It returns its state folder.
func startUp(t *testing.T) string {
	t.Helper()
	options := testkit.Must(up.NewOptions())(t)
	options.Dir, options.Listen = filepath.Join(t.TempDir(), "up"), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	out := &buffer{}
	go func() { ended <- options.Run(ctx, out, io.Discard, clock.RealClock{}, time.Now()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the control plane ended with %v", err)
		}
	})
	out.wait(t, "Docket is ready")
	return options.Dir
}

// buffer is an output that tests wait for.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *buffer) wait(t *testing.T, text string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(context.Context) (bool, error) {
		return strings.Contains(b.String(), text), nil
	})
	if err != nil {
		t.Fatalf("no %q in the output (%v):\n%s", text, err, b)
	}
}

// command is the fake extension server as users would write it.
func command(mode string) []string {
	return []string{os.Args[0], "serve", mode, "{port}", "{cert}", "{key}", "{proxy-ca}", "{dir}"}
}

// session is a docket run under test.
type session struct {
	out    buffer
	cancel context.CancelFunc
	ended  chan error
}

// wait waits for a text in the output. A run that has ended will not write it: its error says why.
func (s *session) wait(t *testing.T, text string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(context.Context) (bool, error) {
		select {
		case err := <-s.ended:
			s.ended <- err
			if !strings.Contains(s.out.String(), text) {
				return false, fmt.Errorf("docket run has ended: %w", err)
			}
		default:
		}
		return strings.Contains(s.out.String(), text), nil
	})
	if err != nil {
		t.Fatalf("no %q in the output (%v):\n%s", text, err, &s.out)
	}
}

func run(t *testing.T, dir string) *session {
	t.Helper()
	return runAs(t, dir, "fake", "good")
}

func runAs(t *testing.T, dir, name, mode string) *session {
	t.Helper()
	options := NewOptions()
	options.Dir, options.Name, options.Timeout = dir, name, timeout
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- options.Run(ctx, command(mode), &s.out, &s.out, clock.RealClock{}) }()
	t.Cleanup(cancel)
	return s
}

// clients returns clients with the owner's rights.
func clients(t *testing.T, dir string) (*kubernetes.Clientset, *aggregator.Clientset, *dynamic.DynamicClient) {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig")))(t)
	core, coreErr := kubernetes.NewForConfig(config)
	services, servicesErr := aggregator.NewForConfig(config)
	objects, objectsErr := dynamic.NewForConfig(config)
	testkit.NoError(t, errors.Join(coreErr, servicesErr, objectsErr))
	return core, services, objects
}

const apiServiceName = "v1.things.example.com"

func checkGone(t *testing.T, dir string, output string) {
	t.Helper()
	_, services, _ := clients(t, dir)
	if _, err := services.ApiregistrationV1().APIServices().Get(t.Context(), apiServiceName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the APIService is still there (%v)", err)
	}
	found := regexp.MustCompile(`dir=(\S+)`).FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("the server does not say where its folder was:\n%s", output)
	}
	if _, err := os.Stat(found[1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the server's folder is still there (%v)", err)
	}
	if strings.Contains(output, "LEAKED") {
		t.Errorf("the server saw the user's token:\n%s", output)
	}
}

// TestServerIsRegisteredWhileItRuns: its group versions are found, registered and
// served; after Ctrl-C the server ends in order and nothing is left.
func TestServerIsRegisteredWhileItRuns(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	s := run(t, dir)
	s.wait(t, "serving things.example.com/v1: things")
	s.wait(t, "kubectl api-resources --api-group=things.example.com")
	if !strings.Contains(s.out.String(), "kubeconfig="+filepath.Join(dir, "kubeconfig")) {
		t.Errorf("the server did not get the kubeconfig:\n%s", s.out.String())
	}
	core, _, objects := clients(t, dir)
	checkDiscovered(t, core)
	things := schema.GroupVersionResource{Group: "things.example.com", Version: "v1", Resource: "things"}
	if _, err := objects.Resource(things).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list through the endpoint: %v", err)
	}
	s.cancel()
	if err := <-s.ended; err != nil {
		t.Errorf("docket run ended with %v", err)
	}
	s.wait(t, "ending in order")
	checkGone(t, dir, s.out.String())
}

// checkDiscovered checks that clients find the server's resources and documents right after the announcement: kubectl
// keeps for hours what it has read.
func checkDiscovered(t *testing.T, core *kubernetes.Clientset) {
	t.Helper()
	_, lists, err := core.Discovery().ServerGroupsAndResources()
	if err != nil || !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool {
		return l.GroupVersion == "things.example.com/v1" && len(l.APIResources) > 0
	}) {
		t.Errorf("discovery does not list the things: %v, %v", lists, err)
	}
	index, err := core.Discovery().OpenAPIV3().Paths()
	if err != nil || index["apis/things.example.com/v1"] == nil {
		t.Errorf("there is no OpenAPI of the things: %v, %v", index, err)
	}
}

// TestServerThatDiesIsUnregistered: docket run ends with its exit code.
func TestServerThatDiesIsUnregistered(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	s := run(t, dir)
	s.wait(t, "serving things.example.com/v1")
	pid := testkit.Must(strconv.Atoi(regexp.MustCompile(`pid=(\d+)`).FindStringSubmatch(s.out.String())[1]))(t)
	testkit.NoError(t, syscall.Kill(pid, syscall.SIGUSR2))
	var exit *ExitError
	if err := <-s.ended; !errors.As(err, &exit) || exit.Code != 5 {
		t.Errorf("docket run ended with %v, want exit code 5", err)
	}
	checkGone(t, dir, s.out.String())
}

// TestOwnRegistrationIsTakenOver: what an earlier run left is adopted, and its end
// doesn't take away what a later one has.
func TestOwnRegistrationIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	first := run(t, dir)
	first.wait(t, "serving things.example.com/v1")
	second := run(t, dir)
	second.wait(t, "serving things.example.com/v1")
	first.cancel()
	if err := <-first.ended; err != nil {
		t.Errorf("the first run ended with %v", err)
	}
	_, services, _ := clients(t, dir)
	if _, err := services.ApiregistrationV1().APIServices().Get(t.Context(), apiServiceName, metav1.GetOptions{}); err != nil {
		t.Errorf("the end of the first run took the second one's registration: %v", err)
	}
	second.cancel()
	if err := <-second.ended; err != nil {
		t.Errorf("the second run ended with %v", err)
	}
	checkGone(t, dir, second.out.String())
}

// TestRegistrationStays: what somebody deletes is registered again while the server runs, and it says so, as it does
// when somebody else has taken the place.
func TestRegistrationStays(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	s := run(t, dir)
	s.wait(t, "Stop it with Ctrl-C")
	_, clientset, objects := clients(t, dir)
	services := clientset.ApiregistrationV1().APIServices()
	testkit.NoError(t, services.Delete(t.Context(), apiServiceName, metav1.DeleteOptions{}))
	s.wait(t, "somebody deleted APIService "+apiServiceName+"; it is registered again")
	things := schema.GroupVersionResource{Group: "things.example.com", Version: "v1", Resource: "things"}
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(context.Context) (bool, error) {
		_, err := objects.Resource(things).List(t.Context(), metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Errorf("the things are not served again: %v", err)
	}
	have := testkit.Must(services.Get(t.Context(), apiServiceName, metav1.GetOptions{}))(t)
	have.Spec.Service.Name = "theirs"
	testkit.Must(services.Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	s.wait(t, "things.example.com/v1 may not be served any more: APIService "+apiServiceName+" belongs to another docket run, with --name=theirs")
	testkit.NoError(t, services.Delete(t.Context(), apiServiceName, metav1.DeleteOptions{}))
	err = wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(context.Context) (bool, error) {
		return strings.Count(s.out.String(), "it is registered again") == 2, nil
	})
	if err != nil {
		t.Errorf("the place that became free was not taken: %v\n%s", err, &s.out)
	}
	s.cancel()
	if err := <-s.ended; err != nil {
		t.Errorf("docket run ended with %v", err)
	}
	checkGone(t, dir, s.out.String())
}

// TestServersOfOneCommand: two servers in one interpreter, say, keep out of each other's
// way without names, one can't take the other's group version, and the place of one that has ended is
// free.
func TestServersOfOneCommand(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	derived := nameOf(os.Args[0])
	first := runAs(t, dir, "", "good")
	first.wait(t, "serving things.example.com/v1")
	second := runAs(t, dir, "", "other")
	second.wait(t, "serving others.example.com/v1")
	second.wait(t, "this one is "+derived+"-2")
	_, services, _ := clients(t, dir)
	addresses := map[string]string{}
	for group, name := range map[string]string{"things": derived, "others": derived + "-2"} {
		service, err := services.ApiregistrationV1().APIServices().Get(t.Context(), "v1."+group+".example.com", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if service.Spec.Service.Name != name {
			t.Errorf("%s are registered for %s, want %s", group, service.Spec.Service.Name, name)
		}
		addresses[service.Annotations[endpointAnnotation]] = name
	}
	if len(addresses) != 2 {
		t.Errorf("the servers share an address: %v", addresses)
	}
	third := runAs(t, dir, "", "good")
	if err := <-third.ended; err == nil || !strings.Contains(err.Error(), "belongs to another docket run, with --name="+derived) {
		t.Errorf("a third with the group version of the first ended with %v", err)
	}
	before, err := services.ApiregistrationV1().APIServices().Get(t.Context(), apiServiceName, metav1.GetOptions{})
	if err != nil || before.Spec.Service.Name != derived {
		t.Errorf("the registration of the first: %+v, %v", before.Spec.Service, err)
	}
	first.cancel()
	if err := <-first.ended; err != nil {
		t.Error(err)
	}
	fourth := runAs(t, dir, "", "good")
	fourth.wait(t, "serving things.example.com/v1")
	before, err = services.ApiregistrationV1().APIServices().Get(t.Context(), apiServiceName, metav1.GetOptions{})
	if err != nil || before.Spec.Service.Name != derived {
		t.Errorf("the registration of the fourth: %+v, %v", before.Spec.Service, err)
	}
	for _, s := range []*session{second, fourth} {
		s.cancel()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	}
}

// TestErrorsTeach: what can go wrong says what is wrong and what to do, and leaves
// nothing behind.
func TestErrorsTeach(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	// A kubeconfig that was copied has no front-proxy certificate beside it.
	alone := filepath.Join(t.TempDir(), "kubeconfig")
	data, err := os.ReadFile(filepath.Join(dir, "kubeconfig"))
	testkit.NoError(t, errors.Join(err, os.WriteFile(alone, data, 0o600)))
	_, services, _ := clients(t, dir)
	port := int32(443)
	testkit.Must(services.ApiregistrationV1().APIServices().Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.foreign.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "foreign.example.com", Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "theirs", Name: "other", Port: &port},
		},
	}, metav1.CreateOptions{}))(t)
	for name, test := range map[string]struct {
		change  func(*Options)
		command []string
		want    []string
	}{
		"no such command":  {command: []string{"nonesuch"}, want: []string{`"nonesuch"`, "$PATH"}},
		"nothing there":    {change: func(o *Options) { o.Dir = "/nonexistent" }, want: []string{"docket up", "/nonexistent/kubeconfig"}},
		"ends early":       {command: command("broken"), want: []string{"before it was ready", "exit status 3", "the database is gone"}},
		"own certificate":  {command: command("own certificate"), want: []string{"{cert}", "certificate"}},
		"stranger":         {change: func(o *Options) { o.Kubeconfig, o.Dir = alone, "" }, want: []string{"--group-version is required", statedir.ProxyCertificateFile}},
		"not its own":      {change: func(o *Options) { o.GroupVersions = []string{"foreign.example.com/v1"} }, want: []string{"foreign.example.com/v1", "Service other in namespace theirs", "kubectl delete apiservice"}},
		"endpoint's own":   {change: func(o *Options) { o.GroupVersions = []string{"apps/v1"} }, want: []string{"apps/v1", "itself", "--shadow"}},
		"shadows up":       {change: func(o *Options) { o.GroupVersions, o.Shadow = []string{"apps/v1"}, true }, want: []string{"apps/v1 is already served by this server"}},
		"never available":  {change: func(o *Options) { o.GroupVersions, o.Timeout = []string{"wrong.example.com/v1"}, 30*time.Second }, want: []string{"--timeout 30s", "FailedDiscoveryCheck"}},
		"no group version": {change: func(o *Options) { o.GroupVersions = []string{"v1"} }, want: []string{"--group-version", "group/version"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := NewOptions()
			options.Dir, options.Name, options.Timeout = dir, "fake", patience
			if test.change != nil {
				test.change(options)
			}
			arguments := test.command
			if arguments == nil {
				arguments = command("good")
			}
			var out buffer
			err := options.Run(t.Context(), arguments, &out, &out, clock.RealClock{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not contain %q: %v", text, err)
				}
			}
			list, err := services.ApiregistrationV1().APIServices().List(t.Context(), metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedBy})
			if err != nil || len(list.Items) != 0 {
				t.Errorf("%d registrations are left (%v)", len(list.Items), err)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	p := &workspace{dir: "/d", certificate: "/d/c", key: "/d/k", port: 8443, kubeconfig: "/kc", proxyCA: "/d/p"}
	recommended := []string{
		"--secure-port=8443", "--bind-address=127.0.0.1", "--tls-cert-file=/d/c", "--tls-private-key-file=/d/k",
		"--kubeconfig=/kc", "--authentication-kubeconfig=/kc", "--authorization-kubeconfig=/kc",
	}
	for name, test := range map[string]struct {
		command []string
		want    []string
	}{
		"without placeholders": {[]string{"s", "--x"}, append([]string{"s", "--x"}, recommended...)},
		"with placeholders":    {[]string{"s", "{port},{cert},{key}", "--k={kubeconfig}", "{proxy-ca}{dir}"}, []string{"s", "8443,/d/c,/d/k", "--k=/kc", "/d/p/d"}},
		"other braces":         {[]string{"s", "{x}"}, append([]string{"s", "{x}"}, recommended...)},
	} {
		if got := p.expand(test.command); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestNameOfCommand(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"sample-apiserver": "sample-apiserver", "/usr/bin/My_Server.exe": "my-server", "./3scale-": "scale", strings.Repeat("a", 80): strings.Repeat("a", 63),
	} {
		if got := nameOf(command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}
