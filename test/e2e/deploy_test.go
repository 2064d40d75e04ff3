// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	deployFolder    = "../../deploy"
	deployNamespace = "docket-system"
	// helmTimeout bounds one call of Helm, which waits for what it installs.
	helmTimeout = 15 * time.Minute
)

// installation is one way of docs/start/install.md to install Docket.
type installation struct {
	name    string
	overlay string   // of kustomize, or
	values  []string // of Helm
}

func installations() []installation {
	return []installation{
		{name: "kustomize sqlite", overlay: "overlays/sqlite"},
		{name: "kustomize sqlite cert-manager", overlay: "overlays/sqlite-cert-manager"},
		{name: "kustomize postgres", overlay: "overlays/postgres"},
		{name: "kustomize postgres cert-manager", overlay: "overlays/postgres-cert-manager"},
		{name: "kustomize monitoring", overlay: "testdata/monitoring"},
		{name: "helm sqlite"},
		{name: "helm sqlite cert-manager", values: []string{"certificate.certManager=true"}},
		{name: "helm postgres", values: []string{"database.type=postgres"}},
		{name: "helm console", values: []string{
			"console.enabled=true", "console.hosts={docket.example.com}", "console.signIn=headers", "console.tls.secretName=tls",
			"console.headers.clientCASecret=ca", "console.headers.clientNames={proxy}", "console.headers.impersonateUsers={alice}", "console.headers.impersonateGroups={dev}",
		}},
		{name: "helm console beside its proxy", values: []string{
			"console.enabled=true", "console.hosts={docket.example.com}", "console.sidecars[0].name=proxy", "console.sidecars[0].image=proxy",
			"console.sidecars[0].ports[0].name=proxy", "console.sidecars[0].ports[0].containerPort=4180",
			"console.sidecars[0].securityContext.allowPrivilegeEscalation=false", "console.sidecars[0].securityContext.capabilities.drop={ALL}",
		}},
		{name: "helm postgres cert-manager monitoring", values: []string{
			"database.type=postgres", "certificate.certManager=true", "monitoring.enabled=true",
			"monitoring.prometheus.serviceAccount=prometheus", "monitoring.prometheus.namespace=monitoring",
		}},
	}
}

// TestDeploy shows every manifest of deploy/ to a real kube-apiserver, installs and
// removes each variant, and runs a server with no rights but those of its
// ServiceAccount. The parts follow each other: all use the same names.
func TestDeploy(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.StartCluster(t)
	kubectl := c.Kubectl(t, "default")
	kubectl.RunInput(t, thirdPartyCRDs(), "apply", "-f", "-")
	kubectl.Run(t, "wait", "--for=condition=Established", "--all", "crd", "--timeout=50s")
	kubectl.Run(t, "create", "namespace", tenant)
	for _, role := range tenantRoles() {
		kubectl.Run(t, "create", "rolebinding", "-n", tenant, role, "--clusterrole="+role, "--user="+role)
	}
	before := everything(t, kubectl)
	for _, i := range installations() {
		t.Run(i.name, func(t *testing.T) {
			testInstallation(t, c, i)
			checkGone(t, kubectl, before)
		})
	}
	for _, i := range []installation{{overlay: "overlays/sqlite"}, {}} {
		t.Run("the rights of the ServiceAccount are enough by "+i.tool(), func(t *testing.T) {
			testLeastPrivilege(t, c, i)
			checkGone(t, kubectl, before)
		})
	}
}

// testInstallation installs, asks what it is there, and removes.
func testInstallation(t *testing.T, c *harness.Cluster, i installation) {
	t.Helper()
	kubectl := c.Kubectl(t, deployNamespace)
	rendered := i.render(t, kubectl)
	// What a user would try first. The namespace has to be there even for that.
	c.EnsureNamespace(t, deployNamespace)
	anyNamespace(t, c).RunInput(t, rendered, "apply", "--dry-run=server", "-f", "-")
	defer i.remove(t, c)
	i.install(t, c)
	checkPodIsAdmitted(t, kubectl)
	checkTenants(t, c)
}

