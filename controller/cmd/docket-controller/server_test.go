// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/up"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

// shared is the `docket up` of all tests; each uses namespaces and policies of its own names.
var shared upServer

type upServer struct {
	once       sync.Once
	err        error
	kubeconfig string
	client     dynamic.Interface
	stop       func() error
}

// readiness waits for the line that says that the server is ready.
type readiness struct {
	once  sync.Once
	ready chan struct{}
}

func (r *readiness) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "Docket is ready at") {
		r.once.Do(func() { close(r.ready) })
	}
	return len(p), nil
}

// server returns a kubeconfig and a client for a control plane with the kinds of policies.
func server(t *testing.T) (string, dynamic.Interface) {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.kubeconfig, shared.client
}

func (s *upServer) start() error {
	options, err := up.NewOptions()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "docket-controller-test-")
	if err != nil {
		return err
	}
	options.Dir, options.Listen = filepath.Join(dir, "state"), "127.0.0.1:0"
	s.kubeconfig = filepath.Join(options.Dir, statedir.KubeconfigFile)
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := &readiness{ready: make(chan struct{})}, make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	s.stop = func() error {
		cancel()
		return errors.Join(<-ended, os.RemoveAll(dir))
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-out.ready:
	case err := <-ended:
		ended <- err
		return fmt.Errorf("docket up ended: %w", err)
	case <-timer.C:
		return fmt.Errorf("docket up is not ready after %v", patience)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	return s.define(ctx)
}

// define makes the kind ClusterPolicy.
func (s *upServer) define(ctx context.Context) error {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterpolicies.kyverno.io}
spec:
  group: kyverno.io
  scope: Cluster
  names: {kind: ClusterPolicy, plural: clusterpolicies}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := create(ctx, s.client, crds, definition); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := s.client.Resource(clusterPolicies).List(ctx, metav1.ListOptions{})
		return err == nil, nil // Until it is served.
	})
}

var (
	clusterPolicies = schema.GroupVersionResource{Group: "kyverno.io", Version: "v1", Resource: "clusterpolicies"}
	policyReports   = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// create creates an object from YAML, in its namespace.
func create(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, text string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return err
	}
	_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func mustCreate(t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource, text string) {
	t.Helper()
	testkit.NoError(t, create(t.Context(), client, resource, text))
}

// stored returns the reports in a namespace with their versions and what their results say.
func stored(t *testing.T, client dynamic.Interface, namespace string) map[string]string {
	t.Helper()
	list := testkit.Must(client.Resource(policyReports).Namespace(namespace).List(t.Context(), metav1.ListOptions{}))(t)
	reports := map[string]string{}
	for _, item := range list.Items {
		results, _ := testkit.Must2(unstructured.NestedSlice(item.Object, "results"))(t)
		var texts []string
		for _, result := range results {
			fields := result.(map[string]any)
			about := fields["resources"].([]any)[0].(map[string]any)
			texts = append(texts, fmt.Sprint(about["name"], " ", fields["result"])) // One result each.
		}
		reports[item.GetName()] = strings.Join(texts, ", ")
	}
	return reports
}

func pod(namespace, name, labels string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, labels: {%s}}\nspec: {containers: [{name: c, image: nginx}]}\n", name, namespace, labels)
}

// named is the policy on labels with another name.
func named(name string) string {
	return strings.Replace(labelPolicy, "name: owner}", "name: "+name+"}", 1)
}

