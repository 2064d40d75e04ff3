// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/server/bootstrap"
	"github.com/docket-project/docket/test/e2e/harness"
)

// migrateReportsEnv is how many reports TestMigrate begins with; 2,000 unless set.
const migrateReportsEnv = "DOCKET_E2E_MIGRATE_REPORTS"

// TestMigrate moves reports from custom resources into Docket and back while clients
// write and read, and kills the migration three times in each direction.
func TestMigrate(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	m := newMigration(t)
	before := m.all(t)
	writers, stopWriters := startLedger(t, m.written, 3, 10*time.Millisecond)
	writers.waitFor(t, 20)
	informer := startFollower(t, m.written)
	reader := startReader(t, writers)

	t.Log("begun, killed while it waits for the switch, and given up")
	if output, killed := m.runOnce(t, &kill{after: "Switch now", within: time.Second}, "", nil); !killed {
		t.Fatalf("it did not wait for the switch:\n%s", output)
	}
	m.run(t, nil, "--abort")
	m.wantVersions(t)

	t.Log("into Docket")
	output := m.run(t, []kill{
		{after: "", within: 1500 * time.Millisecond},
		{after: "All objects are copied", within: time.Second},
		{after: "is served by Docket now", within: 4 * time.Second},
	}, "--switch", "--api-services", m.services)
	wantOutput(t, output, "Verified: ", "Done: the objects are in Docket")
	writers.waitFor(t, 50)
	wantOutput(t, m.run(t, nil, "--verify"), "Verified: ")
	m.wantVersions(t)
	reader.check(t)
	m.wantCounts(t, len(before))
	if diff := cmp.Diff(before, m.all(t)); diff != "" {
		t.Errorf("reports were changed by the migration into Docket (-before +after):\n%.4000s", diff)
	}

	t.Log("free etcd")
	inUse := m.etcdInUse(t)
	output = m.run(t, nil, "--delete-from-cluster")
	wantOutput(t, output, "Deleted ")
	if n := m.inEtcd(t); n != 0 {
		t.Errorf("%d reports are left in etcd", n)
	}
	t.Logf("etcd: %.1f MiB in use with %d reports, %.1f MiB without them", mebibytes(inUse), len(before), mebibytes(m.etcdInUse(t)))
	writers.waitFor(t, 50)
	reader.check(t)
	if diff := cmp.Diff(before, m.all(t)); diff != "" {
		t.Errorf("reports were changed by freeing etcd (-before +after):\n%.4000s", diff)
	}

	t.Log("back into the cluster")
	output = m.run(t, []kill{
		{after: "", within: 3 * time.Second},
		{after: "back to the cluster. Requests wait", within: 6 * time.Second},
		{after: "served by the cluster again", within: 3 * time.Second},
	}, "--to-cluster", "--switch")
	wantOutput(t, output, "Verified: ", "Done: the objects are in the cluster")
	writers.waitFor(t, 50)
	reader.check(t)
	stopWriters()
	m.count(t) // From here on the CRD's storage is open again.
	writers.check(t)
	informer.check(t, m.written)
	if diff := cmp.Diff(withoutAssigned(before), withoutAssigned(m.all(t))); diff != "" {
		t.Errorf("reports were changed by the migration back (-before +after):\n%.4000s", diff)
	}
	if have, want := m.inEtcd(t), m.count(t); have != want {
		t.Errorf("%d reports are in etcd, a list has %d", have, want)
	}
	m.wantLocal(t, true)
}

// migration is a cluster with custom resources, and a Docket that is not used yet.
type migration struct {
	cluster *harness.Cluster
	replica *harness.Replica
	// kinds are of one group, which has these served versions.
	kinds    []sample.Kind
	versions []string
	// services is the path of a file with the APIServices of Docket.
	services string
	// written are the reports of the test's writers.
	written reports
	random  *rand.Rand
}

