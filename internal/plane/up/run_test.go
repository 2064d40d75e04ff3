// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store/engine"
)

const patience = 3 * time.Minute

// running is a `docket up` in this process.
type running struct {
	config *rest.Config
	output *output
	stop   func() error
}

// output can be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	// lines has an element for each write.
	lines chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.lines <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// waitFor returns when the output has the text, or the command ended.
func (o *output) waitFor(t *testing.T, text string, ended <-chan error) error {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.lines:
		case err := <-ended:
			return errors.Join(errors.New("ended"), err)
		case <-timer.C:
			t.Fatalf("%q does not come; the output is %q", text, o)
		}
	}
	return nil
}

func testOptions(t *testing.T, dir string) *Options {
	t.Helper()
	options := testkit.Must(NewOptions())(t)
	options.Dir, options.Listen = dir, "127.0.0.1:0"
	return options
}

func start(t *testing.T, options *Options) *running {
	t.Helper()
	return testkit.Must(tryStart(t, options, "Docket is ready at"))(t)
}

// tryStart runs until the output has the text.
func tryStart(t *testing.T, options *Options, text string) (*running, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := &output{lines: make(chan struct{}, 100)}
	ended := make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	if err := out.waitFor(t, text, ended); err != nil {
		cancel()
		return nil, err
	}
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("docket up: %v", err)
		}
	})
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", filepath.Join(options.Dir, statedir.KubeconfigFile)))(t)
	config.QPS = -1
	return &running{config: config, output: out, stop: stop}, nil
}

func (r *running) client(t *testing.T) dynamic.Interface {
	t.Helper()
	return testkit.Must(dynamic.NewForConfig(r.config))(t)
}

// do sends a request with the token and returns code and body.
func (r *running) do(t *testing.T, token, method, path, body string) (int, string) {
	t.Helper()
	config := rest.AnonymousClientConfig(r.config)
	config.BearerToken = token
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, r.config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// TestStopWhileStarting: a server that is stopped before it is ready ends as any other does.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	options := testOptions(t, filepath.Join(t.TempDir(), "state"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &output{lines: make(chan struct{}, 100)}
	ended := make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	waitUntilServed(t, filepath.Join(options.Dir, statedir.KubeconfigFile))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("stopped while it starts: %v", err)
	}
	if !strings.Contains(out.String(), "Docket has stopped") {
		t.Errorf("the output is %q", out)
	}
}

// waitUntilServed returns at the first answer of the server of a kubeconfig.
func waitUntilServed(t *testing.T, kubeconfig string) {
	t.Helper()
	testkit.NoError(t, wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return false, nil //nolint:nilerr // It is not written yet.
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return false, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/livez", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // It is not served yet.
		}
		return true, response.Body.Close()
	}))
}

var (
	policyReports        = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}
	vulnerabilityReports = schema.GroupVersionResource{Group: sample.TrivyGroup, Version: "v1alpha1", Resource: "vulnerabilityreports"}
	policyResults        = schema.GroupVersionResource{Group: "results.docket.dev", Version: "v1alpha1", Resource: "policyresults"}
)

func testReport(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": name},
	}}
}

// TestWhoMayWhat: the owner everything, everybody else health and version.
func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	up := start(t, testOptions(t, filepath.Join(t.TempDir(), "state")))
	owner := up.config.BearerToken
	const reports = "/apis/wgpolicyk8s.io/v1alpha2/policyreports"
	for path, want := range map[string]struct{ owner, anonymous, stranger int }{
		reports:                        {200, 403, 401},
		"/apis":                        {200, 403, 401},
		"/openapi/v2":                  {200, 403, 401},
		"/openapi/v3":                  {200, 403, 401},
		"/metrics":                     {200, 403, 401},
		"/debug/pprof/":                {200, 403, 401},
		"/readyz":                      {200, 200, 401},
		"/readyz/docket-store":         {200, 200, 401},
		"/livez":                       {200, 200, 401},
		"/healthz":                     {200, 200, 401},
		"/version":                     {200, 200, 401},
		"/versionx":                    {404, 403, 401},
		"/api/v1/namespaces/a/secrets": {200, 403, 401},
	} {
		for token, code := range map[string]int{owner: want.owner, "": want.anonymous, "wrong": want.stranger} {
			if got, body := up.do(t, token, http.MethodGet, path, ""); got != code {
				t.Errorf("GET %s as %.5q…: got %d, want %d: %.200s", path, token, got, code, body)
			}
		}
	}
	if got, _ := up.do(t, "", http.MethodPost, "/version", "{}"); got != http.StatusForbidden {
		t.Errorf("an anonymous POST to a public path: got %d, want 403", got)
	}
}