// TestScanIntoAServer: reports are written, kept where nothing changed, replaced where the scan
// is about them, and left alone elsewhere.
func TestScanIntoAServer(t *testing.T) {
	t.Parallel()
	kubeconfig, client := server(t)
	for _, namespace := range []string{"into-a", "into-b"} {
		mustCreate(t, client, namespaces, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	}
	mustCreate(t, client, policyReports, "apiVersion: wgpolicyk8s.io/v1alpha2\nkind: PolicyReport\nmetadata: {name: foreign, namespace: into-a}\n")
	dir := writeFiles(t, map[string]string{
		"first.yaml": named("into-first"), "second.yaml": named("into-second"),
		"both.yaml": pod("into-a", "p1", "") + "---\n" + pod("into-a", "p2", "owner: me") + "---\n" + pod("into-b", "p3", ""),
		"a.yaml":    pod("into-a", "p2", "owner: me"), "other.yaml": pod("into-b", "p4", ""),
	})
	const a1, a2, b1, b2 = "polr-ns-into-a-into-first", "polr-ns-into-a-into-second", "polr-ns-into-b-into-first", "polr-ns-into-b-into-second"
	for _, step := range []struct {
		name, policies, resources string
		want                      string
		a, b                      map[string]string
	}{
		{
			"everything is new", "first.yaml,second.yaml", "both.yaml", "reports: 4 created, 0 updated, 0 deleted",
			map[string]string{a1: "p1 fail, p2 pass", a2: "p1 fail, p2 pass", "foreign": ""}, map[string]string{b1: "p3 fail", b2: "p3 fail"},
		},
		{
			"nothing has changed", "first.yaml,second.yaml", "both.yaml", "reports: 0 created, 0 updated, 0 deleted",
			map[string]string{a1: "p1 fail, p2 pass", a2: "p1 fail, p2 pass", "foreign": ""}, map[string]string{b1: "p3 fail", b2: "p3 fail"},
		},
		{
			"one policy, one namespace", "first.yaml", "a.yaml", "reports: 0 created, 1 updated, 0 deleted",
			map[string]string{a1: "p2 pass", a2: "p1 fail, p2 pass", "foreign": ""}, map[string]string{b1: "p3 fail", b2: "p3 fail"},
		},
		{
			"another subject", "second.yaml", "other.yaml", "reports: 0 created, 1 updated, 0 deleted",
			map[string]string{a1: "p2 pass", a2: "p1 fail, p2 pass", "foreign": ""}, map[string]string{b1: "p3 fail", b2: "p4 fail"},
		},
	} {
		files := func(names string) string {
			return dir + "/" + strings.ReplaceAll(names, ",", ","+dir+"/")
		}
		got := command(t, "", "scan", "--policy", files(step.policies), "--resource", files(step.resources), "--to", kubeconfig)
		if got.code == program.ExitTrouble || !strings.Contains(got.err, step.want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", step.name, got.code, step.want, got.err)
		}
		testkit.NoDiff(t, cmp.Diff(step.a, stored(t, client, "into-a")), "%s: reports in a (-want +got)", step.name)
		testkit.NoDiff(t, cmp.Diff(step.b, stored(t, client, "into-b")), "%s: reports in b (-want +got)", step.name)
	}
}

// TestOldKubeconfig: credentials that a server does not accept are named, for every use of them.
func TestOldKubeconfig(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := server(t)
	config := testkit.Must(clientcmd.LoadFromFile(kubeconfig))(t)
	for _, user := range config.AuthInfos {
		user.Token, user.TokenFile, user.ClientCertificate, user.ClientCertificateData = "old", "", "", nil
	}
	old := filepath.Join(t.TempDir(), "old")
	testkit.NoError(t, clientcmd.WriteToFile(*config, old))
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy, "pod.yaml": goodPod})
	for name, args := range map[string][]string{
		"to":         {"scan", "--policy", dir + "/policy.yaml", "--resource", dir + "/pod.yaml", "--to", old},
		"kubeconfig": {"scan", "--policy", dir + "/policy.yaml", "--kubeconfig", old},
		"run":        {"run", "--kubeconfig", old, "--leader-elect=false", "--metrics-bind-address=0"},
	} {
		process := controller(t.Context(), t, args...) // run sets up the log of its process.
		output, _ := process.CombinedOutput()
		if code := process.ProcessState.ExitCode(); code != program.ExitTrouble || !strings.Contains(string(output), "does not accept the credentials of "+old+"; is it an old kubeconfig") {
			t.Errorf("%s: exit code %d:\n%s", name, code, output)
		}
	}
}

