// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance"
	"github.com/docket-project/docket/conformance/checks"
	"github.com/docket-project/docket/conformance/conformancetest"
	checker "github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// gadgetDefinition has neither a namespace nor subresources.
const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: Gadget is a kind for tests.
        type: object
        properties:
          spec: {description: What the gadget is to be., type: object, properties: {color: {type: string}}}
`

// checkTime is for a machine that runs other tests, too: the default is for people who wait.
const checkTime = 3 * time.Minute

// TestConformance runs the checks on the kinds of Kubernetes, on custom resources, and on reports
// through kube-apiserver and directly, on both engines.
func TestConformance(t *testing.T) {
	t.Parallel()
	for engine, start := range map[string]func(*testing.T) (*harness.Cluster, *harness.Replica){
		"sqlite": func(t *testing.T) (*harness.Cluster, *harness.Replica) { return harness.SharedDocket(t) },
		"postgres": func(t *testing.T) (*harness.Cluster, *harness.Replica) {
			testkit.Full(t)
			c := harness.StartCluster(t)
			replica := c.Serve(t, "--database", testenv.Postgres(t).Database(t))
			c.Register(t, replica.Port)
			return c, replica
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			c, replica := start(t)
			if engine == "sqlite" { // It is the same cluster otherwise.
				t.Run("kubernetes", func(t *testing.T) {
					testkit.Full(t)
					conformOf(t, "core", c.RESTConfig(t), "v1", "configmaps", "secrets", "services", "pods")
					conformOf(t, "apps", c.RESTConfig(t), "apps/v1")
				})
				kubectl := c.Kubectl(t, "default")
				kubectl.RunInput(t, widgetDefinition+"---"+gadgetDefinition, "apply", "-f", "-")
				kubectl.Run(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "crd/gadgets.example.com", "--timeout=60s")
				conformOf(t, "custom resources", c.RESTConfig(t), "example.com/v1", "widgets", "gadgets")
			}
			c.EnsureNamespace(t, "direct")
			if engine == "sqlite" {
				t.Run("broken", func(t *testing.T) { conformanceBroken(t, c.RESTConfig(t)) })
				t.Run("namespace admin", func(t *testing.T) { conformanceNamespaceAdmin(t, c) })
				t.Run("interrupted", func(t *testing.T) { conformanceInterrupted(t, c) })
			}
			for version, resources := range reportResources() {
				conformOf(t, version, c.RESTConfig(t), version, resources...)
			}
			t.Run("direct", func(t *testing.T) {
				testkit.Full(t)
				for version, resources := range reportResources() {
					t.Run(version, func(t *testing.T) {
						conformance.Run(t, conformance.Options{Config: replica.RESTConfig(), GroupVersion: version, Resources: resources, Namespace: "direct", Timeout: checkTime})
					})
				}
			})
		})
	}
}

// conformOf runs the checks on a group version.
func conformOf(t *testing.T, name string, config *rest.Config, version string, resources ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		started := time.Now()
		conformance.Run(t, conformance.Options{Config: config, GroupVersion: version, Resources: resources, Timeout: checkTime})
		t.Logf("%s took %v", version, time.Since(started))
	})
}

// reportResources are the resources of reports by group version.
func reportResources() map[string][]string {
	resources := map[string][]string{}
	for _, kind := range sample.Kinds() {
		resources[kind.APIVersion] = append(resources[kind.APIVersion], kind.Resource)
	}
	return resources
}

// conformanceBroken proves the checks that need the controllers of a cluster, on reports, as
// TestBrokenServers of the checks proves the others.
func conformanceBroken(t *testing.T, config *rest.Config) {
	for id, server := range conformancetest.NeedControllers() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			err := conformancetest.Prove(t.Context(), checker.Options{
				Config: config, GroupVersion: schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"},
				Resources: []string{"policyreports"}, Checks: checks.All(), UserAgent: "docket-e2e",
			}, id, server)
			if err != nil {
				t.Errorf("the server %s:\n%v", server.What, err)
			}
		})
	}
}

const namespaceAdmin = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: nora, namespace: noras}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nora, namespace: noras}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: nora, namespace: noras}]
`