func (i installation) tool() string {
	if i.overlay != "" {
		return "kustomize"
	}
	return "helm"
}

// anyNamespace is a kubectl for manifests that name their namespaces.
func anyNamespace(t *testing.T, c *harness.Cluster) *harness.Kubectl {
	t.Helper()
	return c.Kubectl(t, "")
}

// render returns all objects as YAML.
func (i installation) render(t *testing.T, kubectl *harness.Kubectl) string {
	t.Helper()
	if i.tool() == "kustomize" {
		return kubectl.Run(t, "kustomize", filepath.Join(deployFolder, i.overlay))
	}
	return helm(t, "", i.helmArguments("template")...)
}

func (i installation) install(t *testing.T, c *harness.Cluster, values ...string) {
	t.Helper()
	if i.tool() == "kustomize" {
		anyNamespace(t, c).Run(t, "apply", "-k", filepath.Join(deployFolder, i.overlay))
		return
	}
	helm(t, c.Kubeconfig(), append(i.helmArguments("install"), withSet(values)...)...)
}

func (i installation) remove(t *testing.T, c *harness.Cluster) {
	t.Helper()
	kubectl := anyNamespace(t, c)
	if i.tool() == "kustomize" {
		kubectl.Run(t, "delete", "--wait=false", "--ignore-not-found", "-k", filepath.Join(deployFolder, i.overlay))
		return
	}
	helm(t, c.Kubeconfig(), "uninstall", "docket", "--namespace", deployNamespace)
	kubectl.Run(t, "delete", "--wait=false", "namespace", deployNamespace)
}

func (i installation) helmArguments(verb string) []string {
	arguments := []string{verb, "docket", filepath.Join(deployFolder, "chart"), "--namespace", deployNamespace}
	return append(arguments, withSet(i.values)...)
}

func withSet(values []string) []string {
	var arguments []string
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	return arguments
}

// helm runs Helm.
func helm(t *testing.T, kubeconfig string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), helmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, testenv.Program(t, "helm"), arguments...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(arguments, " "), err, output, stderr.String())
	}
	return string(output)
}

// checkPodIsAdmitted asks whether the namespace, which enforces the restricted level of
// the Pod Security Standards, would take a pod of the workload.
func checkPodIsAdmitted(t *testing.T, kubectl *harness.Kubectl) {
	t.Helper()
	kubectl.Run(t, "label", "--overwrite", "namespace", deployNamespace, "pod-security.kubernetes.io/enforce=restricted")
	var workloads struct {
		Items []struct {
			Spec struct{ Template map[string]any }
		}
	}
	list := kubectl.Run(t, "get", "deployments,statefulsets", "-l", "app.kubernetes.io/name in (docket, docket-console)", "-o", "json")
	if err := json.Unmarshal([]byte(list), &workloads); err != nil || len(workloads.Items) == 0 {
		t.Fatalf("%d workloads (%v), want at least 1", len(workloads.Items), err)
	}
	for _, workload := range workloads.Items {
		tryPod(t, kubectl, workload.Spec.Template)
	}
}

func tryPod(t *testing.T, kubectl *harness.Kubectl, pod map[string]any) {
	t.Helper()
	maps.Copy(pod, map[string]any{"apiVersion": "v1", "kind": "Pod"})
	metadata, _ := pod["metadata"].(map[string]any)
	metadata["name"] = "docket-try"
	spec, _ := pod["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	// What the StatefulSet controller would add.
	spec["volumes"] = append(volumes, map[string]any{"name": "data", "emptyDir": map[string]any{}})
	manifest := testkit.Must(json.Marshal(pod))(t)
	kubectl.RunInput(t, string(manifest), "create", "--dry-run=server", "-f", "-")
}

// tenant is a namespace in which a user of the same name has each of these roles.
const tenant = "deploy-tenant"

const producerRole = "docket:reports-writer"

func tenantRoles() []string { return []string{"view", "edit", "admin", producerRole} }

// checkTenants asks what holders of the roles may do. kubectl's can-i can't be asked:
// it looks for the resource first, which nobody serves yet.
func checkTenants(t *testing.T, c *harness.Cluster) {
	t.Helper()
	waitUntil(t, "the roles are put together", func() bool { return may(t, c, "view", "list", "wgpolicyk8s.io", "policyreports") })
	for _, role := range tenantRoles() {
		for _, resource := range [][2]string{{"wgpolicyk8s.io", "policyreports"}, {"openreports.io", "reports"}} {
			for _, verb := range []string{"get", "list", "watch"} {
				if !may(t, c, role, verb, resource[0], resource[1]) {
					t.Errorf("%s may not %s %s", role, verb, resource)
				}
			}
			for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
				if may(t, c, role, verb, resource[0], resource[1]) != (role == producerRole) {
					t.Errorf("%s, who is to write or not: %s %s is the other way round", role, verb, resource)
				}
			}
		}
		if may(t, c, role, "get", "reports.kyverno.io", "ephemeralreports") {
			t.Errorf("%s may get ephemeralreports", role)
		}
	}
}

