// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestChartLint runs helm lint with each variant's values.
func TestChartLint(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments := []string{"lint", "--strict", "chart"}
			for _, value := range v.values {
				arguments = append(arguments, "--set", value)
			}
			run(t, helmTool, arguments...)
		})
	}
}

// TestChartRefuses gives values that can't be right; the error names each.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	path := testenv.Program(t, helmTool)
	for values, want := range map[string]string{
		"database.type=mysql":                                            "/database/type",
		"database.typ=sqlite":                                            "typ",
		"replicas=0":                                                     "/replicas",
		"apiServices.groups={apps}":                                      "/apiServices/groups/0",
		"certificate.caBundle=-----BEGIN CERTIFICATE-":                   "/certificate/caBundle",
		"extraArgs={watch-history=2h}":                                   "/extraArgs/0",
		"extraArgs={--result-rows=false}":                                "extraArgs: --result-rows=false would leave results.docket.dev registered",
		"extraArgs={--database=etcd://e:2379}":                           "extraArgs: --database=etcd://e:2379 would leave",
		"extraEnv[0].name=DOCKET_RESULT_ROWS":                            "extraEnv: DOCKET_RESULT_ROWS would leave",
		"results=no":                                                     "/results",
		"customResources.groupVersions={example.com}":                    "/customResources/groupVersions/0",
		"customResources.groupVersions={a.b/v1}":                         "name the ConfigMap with their definitions in customResources.configMap",
		"goMemLimit=400Mi":                                               "/goMemLimit",
		"terminationGracePeriodSeconds=5":                                "/terminationGracePeriodSeconds",
		"monitoring.enabled=true,monitoring.prometheus.serviceAccount=x": "monitoring.prometheus.namespace",
	} {
		_, err := command(t.Context(), path, "template", "docket", "chart", "--set", values)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "'", ""), want) {
			t.Errorf("%s: %v, want an error with %q", values, err, want)
		}
	}
}