// conformanceNamespaceAdmin is the way of people with rights in one namespace.
func conformanceNamespaceAdmin(t *testing.T, c *harness.Cluster) {
	c.EnsureNamespace(t, "noras")
	kubectl := c.Kubectl(t, "noras")
	kubectl.RunInput(t, namespaceAdmin, "apply", "-f", "-")
	kubeconfig := c.KubeconfigOf(t, "nora", strings.TrimSpace(kubectl.Run(t, "create", "token", "nora")))

	output, code := runConformance(t, kubeconfig, "--group-version=apps/v1", "--resource=deployments")
	wantOutput(t, output, "no namespace can be made", "cannot create resource \"namespaces\"", "--namespace")
	if code != 2 {
		t.Errorf("exit code %d without rights, want 2", code)
	}
	output, code = runConformance(t, kubeconfig, "--group-version=apps/v1", "--resource=deployments", "--namespace=noras")
	wantOutput(t, output, " 0 failed, 0 undecided", "it needs a namespace of its own", "not allowed: ")
	if code != 0 {
		t.Errorf("exit code %d, want 0:\n%s", code, output)
	}
	if left := kubectl.Run(t, "get", "deployments,configmaps", "-l", checker.RunLabel, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// runConformance returns what `docket conformance` prints, and its exit code.
func runConformance(t *testing.T, kubeconfig string, arguments ...string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.Docket(t), append([]string{"conformance", "--kubeconfig", kubeconfig}, arguments...)...)
	data, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(data), command.ProcessState.ExitCode()
}

// conformanceInterrupted: Ctrl-C in the middle removes what was made.
func conformanceInterrupted(t *testing.T, c *harness.Cluster) {
	kubectl := c.Kubectl(t, "default")
	command := exec.CommandContext(t.Context(), harness.Docket(t), "conformance", "--kubeconfig", c.Kubeconfig(), "--group-version=v1", "--resource=configmaps,pods")
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	testkit.NoError(t, command.Start())
	made := func() string {
		return kubectl.Run(t, "get", "configmaps,pods", "-A", "-l", checker.RunLabel, "-o", "name")
	}
	waitUntil(t, "objects are made", func() bool { return made() != "" })
	testkit.NoError(t, command.Process.Signal(os.Interrupt))
	err := command.Wait()
	if code := command.ProcessState.ExitCode(); code != 2 {
		t.Errorf("exit code %d, want 2: %v\n%s", code, err, output.String())
	}
	wantOutput(t, output.String(), "interrupted")
	left := made() + kubectl.Run(t, "get", "namespaces", "-l", checker.RunLabel, "-o", "name")
	if left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestConformanceExtensions runs the checks on extension servers of others. What they are known to
// break is listed: a difference is news about them, or a defect of a check.
func TestConformanceExtensions(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	t.Run("sample-apiserver", func(t *testing.T) {
		t.Parallel()
		server := harness.Up(t)
		harness.RunExtension(t, server.Kubeconfig(), server.Dir, harness.SampleAPIServer(t), "--etcd-servers="+harness.StartEtcd(t).URL())
		// The server answers 406 to an Accept header with protocol buffers and JSON, because its types
		// have no protocol buffers. It decodes into types of Go, for which null in a list of strings is "",
		// and refuses a body as a whole if it can't decode a part. openapi-v2 is ours:
		// docs/apiserver/aggregator.md says which parts are left out there.
		wantFailed(t, server.Kubeconfig(), []string{"accept-protobuf", "openapi-descriptions", "openapi-v2", "value-null-item", "value-type-cause"}, "--group-version=wardle.example.com/v1alpha1", "--resource=flunders,fischers")
		wantFailed(t, server.Kubeconfig(), []string{"accept-protobuf", "openapi-v2", "value-type-cause"}, "--group-version=wardle.example.com/v1beta1", "--resource=flunders")
	})
	t.Run("metrics-server", func(t *testing.T) {
		t.Parallel()
		gateway, _ := metricsBehindGateway(t, harness.SharedCluster(t))
		// Lists of metrics have no resourceVersion. openapi-v2 is ours, as above.
		wantFailed(t, gateway.Kubeconfig(), []string{"list-resource-version", "openapi-v2"}, "--group-version=metrics.k8s.io/v1beta1", "--resource=pods,nodes")
	})
}

// wantFailed runs the checks and compares those that fail; none may be undecided.
func wantFailed(t *testing.T, kubeconfig string, want []string, arguments ...string) {
	t.Helper()
	arguments = append([]string{"conformance", "--kubeconfig", kubeconfig, "--output=json", "--timeout=" + checkTime.String()}, arguments...)
	data, err := exec.CommandContext(t.Context(), harness.Docket(t), arguments...).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v, want exit code 1", err)
	}
	var report struct {
		Results []struct{ ID, Resource, Outcome, Reason string }
	}
	testkit.NoError(t, json.Unmarshal(data, &report))
	var failed []string
	for _, result := range report.Results {
		switch result.Outcome {
		case string(checker.Undecided):
			t.Errorf("%s (%s) is undecided: %s", result.ID, result.Resource, result.Reason)
		case string(checker.Failed):
			failed = append(failed, result.ID)
		}
	}
	slices.Sort(failed)
	if diff := cmp.Diff(want, slices.Compact(failed)); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s\n%s", diff, data)
	}
}
