// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const controllerName = "docket-controller"

func controllerPod(t *testing.T, all objects) corev1.PodSpec {
	t.Helper()
	return convert[appsv1.Deployment](t, all["Deployment "+controllerName]).Spec.Template.Spec
}

// TestControllerPod checks what is asked of every pod here, and what the controller needs.
func TestControllerPod(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "controller")
	pod := controllerPod(t, all)
	checkSecurity(t, pod)
	if len(pod.Volumes) != 0 {
		t.Errorf("volumes: %v", pod.Volumes)
	}
	container := pod.Containers[0]
	if diff := gocmp.Diff([]string{"run", "--metrics-bind-address=:8080"}, container.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for name, probe := range map[string]*corev1.Probe{
		"/healthz": container.LivenessProbe, "/healthz at start": container.StartupProbe, "/readyz": container.ReadinessProbe,
	} {
		path, _, _ := strings.Cut(name, " ")
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port != intstr.FromString("metrics") {
			t.Errorf("probe of %s: %v", name, probe)
		}
	}
	if port := container.Ports[0]; port.Name != "metrics" || port.ContainerPort != 8080 {
		t.Errorf("port %v", port)
	}
	// At the end the controller needs 10 s for due reports, 5 s for a last reading of its metrics, and time for the lease.
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < 20*time.Second {
		t.Errorf("killed after %s", grace)
	}
}

// TestControllerReplicas checks that a replica stands by, and stays while a node is drained.
func TestControllerReplicas(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "controller")
	deployment := convert[appsv1.Deployment](t, all["Deployment "+controllerName])
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	labels := deployment.Spec.Template.Labels
	selectors := map[string]map[string]string{
		"Deployment":          deployment.Spec.Selector.MatchLabels,
		"PodDisruptionBudget": convert[policyv1.PodDisruptionBudget](t, all["PodDisruptionBudget "+controllerName]).Spec.Selector.MatchLabels,
		"NetworkPolicy":       convert[networkingv1.NetworkPolicy](t, all["NetworkPolicy "+controllerName]).Spec.PodSelector.MatchLabels,
		"Service":             convert[corev1.Service](t, all["Service "+controllerName]).Spec.Selector,
		"spread":              deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	}
	// None of them may select the server's pods.
	server := kustomize(t, "overlays/postgres").workload(t)
	for kind, selector := range selectors {
		if diff := gocmp.Diff(labels, selector); diff != "" {
			t.Errorf("labels of the pods (-) and what %s selects (+):\n%s", kind, diff)
		}
		if selector["app.kubernetes.io/name"] == server.GetLabels()["app.kubernetes.io/name"] {
			t.Errorf("%s selects pods of the server", kind)
		}
	}
}

// everyFlag sets each value of the chart that becomes a flag.
func everyFlag() []string {
	return []string{
		"controller.enabled=true", "controller.replicas=1", "controller.splitPolicyReport=false", "controller.reportsAPI=openreports.io",
		"controller.allowedResults={fail,error}", "controller.adoptKyvernoResults=false", "controller.instance=blue", "controller.replaceKyvernoReports=true",
		"controller.reportInterval=10s", "controller.backgroundScanInterval=0s", "controller.workers=3", "controller.eventsPerPolicy=2", "controller.exceptionNamespaces={team-a,team-b}",
		"controller.excludeKinds={replicasets.apps,jobs.batch}", "controller.policyStatus=true", "controller.leaderElect=false", "controller.logLevel=4", "controller.metricsPolicySeries=500",
		"controller.extraArgs={--logging-format=json}", "controller.contextCache.memory=1Gi", "controller.contextCache.allowRanges={10.0.0.0/8}",
		"controller.contextCache.blockRanges={10.1.0.0/16}", "controller.registry.enabled=false", "controller.registry.allowInsecure=true", "controller.registry.pullSecrets={a,b}",
		"controller.registry.credentialHelpers={amazon,github}", "controller.registry.cacheAge=1h", "controller.registry.namespacedProviders=true", "controller.registry.allowRanges={10.2.0.0/16}", "controller.admission.enabled=true", "controller.admission.policies=all",
		"controller.admission.excludeNamespaces={a,b}", "controller.admission.excludeUsers={system:node:*}", "controller.admission.timeout=5s",
		"controller.admission.certManager=true", "controller.admission.clientCASecret=callers", "controller.admission.clientNames={a,b}",
	}
}

