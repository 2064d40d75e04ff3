// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestPods checks the pod of each variant.
func TestPods(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podOf(t, kustomize(t, v.overlay))
			checkSecurity(t, pod)
			checkProbes(t, pod, checkArguments(t, pod))
			// A second cluster can be installed on one database without thinking of its name.
			if args := pod.Containers[0].Args; !slices.Contains(args, "--cluster=auto") {
				t.Errorf("the arguments %q do not have --cluster=auto", args)
			}
		})
	}
}

func podOf(t *testing.T, all objects) corev1.PodSpec {
	t.Helper()
	template, _ := testkit.Must2(unstructured.NestedMap(all.workload(t).Object, "spec", "template"))(t)
	return convert[corev1.PodTemplateSpec](t, &unstructured.Unstructured{Object: template}).Spec
}

func checkSecurity(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatalf("%d containers, want 1", len(pod.Containers))
	}
	container := pod.Containers[0]
	wantContainer := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := gocmp.Diff(wantContainer, container.SecurityContext); diff != "" {
		t.Errorf("security of the container (-want +got):\n%s", diff)
	}
	security := pod.SecurityContext
	if !ptr.Deref(security.RunAsNonRoot, false) || ptr.Deref(security.RunAsUser, 0) == 0 {
		t.Error("the pod runs as root")
	}
	if security.SeccompProfile == nil || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Error("the pod has no seccomp profile")
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("the pod is in a namespace of the host")
	}
	if ptr.Deref(pod.EnableServiceLinks, true) {
		t.Error("variables of Services would be taken for settings")
	}
	for _, volume := range pod.Volumes {
		if volume.Secret == nil && volume.ConfigMap == nil {
			t.Errorf("volume %s is no Secret and no ConfigMap", volume.Name)
		}
	}
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly && mount.Name != "data" {
			t.Errorf("%s is mounted writable", mount.Name)
		}
	}
	if container.Resources.Requests.Memory().IsZero() || container.Resources.Limits.Memory().IsZero() {
		t.Error("no request or limit of memory")
	}
}

// checkArguments reads the container's arguments and variables as the server does.
func checkArguments(t *testing.T, pod corev1.PodSpec) *apiserver.Options {
	t.Helper()
	container := pod.Containers[0]
	options := apiserver.NewOptions()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, set := range options.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if len(container.Args) == 0 || container.Args[0] != "serve" {
		t.Fatalf("arguments: %q", container.Args)
	}
	testkit.NoError(t, flags.Parse(container.Args[1:]))
	for i := range options.Storage.CustomResources { // The folder is in the pod only.
		options.Storage.CustomResources[i] = "chart/controller/contextcache/cachedcontextentries.yaml"
	}
	for i := range options.Storage.ResultMappings {
		options.Storage.ResultMappings[i] = "../internal/server/apiserver/testdata/mappings.yaml"
	}
	for _, variable := range container.Env {
		if variable.Name == "DOCKET_DATABASE" {
			options.Storage.Database = "postgres://docket@database/docket?sslmode=verify-full"
		}
	}
	if err := errors.Join(options.Validate()...); err != nil {
		t.Error(err)
	}
	secret := strings.Join(container.Args, " ")
	if strings.Contains(secret, "postgres://") {
		t.Errorf("the arguments show the database: %s", secret)
	}
	return options
}

func checkProbes(t *testing.T, pod corev1.PodSpec, options *apiserver.Options) {
	t.Helper()
	container := pod.Containers[0]
	for path, probes := range map[string][]*corev1.Probe{
		"/livez":  {container.StartupProbe, container.LivenessProbe},
		"/readyz": {container.ReadinessProbe},
	} {
		for _, probe := range probes {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
				t.Errorf("probe of %s: %v", path, probe)
			}
		}
	}
	if container.Ports[0].ContainerPort != int32(options.SecureServing.BindPort) || container.Ports[0].Name != "https" {
		t.Errorf("port %v, want that of --secure-port", container.Ports[0])
	}
	server := options.Server
	least := server.ShutdownDelayDuration + server.RequestTimeout + server.ShutdownWatchTerminationGracePeriod
	if got := time.Duration(ptr.Deref(pod.TerminationGracePeriodSeconds, 0)) * time.Second; got <= least {
		t.Errorf("%s to end, but shutdown can take %s", got, least)
	}
	// The replica is out of its Service before it stops taking requests.
	ready := container.ReadinessProbe
	if away := time.Duration(ready.PeriodSeconds*ready.FailureThreshold) * time.Second; away > server.ShutdownDelayDuration {
		t.Errorf("unready after %s, but requests are refused after %s", away, server.ShutdownDelayDuration)
	}
}