// TestReviews is what kubectl auth can-i, can-i --list and whoami ask.
func TestReviews(t *testing.T) {
	t.Parallel()
	up := start(t, testOptions(t, filepath.Join(t.TempDir(), "state")))
	ask := func(path, body string, into any) int {
		t.Helper()
		code, answer := up.do(t, up.config.BearerToken, http.MethodPost, path, body)
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			t.Fatalf("%s: %v: %s", path, err, answer)
		}
		return code
	}
	const authorization = "/apis/authorization.k8s.io/v1/"
	var access struct{ Status struct{ Allowed bool } }
	code := ask(authorization+"selfsubjectaccessreviews",
		`{"spec":{"resourceAttributes":{"verb":"delete","group":"wgpolicyk8s.io","resource":"policyreports","namespace":"a"}}}`, &access)
	if code != http.StatusCreated || !access.Status.Allowed {
		t.Errorf("can-i: %d, allowed %v", code, access.Status.Allowed)
	}
	var refused metav1.Status
	if code := ask(authorization+"selfsubjectaccessreviews", `{"spec":{}}`, &refused); code != http.StatusBadRequest || !strings.Contains(refused.Message, "resourceAttributes") {
		t.Errorf("can-i without a question: %d %s", code, refused.Message)
	}
	var rules struct {
		Status struct{ ResourceRules []struct{ Verbs []string } }
	}
	code = ask(authorization+"selfsubjectrulesreviews", `{"spec":{"namespace":"default"}}`, &rules)
	if code != http.StatusCreated || len(rules.Status.ResourceRules) != 1 || !cmp.Equal([]string{"*"}, rules.Status.ResourceRules[0].Verbs) {
		t.Errorf("can-i --list: %d %+v", code, rules)
	}
	var self struct {
		Status struct{ UserInfo struct{ Username string } }
	}
	code = ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`, &self)
	if code != http.StatusCreated || self.Status.UserInfo.Username != ownerName {
		t.Errorf("whoami: %d %+v", code, self)
	}
}

// TestRestart: data, token and authority stay; the address may change.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	first := start(t, testOptions(t, dir))
	testkit.Must(first.client(t).Resource(policyReports).Namespace("default").Create(t.Context(), testReport("kept"), metav1.CreateOptions{}))(t)
	if _, err := tryStart(t, testOptions(t, dir), "Docket is ready"); !errors.Is(err, statedir.ErrInUse) {
		t.Errorf("a second process on the folder: got %v", err)
	}
	beside := testOptions(t, dir+"2")
	beside.server.Storage.Database = "sqlite://" + filepath.ToSlash(filepath.Join(dir, statedir.DatabaseFile))
	if _, err := tryStart(t, beside, "Docket is ready"); !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), "--database") {
		t.Errorf("a second process on the database: got %v", err)
	}
	testkit.NoError(t, first.stop())
	if !strings.Contains(first.output.String(), "Docket has stopped. Reports are kept in ") {
		t.Errorf("the output does not say that it stopped: %s", first.output)
	}
	second := start(t, testOptions(t, dir))
	if second.config.BearerToken != first.config.BearerToken || !bytes.Equal(second.config.CAData, first.config.CAData) {
		t.Error("a restart changed token or authority")
	}
	if _, err := second.client(t).Resource(policyReports).Namespace("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("a restart lost a report: %v", err)
	}
}

// TestDemo: all reports are there, once, and the user's changes survive.
func TestDemo(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	options := testOptions(t, dir)
	options.Demo = true
	up := testkit.Must(tryStart(t, options, "demo reports  3000/3000"))(t)
	reports := up.client(t).Resource(policyReports)
	before, err := reports.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(before.Items) < 1000 {
		t.Fatalf("%d policy reports, error %v", len(before.Items), err)
	}
	wantVulnerabilities := func(in *running) {
		t.Helper()
		scans, err := in.client(t).Resource(vulnerabilityReports).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(scans.Items) != 300 {
			t.Errorf("%d vulnerability reports, want 300; error %v", len(scans.Items), err)
		}
		found, err := in.client(t).Resource(policyResults).Namespace("shop").List(t.Context(), metav1.ListOptions{FieldSelector: "source=Trivy Vulnerability"})
		if err != nil || len(found.Items) < 300 {
			t.Errorf("%d vulnerabilities, want 300 or more; error %v", len(found.Items), err)
		}
	}
	wantVulnerabilities(up)
	changed := before.Items[0].DeepCopy()
	changed.SetLabels(map[string]string{"mine": "yes"})
	testkit.Must(reports.Namespace(changed.GetNamespace()).Update(t.Context(), changed, metav1.UpdateOptions{}))(t)
	gone := before.Items[1]
	testkit.NoError(t, reports.Namespace(gone.GetNamespace()).Delete(t.Context(), gone.GetName(), metav1.DeleteOptions{}))
	testkit.NoError(t, up.stop())
	again := testOptions(t, dir)
	again.Demo = true
	up = testkit.Must(tryStart(t, again, "demo reports  1/1"))(t)
	after, err := up.client(t).Resource(policyReports).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(after.Items) != len(before.Items) {
		t.Fatalf("%d policy reports after a restart, want %d; error %v", len(after.Items), len(before.Items), err)
	}
	if after.Items[0].GetLabels()["mine"] != "yes" {
		t.Error("the demo took a change of the user back")
	}
	testkit.NoError(t, up.stop())
	wantVulnerabilities(start(t, testOptions(t, dir))) // Without the demo everything is as it was, too.
}

// TestDemoKinds: Trivy's kinds are served once the demo was asked for, unless the user defines them.
func TestDemoKinds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, mine, others := filepath.Join(folder, "demo-kinds.yaml"), filepath.Join(folder, "mine.yaml"), filepath.Join(folder, "others.yaml")
	testkit.NoError(t, os.WriteFile(mine, sample.TrivyDefinitions(), 0o600))
	testkit.NoError(t, os.WriteFile(others, bytes.ReplaceAll(sample.TrivyDefinitions(), []byte(sample.TrivyGroup), []byte("example.com")), 0o600))
	for _, c := range []struct {
		name, database string
		demo           bool
		given, want    []string
	}{
		{"without the demo", "sqlite:///x.db", false, nil, nil},
		{"in etcd", "etcd://127.0.0.1:2379/x", true, nil, nil},
		{"with the demo", "sqlite:///x.db", true, nil, []string{file}},
		{"after the demo", "sqlite:///x.db", false, nil, []string{file}},
		{"beside the user's kinds", "sqlite:///x.db", true, []string{others}, []string{others, file}},
		{"in place of the user's", "sqlite:///x.db", true, []string{mine}, []string{mine}},
	} {
		options := testOptions(t, folder)
		options.Demo = c.demo
		options.server.Storage.Database, options.server.Storage.CustomResources = c.database, c.given
		testkit.NoError(t, options.serveDemoKinds(file))
		testkit.NoDiff(t, cmp.Diff(c.want, options.server.Storage.CustomResources), "%s (-want +got)", c.name)
	}
}

// TestTwoOnOnePostgreSQL: two folders, one database: two replicas.
func TestTwoOnOnePostgreSQL(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t).Database(t)
	var clients []dynamic.NamespaceableResourceInterface
	for _, name := range []string{"one", "two"} {
		options := testOptions(t, filepath.Join(t.TempDir(), name))
		options.server.Storage.Database = database
		clients = append(clients, start(t, options).client(t).Resource(policyReports))
	}
	watched := testkit.Must(clients[1].Namespace("default").Watch(t.Context(), metav1.ListOptions{}))(t)
	defer watched.Stop()
	testkit.Must(clients[0].Namespace("default").Create(t.Context(), testReport("shared"), metav1.CreateOptions{}))(t)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case event := <-watched.ResultChan():
		if report, ok := event.Object.(*unstructured.Unstructured); !ok || report.GetName() != "shared" {
			t.Errorf("the other replica saw %s %v", event.Type, event.Object)
		}
	case <-timer.C:
		t.Error("the other replica saw nothing")
	}
}

// TestEarlierReports: a folder of a version that knew no namespaces has reports in some,
// which are there from the first moment.
func TestEarlierReports(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	testkit.NoError(t, os.Mkdir(dir, 0o700))
	options := testOptions(t, dir)
	testkit.NoError(t, options.Validate())
	reports := testkit.Must(apiserver.OpenReports(t.Context(), options.server.Storage))(t)
	kind := testkit.Must(registry.KindOf(policyReports.GroupResource()))(t)
	for _, namespace := range []string{"earlier", "team-a"} {
		object, ok := kind.New().(imports.Object)
		if !ok {
			t.Fatal("no report")
		}
		object.SetNamespace(namespace)
		object.SetName("kept")
		testkit.NoError(t, reports.Storage().Create(t.Context(), apiserver.Movable(kind), object))
	}
	testkit.NoError(t, reports.Close())
	client := start(t, options).client(t)
	for _, namespace := range []string{"earlier", "team-a"} {
		if _, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(t.Context(), namespace, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client.Resource(policyReports).Namespace(namespace).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}