// TestChartValues sets what has no place in the variants.
func TestChartValues(t *testing.T) {
	t.Parallel()
	all := helm(t, "reports", "image.repository=mirror/docket", "image.tag=v1", "imagePullSecrets={pull}", "priorityClassName=high",
		"extraArgs={--watch-history=2h}", "cluster=east", "networkPolicy.enabled=false", "rbac.aggregate=false",
		"apiServices.groups={openreports.io,wgpolicyk8s.io}", "results=false", "podAnnotations.a=b", "nodeSelector.disk=ssd",
		"database.sqlite.storageClassName=fast", "database.sqlite.size=1Gi")
	pod := podOf(t, all)
	container := pod.Containers[0]
	wantArgs := []string{
		"serve", "--tls-secret=docket-serving", "--cluster=east",
		"--database=sqlite:///var/lib/docket/docket.db", "--api-groups=openreports.io,wgpolicyk8s.io", "--result-rows=false", "--watch-history=2h",
	}
	if diff := gocmp.Diff(wantArgs, container.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	checkArguments(t, pod)
	got := []string{container.Image, pod.ImagePullSecrets[0].Name, pod.PriorityClassName, pod.NodeSelector["disk"]}
	if diff := gocmp.Diff([]string{"mirror/docket:v1", "pull", "high", "ssd"}, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if all["NetworkPolicy docket"] != nil {
		t.Error("there is a NetworkPolicy")
	}
	if got, want := len(apiServices(all)), 2; got != want || all["APIService v1alpha1.results.docket.dev"] != nil {
		t.Errorf("%d APIServices without results, want %d", got, want)
	}
	if all["ClusterRole docket:fleet-view"] != nil {
		t.Error("a role for questions that are not answered")
	}
	if rules := fmt.Sprint(all["ClusterRole docket:reports-view"].Object["rules"]); strings.Contains(rules, "results.docket.dev") {
		t.Errorf("a role for results that are not served: %s", rules)
	}
	for label := range all["ClusterRole docket:reports-view"].GetLabels() {
		if strings.Contains(label, "aggregate-to") {
			t.Errorf("label %s", label)
		}
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	if image := podOf(t, helm(t, "reports", "image.digest="+digest)).Containers[0].Image; image != "docket@"+digest {
		t.Errorf("image %s", image)
	}
}

// TestWhoMayComeIn: peers from values stand in the rule of the port that they are for.
func TestWhoMayComeIn(t *testing.T) {
	t.Parallel()
	const peer = "[0].ipBlock.cidr="
	all := helm(t, "reports", "controller.enabled=true", "controller.admission.enabled=true", "networkPolicy.ingressFrom"+peer+"10.0.0.0/24",
		"controller.networkPolicy.metricsFrom"+peer+"10.0.1.0/24", "controller.networkPolicy.webhookFrom"+peer+"10.0.2.0/24")
	got := map[string]string{}
	for _, name := range []string{"docket", controllerName} {
		for _, rule := range convert[networkingv1.NetworkPolicy](t, all["NetworkPolicy "+name]).Spec.Ingress {
			for _, from := range rule.From {
				got[rule.Ports[0].Port.String()] += from.IPBlock.CIDR
			}
		}
	}
	if diff := gocmp.Diff(map[string]string{"8443": "10.0.0.0/24", "8080": "10.0.1.0/24", "9443": "10.0.2.0/24"}, got); diff != "" {
		t.Errorf("peers by port (-want +got):\n%s", diff)
	}
}

// TestChartValuesAreExplained finds values of values.yaml, which is their reference, without a comment.
func TestChartValuesAreExplained(t *testing.T) {
	t.Parallel()
	var values map[string]any
	read(t, "chart/values.yaml", &values)
	explained := map[string]bool{}
	var path []string
	comment := false
	for line := range strings.Lines(text(t, "chart/values.yaml")) {
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, "#") {
			comment = comment || strings.HasPrefix(trimmed, "# -- ")
			continue
		}
		if key, _, found := strings.Cut(trimmed, ":"); found {
			path = append(path[:(len(line)-len(trimmed))/2], key)
			explained[strings.Join(path, ".")] = comment
		}
		comment = false
	}
	for _, name := range leaves("", values) {
		if !explained[name] {
			t.Errorf("chart/values.yaml does not explain %s: begin a comment above it with \"# -- \"", name)
		}
	}
}

// leaves returns the paths of values; resources and the like are leaves as a whole.
func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for key, value := range values {
		path := prefix + key
		nested, isMap := value.(map[string]any)
		if isMap && len(nested) > 0 && key != "resources" {
			paths = append(paths, leaves(path+".", nested)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// TestDockerfile compares the image with the rest: same Go, same user as the pods.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := func(path string) string {
		data := testkit.Must(os.ReadFile(path))(t)
		return string(data)
	}
	match := func(pattern, in string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(in)
		if found == nil {
			t.Fatalf("nothing matches %s", pattern)
		}
		return found[1]
	}
	dockerfile := text("Dockerfile")
	if got, want := match(`(?m)^ARG GO_VERSION=(\S+)$`, dockerfile), match(`(?m)^go (\S+)$`, text(root+"/go.mod")); got != want {
		t.Errorf("the image is built with Go %s, want %s of go.mod", got, want)
	}
	workflow, image := text(root+"/.github/workflows/ci.yaml"), "golang:"+match(`(?m)^go (\S+)$`, text(root+"/go.mod"))+"-"
	if jobs := strings.Count(workflow, "golang:"); jobs == 0 || strings.Count(workflow, image) != jobs {
		t.Errorf("the workflow runs with another Go than that of go.mod, want %s", image)
	}
	user := fmt.Sprint(*podOf(t, kustomize(t, "overlays/sqlite")).SecurityContext.RunAsUser)
	if got := match(`(?m)^USER (\d+):\d+$`, dockerfile); got != user {
		t.Errorf("the image runs as %s, the pods as %s", got, user)
	}
	// hack/release.sh and the image hold the same binary.
	build := match(`go build (-buildvcs=true .*) -o `, dockerfile)
	if !strings.Contains(text(root+"/hack/release.sh"), "go build "+build+" ") {
		t.Errorf("hack/release.sh does not build with %s", build)
	}
}