// TestScanOfACluster: its resources, with the policies of files or its own; only those for
// existing resources in the latter case, and lookups work.
func TestScanOfACluster(t *testing.T) {
	t.Parallel()
	kubeconfig, client := server(t)
	for _, namespace := range []string{"from-a", "from-b"} {
		mustCreate(t, client, namespaces, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
		mustCreate(t, client, pods, pod(namespace, "bad", ""))
		mustCreate(t, client, pods, pod(namespace, "good", "owner: me"))
	}
	mustCreate(t, client, clusterPolicies, named("from-stored"))
	mustCreate(t, client, clusterPolicies, strings.Replace(named("from-admission"), "spec:\n", "spec:\n  background: false\n", 1))
	dir := writeFiles(t, map[string]string{
		"policy.yaml": strings.Replace(named("from-file"), "spec:\n", "spec:\n  background: false\n", 1),
		"lookup.yaml": listingPolicy, "app.yaml": pod("from-c", "p", ""),
	})
	for name, test := range map[string]struct {
		args []string
		want int
		out  string
		err  string
	}{
		"policies of files":   {[]string{"--policy", dir + "/policy.yaml", "--namespace", "from-a"}, filescan.ExitFindings, "ClusterPolicy/from-file              1      1 ", "2 resources"},
		"two namespaces":      {[]string{"--policy", dir + "/policy.yaml", "--namespace", "from-a,from-b"}, filescan.ExitFindings, "ClusterPolicy/from-file              2      2 ", "4 resources"},
		"policies of its own": {[]string{"--namespace", "from-b"}, filescan.ExitFindings, "ClusterPolicy/from-stored              1      1 ", "1 policy, 2 resources"},
		// As kyverno-2372 asks for: files, before they are applied, and the policies that they will meet.
		"files, and its policies": {[]string{"--resource", dir + "/app.yaml"}, filescan.ExitFindings, "ClusterPolicy/from-stored                 0      1 ", "2 policies, 1 resource"},
		"a policy that looks":     {[]string{"--policy", dir + "/lookup.yaml", "--namespace", "from-a"}, filescan.ExitFindings, "ClusterPolicy/broken              0      2 ", "2 fail, 0 warn, 0 error"},
		"a context that is not":   {[]string{"--context", "nonexistent"}, program.ExitTrouble, "", "nonexistent"},
	} {
		got := command(t, "", append([]string{"scan", "--kubeconfig", kubeconfig}, test.args...)...)
		if got.code != test.want || !strings.Contains(got.out, test.out) || !strings.Contains(got.err, test.err) {
			t.Errorf("%s: exit code %d, want %d, %q and %q:\n%s%s", name, got.code, test.want, test.out, test.err, got.out, got.err)
		}
	}
}

// TestScanCreatesNamespaces only if asked; without that, the error says what to do, and what can
// be written is written.
func TestScanCreatesNamespaces(t *testing.T) {
	t.Parallel()
	kubeconfig, client := server(t)
	mustCreate(t, client, namespaces, "apiVersion: v1\nkind: Namespace\nmetadata: {name: create-old}\n")
	dir := writeFiles(t, map[string]string{
		"policy.yaml": named("create"), "pods.yaml": pod("create-old", "p1", "") + "---\n" + pod("create-new", "p2", ""),
	})
	args := []string{"scan", "--policy", dir + "/policy.yaml", "--resource", dir + "/pods.yaml", "--to", kubeconfig}
	got := command(t, "", args...)
	if got.code != program.ExitTrouble || !strings.Contains(got.err, "--create-namespaces") || !strings.Contains(got.err, "reports: 1 created") {
		t.Errorf("exit code %d:\n%s", got.code, got.err)
	}
	got = command(t, "", append(args, "--create-namespaces")...)
	if got.code != filescan.ExitFindings || !strings.Contains(got.err, "reports: 1 created, 0 updated") {
		t.Errorf("exit code %d:\n%s", got.code, got.err)
	}
	testkit.NoDiff(t, cmp.Diff(map[string]string{"polr-ns-create-new-create": "p2 fail"}, stored(t, client, "create-new")), "reports (-want +got)")
}