// TestControllerFlags wants the chart to pass on what is set, and to name flags that exist, with
// the defaults that values.yaml has.
func TestControllerFlags(t *testing.T) {
	t.Parallel()
	all := helm(t, "reports", everyFlag()...)
	if strategy := convert[appsv1.Deployment](t, all["Deployment "+controllerName]).Spec.Strategy.Type; strategy != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %s: two replicas without a lease would work at once", strategy)
	}
	got := controllerPod(t, all).Containers[0].Args
	want := []string{
		"run", "--metrics-bind-address=:8080", "--split-policy-report=false", "--reports-api=openreports.io", "--allowed-results=fail,error", "--instance=blue", "--replace-kyverno-reports", "--adopt-kyverno-results=false", "--report-interval=10s",
		"--background-scan-interval=0s", "--workers=3", "--events-per-policy=2", "--policy-status", "--exception-namespaces=team-a,team-b", "--exclude-kinds=replicasets.apps,jobs.batch",
		"--context-cache-memory=1Gi", "--context-cache-allow-ranges=10.0.0.0/8", "--context-cache-block-ranges=10.1.0.0/16",
		"--registry=false", "--allow-insecure-registry", "--image-pull-secrets=reports/a", "--image-pull-secrets=reports/b", "--registry-credential-helpers=amazon,github", "--registry-namespaced-providers", "--registry-allow-ranges=10.2.0.0/16", "--registry-cache-age=1h",
		"--admission", "--admission-policies=all", "--admission-exclude-namespaces=a,b", "--admission-exclude-users=system:node:*", "--webhook-timeout=5s",
		"--webhook-cert-dir=/etc/docket/webhook", "--webhook-inject-from=reports/docket-controller-webhook",
		"--webhook-client-ca-file=/etc/docket/webhook-clients/ca.crt", "--webhook-client-names=a,b",
		"--metrics-policy-series=500", "--leader-elect=false", "-v=4", "--logging-format=json",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("arguments (-want +got):\n%s", diff)
	}
	// The controller is another module: its flags are read as text.
	options := controllerOptions(t)
	for _, argument := range got[1:] {
		name, ours := strings.CutPrefix(argument, "--")
		name, _, _ = strings.Cut(name, "=")
		if ours && name != "logging-format" && !strings.Contains(options, `, "`+name+`", `) {
			t.Errorf("docket-controller run has no flag --%s", name)
		}
	}
	for _, line := range []string{
		`LeaderElect: +true,`, `Shards: +1,`, `Split: +true,`, `MetricsBindAddress: +":8080",`, `defaultPolicySeries += 2000`, `defaultReportInterval += 5 \* time.Second`,
		`defaultScanInterval += time.Hour`, `RegistryOptions: +NewRegistryOptions\(true\)`, `CacheAge: registry.DefaultAge`, `defaultCacheMemory += "256Mi"`, `AdmissionPolicies: neededPolicies, AdmissionExcludeNamespaces: \[\]string\{"kube-system"\}`,
		`webhookName += "docket-controller-webhook"`, `WebhookBindAddress: ":9443"`, `leaseName = "docket-controller"`, `maxEventsPerPolicy += 100`,
	} {
		if !regexp.MustCompile(line).MatchString(options) {
			t.Errorf("the default %q of the command is another one: change values.yaml, templates and roles", line)
		}
	}
}

// controllerOptions are the files with the flags of the command.
func controllerOptions(t *testing.T) string {
	t.Helper()
	all := ""
	for _, path := range testkit.Must(filepath.Glob(filepath.Join(root, "controller", "internal", "manager", "options*.go")))(t) {
		all += text(t, path)
	}
	return all
}

func text(t *testing.T, path string) string {
	t.Helper()
	data := testkit.Must(os.ReadFile(path))(t)
	return string(data)
}