// TestReplicas checks what keeps replicas apart and available.
func TestReplicas(t *testing.T) {
	t.Parallel()
	deployment := convert[appsv1.Deployment](t, kustomize(t, "overlays/postgres")["Deployment docket"])
	rolling := deployment.Spec.Strategy.RollingUpdate
	if rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() != 1 {
		t.Errorf("rolling update: %v", rolling)
	}
	var keys []string
	for _, constraint := range deployment.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, constraint.TopologyKey)
	}
	if diff := gocmp.Diff([]string{corev1.LabelTopologyZone, corev1.LabelHostname}, keys); diff != "" {
		t.Errorf("spread over (-want +got):\n%s", diff)
	}
	if stateful := convert[appsv1.StatefulSet](t, kustomize(t, "overlays/sqlite")["StatefulSet docket"]); *stateful.Spec.Replicas != 1 {
		t.Errorf("%d replicas on one SQLite file", *stateful.Spec.Replicas)
	}
}

// TestRoles checks that no role is wider than it has to be.
func TestRoles(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "base")
	writers := map[string]bool{"docket:reports-writer": true}
	found := 0
	for key, object := range all {
		if !strings.HasPrefix(key, "ClusterRole ") {
			continue
		}
		found++
		role := convert[rbacv1.ClusterRole](t, object)
		for _, rule := range role.Rules {
			checkRule(t, role.Name, rule, writers[role.Name])
		}
		aggregated := false
		for label := range role.Labels {
			aggregated = aggregated || strings.Contains(label, "aggregate-to-")
		}
		if aggregated != (role.Name == "docket:reports-view") {
			t.Errorf("%s: aggregated is %v", role.Name, aggregated)
		}
	}
	if found != 6 {
		t.Errorf("%d ClusterRoles, want 6", found)
	}
}

// TestCertificateRoles: where the server renews its certificate it may read and change the one Secret and
// its own APIServices, by name; elsewhere it has no such role.
func TestCertificateRoles(t *testing.T) {
	t.Parallel()
	const name = "docket:serving-certificate"
	for variant, v := range variants() {
		all := kustomize(t, v.overlay)
		own := strings.Contains(strings.Join(podOf(t, all).Containers[0].Args, " "), "--tls-secret=docket-serving")
		if (all["Secret docket-serving"] != nil) != own || (all["Role "+name] != nil) != own || (all["ClusterRole "+name] != nil) != own {
			t.Errorf("%s: the server renews its certificate: %v, and has the Secret and the roles for it otherwise", variant, own)
		}
		if !own {
			continue
		}
		var services []string
		for _, service := range apiServices(all) {
			services = append(services, strings.TrimPrefix(service, "APIService "))
		}
		slices.Sort(services)
		cluster := convert[rbacv1.ClusterRole](t, all["ClusterRole "+name])
		for i := range cluster.Rules {
			slices.Sort(cluster.Rules[i].ResourceNames)
		}
		if diff := gocmp.Diff([]rbacv1.PolicyRule{{
			APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, ResourceNames: services, Verbs: []string{"get", "patch"},
		}}, cluster.Rules); diff != "" {
			t.Errorf("%s: in the cluster (-want +got):\n%s", variant, diff)
		}
		if diff := gocmp.Diff([]rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"docket-serving"}, Verbs: []string{"get", "update"},
		}}, convert[rbacv1.Role](t, all["Role "+name]).Rules); diff != "" {
			t.Errorf("%s: in the namespace (-want +got):\n%s", variant, diff)
		}
	}
}

// checkRule allows writes to two status fields, and to reports in the writer's role.
func checkRule(t *testing.T, name string, rule rbacv1.PolicyRule, writer bool) {
	t.Helper()
	// What is written beside reports: two status fields, and queries, which are answered and not stored.
	harmless := map[string]string{
		"resourcequotas/status": "update", "flowschemas/status": "patch", "localresultqueries": "create", "resultqueries": "create",
		"fleetqueries": "create",
	}
	for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
		for _, item := range list {
			if strings.Contains(item, "*") {
				t.Errorf("%s has a wildcard: %v", name, rule)
			}
		}
	}
	for _, group := range rule.APIGroups {
		if group == rbacv1.GroupName || group == "apiregistration.k8s.io" {
			t.Errorf("%s reaches %s", name, group)
		}
	}
	for _, resource := range rule.Resources {
		for _, verb := range rule.Verbs {
			switch {
			case verb == "get" || verb == "list" || verb == "watch", harmless[resource] == verb:
			case !writer:
				t.Errorf("%s may %s %s", name, verb, resource)
			}
		}
	}
}

func convert[T any](t testing.TB, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if object == nil {
		t.Fatalf("there is no such %T", typed)
	}
	testkit.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed))
	return typed
}