func may(t *testing.T, c *harness.Cluster, user, verb, group, resource string) bool {
	t.Helper()
	review := testkit.Must(c.Client(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: tenant, Verb: verb, Group: group, Resource: resource,
		}},
	}, metav1.CreateOptions{}))(t)
	return review.Status.Allowed
}

// everything lists all objects of the cluster but those that come and go.
func everything(t *testing.T, kubectl *harness.Kubectl) []string {
	t.Helper()
	resources := strings.Fields(kubectl.Run(t, "api-resources", "--verbs=list", "-o", "name"))
	resources = slices.DeleteFunc(resources, func(name string) bool {
		return strings.HasPrefix(name, "events") || strings.HasPrefix(name, "leases")
	})
	list := kubectl.Run(t, "get", strings.Join(resources, ","), "--all-namespaces", "--ignore-not-found",
		"-o", `jsonpath={range .items[*]}{.apiVersion}{" "}{.kind}{" "}{.metadata.namespace}{" "}{.metadata.name}{"\n"}{end}`)
	lines := strings.Split(strings.TrimSpace(list), "\n")
	slices.Sort(lines)
	return slices.Compact(lines)
}

// checkGone waits until the cluster has the earlier objects, and no others.
func checkGone(t *testing.T, kubectl *harness.Kubectl, before []string) {
	t.Helper()
	waitSettled(t, 500*time.Millisecond, func() string { return cmp.Diff(before, everything(t, kubectl)) }) // What remains: +.
}

// waitUntil fails the test with what is waited for; questions to a cluster are not asked as often as testkit does.
func waitUntil(t testing.TB, what string, done func() bool) {
	t.Helper()
	waitSettled(t, 200*time.Millisecond, func() string {
		if done() {
			return ""
		}
		return what
	})
}

// waitSettled returns once there is no problem, and fails the test with the last one.
func waitSettled(t testing.TB, interval time.Duration, problem func() string) {
	t.Helper()
	waitSettledWithin(t, settleTimeout, interval, problem)
}

func waitSettledWithin(t testing.TB, limit, interval time.Duration, problem func() string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), interval, limit, true, func(context.Context) (bool, error) {
		last = problem()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%v: %s", err, last)
	}
}

// thirdPartyCRDs are minimal definitions of the kinds of others that deploy/ uses. Their
// contents are not checked by them.
func thirdPartyCRDs() string {
	const template = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"PLURAL.GROUP",
"annotations":{"api-approved.kubernetes.io":"unapproved, for a test"}},"spec":{"group":"GROUP","scope":"Namespaced",
"names":{"plural":"PLURAL","kind":"KIND"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	var all strings.Builder
	for _, kind := range [][2]string{
		{"Certificate", "cert-manager.io"}, {"Issuer", "cert-manager.io"},
		{"PrometheusRule", "monitoring.coreos.com"}, {"ServiceMonitor", "monitoring.coreos.com"},
	} {
		fill := strings.NewReplacer("PLURAL", strings.ToLower(kind[0])+"s", "KIND", kind[0], "GROUP", kind[1])
		all.WriteString(fill.Replace(template) + "\n---\n")
	}
	return all.String()
}