// TestControllerChartValues sets what has no place in the variants.
func TestControllerChartValues(t *testing.T) {
	t.Parallel()
	all := helm(t, "reports", "controller.enabled=true", "controller.image.repository=mirror/controller", "controller.image.tag=v1",
		"controller.image.pullPolicy=Always", "imagePullSecrets={pull}", "controller.priorityClassName=high", "controller.podAnnotations.a=b",
		"controller.podLabels.c=d", "controller.nodeSelector.disk=ssd", "controller.goMemLimit=2GiB", "controller.replicas=3",
		"networkPolicy.enabled=false", "controller.rbac.defaultResources=false")
	deployment := convert[appsv1.Deployment](t, all["Deployment "+controllerName])
	template := deployment.Spec.Template
	container := template.Spec.Containers[0]
	got := []string{
		container.Image, string(container.ImagePullPolicy), template.Spec.ImagePullSecrets[0].Name, template.Spec.PriorityClassName,
		template.Annotations["a"], template.Labels["c"], template.Spec.NodeSelector["disk"], container.Env[0].Value,
	}
	if diff := gocmp.Diff([]string{"mirror/controller:v1", "Always", "pull", "high", "b", "d", "ssd", "2GiB"}, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if *deployment.Spec.Replicas != 3 {
		t.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	for _, key := range []string{"NetworkPolicy " + controllerName, "ClusterRole docket:controller-default-resources"} {
		if all[key] != nil {
			t.Errorf("there is %s", key)
		}
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	all = helm(t, "reports", "controller.enabled=true", "controller.image.digest="+digest)
	if image := controllerPod(t, all).Containers[0].Image; image != controllerName+"@"+digest {
		t.Errorf("image %s", image)
	}
	// An installation that does not ask for the controller gets no object of it.
	for key := range helm(t, "reports", "monitoring.enabled=true", "controller.crds.install=true") {
		if strings.Contains(key, "controller") || strings.HasPrefix(key, "CustomResourceDefinition") {
			t.Errorf("there is %s", key)
		}
	}
}

// TestControllerChartRefuses gives values that can't be right; the error names each.
func TestControllerChartRefuses(t *testing.T) {
	t.Parallel()
	path := testenv.Program(t, helmTool)
	rule := "controller.rbac.extraRules[0].apiGroups={x.io},controller.rbac.extraRules[0].resources={xs},controller.rbac.extraRules[0]."
	for values, want := range map[string]string{
		"controller.replicas=0":                                "/controller/replicas",
		"controller.typo=1":                                    "typo",
		"controller.reportsAPI=apps":                           "/controller/reportsAPI",
		"controller.reportInterval=5":                          "/controller/reportInterval",
		"controller.backgroundScanInterval=daily":              "/controller/backgroundScanInterval",
		"controller.workers=-1":                                "/controller/workers",
		"controller.eventsPerPolicy=101":                       "/controller/eventsPerPolicy",
		"controller.excludeKinds={ReplicaSet}":                 "/controller/excludeKinds/0",
		"controller.registry.pullSecrets={team/a}":             "/controller/registry/pullSecrets/0",
		"controller.registry.credentialHelpers={vault}":        "/controller/registry/credentialHelpers/0",
		"controller.exceptionNamespaces={Team}":                "/controller/exceptionNamespaces/0",
		"controller.extraArgs={workers=2}":                     "/controller/extraArgs/0",
		"controller.goMemLimit=800Mi":                          "/controller/goMemLimit",
		"controller.image.digest=latest":                       "/controller/image/digest",
		"controller.crds.install=yes":                          "/controller/crds/install",
		"controller.rbac.extraRules[0].apiGroups={x.io}":       "resources",
		rule + "verbs={delete}":                                "/controller/rbac/extraRules/0/verbs/0",
		"controller.leaderElect=false,controller.enabled=true": "controller.replicas",
		"controller.networkPolicy.egressPorts={0}":             "/controller/networkPolicy/egressPorts/0",
		"controller.terminationGracePeriodSeconds=5":           "/controller/terminationGracePeriodSeconds",
	} {
		_, err := command(t.Context(), path, "template", "docket", "chart", "--set", values)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "'", ""), want) {
			t.Errorf("%s: %v, want an error with %q", values, err, want)
		}
	}
}

// TestControllerDockerfile compares the image with the rest: same Go, same user, same binary.
func TestControllerDockerfile(t *testing.T) {
	t.Parallel()
	dockerfile := text(t, "controller/Dockerfile")
	user := *controllerPod(t, kustomize(t, "controller")).SecurityContext.RunAsUser
	for name, want := range map[string]string{
		`(?m)^ARG GO_VERSION=(\S+)$`: regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(text(t, filepath.Join(root, "controller", "go.mod")))[1],
		`(?m)^USER (\d+):\d+$`:       regexp.MustCompile(`(?m)^USER (\d+):\d+$`).FindStringSubmatch(text(t, "Dockerfile"))[1],
		`(?m)^EXPOSE (\d+)$`:         "8080",
	} {
		if got := regexp.MustCompile(name).FindStringSubmatch(dockerfile); got == nil || got[1] != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if user != 65532 {
		t.Errorf("the pod runs as %d", user)
	}
	build := regexp.MustCompile(`go -C controller build (-buildvcs=true .*) -o `).FindStringSubmatch(dockerfile)
	if build == nil || !slices.Contains(regexp.MustCompile(`go -C controller build (-buildvcs=true .*) -o `).FindStringSubmatch(text(t, root+"/hack/release.sh")), build[1]) {
		t.Errorf("hack/release.sh does not build as the image is built: %q", build)
	}
}