// migratedKinds are the kinds whose CRDs the cluster has.
func migratedKinds() []sample.Kind {
	var kinds []sample.Kind
	for _, kind := range sample.Kinds() {
		if strings.HasPrefix(kind.APIVersion, "wgpolicyk8s.io/") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

const writtenNamespace = "written"

func newMigration(t *testing.T) *migration {
	t.Helper()
	m := startMigration(t, migratedKinds(), crdOf, "v1alpha2")
	m.fill(t)
	m.replica = m.cluster.Serve(t)
	m.register(t)
	return m
}

// startMigration starts a cluster with the CRDs of kinds.
func startMigration(t *testing.T, kinds []sample.Kind, crd func(sample.Kind) string, versions ...string) *migration {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &migration{cluster: harness.StartCluster(t), kinds: kinds, versions: versions, random: rand.New(rand.NewPCG(seed, 0))}
	m.cluster.EnsureNamespace(t, writtenNamespace)
	for _, kind := range kinds {
		m.cluster.Kubectl(t, "default").RunInput(t, crd(kind), "create", "-f", "-")
	}
	for _, kind := range kinds {
		m.cluster.Kubectl(t, "default").Run(t, "wait", "--for=condition=Established", "--timeout=60s", "crd/"+kind.Resource+"."+m.group())
		if kind.Namespaced {
			m.written = newReports(t, m.cluster, kind, writtenNamespace)
		}
	}
	return m
}

func (m *migration) group() string { return resourceOf(m.kinds[0]).Group }

// crdOf returns the CRD of a kind, in the form of the published ones.
func crdOf(kind sample.Kind) string {
	scope := "Cluster"
	if kind.Namespaced {
		scope = "Namespaced"
	}
	group, version, _ := strings.Cut(kind.APIVersion, "/")
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]s.%[2]s
spec:
  group: %[2]s
  scope: %[3]s
  names: {kind: %[4]s, listKind: %[4]sList, plural: %[1]s, singular: %[5]s}
  versions:
  - name: %[6]s
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Pass, type: integer, jsonPath: .summary.pass}
    - {name: Fail, type: integer, jsonPath: .summary.fail}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          scope: {type: object, x-kubernetes-preserve-unknown-fields: true}
          scopeSelector: {type: object, x-kubernetes-preserve-unknown-fields: true}
          summary:
            type: object
            properties:
              pass: {type: integer}
              fail: {type: integer}
              warn: {type: integer}
              error: {type: integer}
              skip: {type: integer}
          results:
            type: array
            items:
              type: object
              required: [policy]
              properties:
                policy: {type: string}
                result: {type: string, enum: [pass, fail, warn, error, skip]}
              x-kubernetes-preserve-unknown-fields: true
`, kind.Resource, group, scope, kind.Kind, strings.ToLower(kind.Kind), version)
}

// fill creates the reports that nobody changes during the test.
func (m *migration) fill(t *testing.T) {
	t.Helper()
	n := 2000
	if value := os.Getenv(migrateReportsEnv); value != "" {
		var err error
		if n, err = strconv.Atoi(value); err != nil {
			t.Fatalf("%s: %v", migrateReportsEnv, err)
		}
	}
	client := m.client(t)
	imaginary := sample.Cluster{Seed: 1, Now: time.Unix(1_800_000_000, 0)}
	namespaces := map[string]bool{}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	kinds := m.kinds
	// The garbage collector would delete reports about what does not exist.
	owners := []metav1.OwnerReference{m.owner(t)}
	for i := range n {
		kind := kinds[0]
		if i%50 == 0 {
			kind = kinds[1]
		}
		object := imaginary.Report(kind, i, 1+i%17)
		if namespace := object.GetNamespace(); namespace != "" && !namespaces[namespace] {
			namespaces[namespace] = true
			m.cluster.EnsureNamespace(t, namespace)
		}
		object.SetOwnerReferences(owners)
		if i%100 == 0 {
			object.SetFinalizers([]string{"example.com/kept"})
		}
		group.Go(func() error {
			_, err := client.Resource(resourceOf(kind)).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	testkit.NoError(t, group.Wait())
}

// owner refers to an object that exists.
func (m *migration) owner(t *testing.T) metav1.OwnerReference {
	t.Helper()
	namespace := testkit.Must(m.cluster.Client(t).CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{}))(t)
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}
}

func resourceOf(kind sample.Kind) schema.GroupVersionResource {
	group, version, _ := strings.Cut(kind.APIVersion, "/")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: kind.Resource}
}

func (m *migration) client(t *testing.T) dynamic.Interface {
	t.Helper()
	return testkit.Must(dynamic.NewForConfig(m.cluster.RESTConfig(t)))(t)
}

// register makes the Service, and a file with the APIServices; it applies nothing else.
func (m *migration) register(t *testing.T) {
	t.Helper()
	m.cluster.EnsureNamespace(t, harness.Namespace)
	m.cluster.Kubectl(t, harness.Namespace).Run(t, "create", "service", "externalname", harness.ServiceName, "--external-name", "localhost")
	var services []any
	for _, version := range m.versions {
		services = append(services, map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": map[string]any{"name": version + "." + m.group()},
			"spec": map[string]any{
				"group": m.group(), "version": version, "groupPriorityMinimum": bootstrap.GroupPriorityMinimum, "versionPriority": bootstrap.VersionPriority,
				"caBundle": m.cluster.DocketAuthority(),
				"service":  map[string]any{"namespace": harness.Namespace, "name": harness.ServiceName, "port": m.replica.Port},
			},
		})
	}
	data := testkit.Must(json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": services}))(t)
	dir := t.TempDir()
	m.services = filepath.Join(dir, "services.json")
	testkit.NoError(t, os.WriteFile(m.services, data, 0o600))
	testkit.NoError(t, os.WriteFile(m.authority(), m.cluster.DocketAuthority(), 0o600))
}

// authority is the path of the certificate that signed Docket's.
func (m *migration) authority() string { return filepath.Join(filepath.Dir(m.services), "ca.crt") }

// kill ends a run of the migration with SIGKILL, some time after it, or one before it,
// has written a line.
type kill struct {
	after  string
	within time.Duration
}

// run runs the migration until it succeeds, killed as told, and returns the output of
// all runs. A moment may pass without its kill: an earlier one came just after what a line
// would have said, or the rest took less time than the pause. At least one has to happen.
func (m *migration) run(t *testing.T, kills []kill, arguments ...string) string {
	t.Helper()
	var all strings.Builder
	wanted, happened := len(kills), 0
	for {
		var next *kill
		if len(kills) > 0 {
			next, kills = &kills[0], kills[1:]
		}
		output, killed := m.runOnce(t, next, all.String(), arguments)
		all.WriteString(output)
		t.Logf("docket migrate crds %s, killed: %t\n%s", strings.Join(arguments, " "), killed, output)
		if killed {
			happened++
			continue
		}
		if wanted > 0 {
			t.Logf("%d of %d kills happened", happened, wanted)
		}
		if wanted > 0 && happened == 0 {
			t.Error("the migration was never killed")
		}
		return all.String()
	}
}

func (m *migration) runOnce(t *testing.T, k *kill, before string, arguments []string) (output string, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Docket(t), append([]string{
		"migrate", "crds", "--kubeconfig", m.cluster.Kubeconfig(), "--group", m.group(),
		"--server", m.replica.URL(), "--server-ca", m.authority(), "--settle", "2s",
	}, arguments...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	testkit.NoError(t, cmd.Start())
	var timer *time.Timer
	arm := func() {
		pause := time.Duration(m.random.Int64N(int64(k.within)))
		t.Logf("kill %s after %q", pause, k.after)
		timer = time.AfterFunc(pause, func() { _ = cmd.Process.Kill() }) // It may have ended by itself, which is seen.
	}
	if k != nil && strings.Contains(before, k.after) {
		arm()
	}
	var text strings.Builder
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		fmt.Fprintln(&text, time.Now().Format("15:04:05.000 ")+lines.Text())
		if k != nil && timer == nil && strings.Contains(lines.Text(), k.after) {
			arm()
		}
	}
	err = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return text.String(), true
	}
	if err != nil {
		t.Fatalf("docket migrate crds %s: %v\n%s", strings.Join(arguments, " "), err, text.String())
	}
	return text.String(), false
}
