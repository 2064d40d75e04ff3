// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const consoleName = "docket-console"

// consoleValues are ways to install the console.
func consoleValues() map[string][]string {
	const hosts, tls = "console.hosts={docket.example.com}", "console.tls.secretName=console-tls"
	const sidecar = "console.sidecars[0].name=oauth2-proxy,console.sidecars[0].ports[0].name=proxy,console.sidecars[0].ports[0].containerPort=4180"
	return map[string][]string{
		"token":             {"console.enabled=true", hosts, tls},
		"token unencrypted": {"console.enabled=true", hosts, "console.unencrypted=true"},
		"token sidecar":     {"console.enabled=true", hosts, sidecar, "resultMappings.configMap=docket-result-mappings"},
		"headers": {
			"console.enabled=true", hosts, tls, "console.signIn=headers", "console.headers.clientCASecret=proxy-ca", "console.headers.clientNames={ingress}",
			"console.headers.user={X-Forwarded-Email,X-Forwarded-User}", "console.headers.groups={X-Forwarded-Groups}",
			"console.headers.impersonateUsers={alice@example.com}",
		},
		"headers sidecar": {"console.enabled=true", hosts, sidecar, "console.signIn=headers", "console.headers.impersonateAnybody=true"},
	}
}

// TestConsole checks pod, Service, NetworkPolicy and the way to the cluster, for each way to sign in.
func TestConsole(t *testing.T) {
	t.Parallel()
	common := []string{"console", "--kubeconfig=/etc/docket/cluster/kubeconfig"}
	host := "--host=docket.example.com,docket-console.reports.svc"
	tls := []string{"--tls-cert-file=/etc/docket/tls/tls.crt", "--tls-private-key-file=/etc/docket/tls/tls.key"}
	for name, test := range map[string]struct {
		arguments []string
		target    string // of the Service, by which the NetworkPolicy lets people in, too
		scheme    corev1.URIScheme
	}{
		"token":             {append([]string{"--sign-in=token", host, "--listen=:8443"}, tls...), "console", corev1.URISchemeHTTPS},
		"token unencrypted": {[]string{"--sign-in=token", host, "--listen=:8443", "--allow-non-loopback"}, "console", corev1.URISchemeHTTP},
		"token sidecar":     {[]string{"--sign-in=token", host, "--listen=127.0.0.1:8001", "--result-mappings=/etc/docket/result-mappings"}, "proxy", ""},
		"headers": {append(append([]string{"--sign-in=headers", host, "--listen=:8443"}, tls...), "--user-headers=X-Forwarded-Email,X-Forwarded-User",
			"--group-headers=X-Forwarded-Groups", "--proxy-client-ca-file=/etc/docket/proxy/ca.crt", "--proxy-client-names=ingress"), "console", corev1.URISchemeHTTPS},
		"headers sidecar": {[]string{"--sign-in=headers", host, "--listen=127.0.0.1:8001", "--user-headers=X-Forwarded-User"}, "proxy", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, helmTool, "lint", "--strict", "chart", "--set", strings.Join(consoleValues()[name], ","))
			all := helm(t, "reports", consoleValues()[name]...)
			pod := convert[appsv1.Deployment](t, all["Deployment "+consoleName]).Spec.Template.Spec
			container := pod.Containers[0]
			if diff := gocmp.Diff(append(common, test.arguments...), container.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			checkConsolePod(t, pod)
			checkConsoleProbes(t, container, test.scheme)
			impersonates := strings.HasPrefix(name, "headers")
			checkConsoleToken(t, pod, impersonates)
			if (all["ClusterRole docket:console"] != nil) != impersonates {
				t.Error("a role for a console that does not impersonate, or none for one that does")
			}
			checkConsoleKubeconfig(t, convert[corev1.ConfigMap](t, all["ConfigMap "+consoleName]).Data["kubeconfig"], impersonates)
			if got := convert[corev1.Service](t, all["Service "+consoleName]).Spec.Ports[0].TargetPort.String(); got != test.target {
				t.Errorf("the Service leads to the port %s, want %s", got, test.target)
			}
			port := convert[networkingv1.NetworkPolicy](t, all["NetworkPolicy "+consoleName]).Spec.Ingress[0].Ports[0].Port.String()
			if want := map[string]string{"console": "8443", "proxy": "proxy"}[test.target]; port != want {
				t.Errorf("the NetworkPolicy lets in at port %s, want %s", port, want)
			}
		})
	}
}

func checkConsolePod(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	reference := text(t, filepath.Join(root, "docs", "reference", "flags.md"))
	_, reference, _ = strings.Cut(reference, "\n## docket console\n")
	reference, _, _ = strings.Cut(reference, "\n## ")
	for _, argument := range pod.Containers[0].Args[1:] {
		if name, _, _ := strings.Cut(argument, "="); !strings.Contains(reference, "`"+name+"`") {
			t.Errorf("docket console has no flag %s", name)
		}
	}
	security := pod.Containers[0].SecurityContext
	want := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := gocmp.Diff(want, security); diff != "" {
		t.Errorf("security of the container (-want +got):\n%s", diff)
	}
	if !ptr.Deref(pod.SecurityContext.RunAsNonRoot, false) || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || ptr.Deref(pod.EnableServiceLinks, true) {
		t.Error("the pod runs as root, without a seccomp profile, or with variables of Services, which would be taken for settings")
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !mount.ReadOnly {
			t.Errorf("%s is mounted writable", mount.Name)
		}
	}
	if resources := pod.Containers[0].Resources; resources.Requests.Memory().IsZero() || resources.Limits.Memory().IsZero() {
		t.Error("no request or limit of memory")
	}
}

// checkConsoleToken: the container of the console has a token if it impersonates, and the proxy beside it never has.
func checkConsoleToken(t *testing.T, pod corev1.PodSpec, impersonates bool) {
	t.Helper()
	if ptr.Deref(pod.AutomountServiceAccountToken, true) {
		t.Error("each container of the pod gets a token")
	}
	var tokens []string
	for _, volume := range pod.Volumes {
		if volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }) {
			tokens = append(tokens, volume.Name)
		}
	}
	for i, container := range pod.Containers {
		has := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return slices.Contains(tokens, m.Name) })
		if want := i == 0 && impersonates; has != want {
			t.Errorf("container %s has a token: %v, want %v", container.Name, has, want)
		}
	}
}

// checkConsoleProbes: the kubelet can't reach loopback of a pod.
func checkConsoleProbes(t *testing.T, container corev1.Container, scheme corev1.URIScheme) {
	t.Helper()
	for path, probe := range map[string]*corev1.Probe{"/livez": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		switch {
		case scheme == "" && probe != nil:
			t.Errorf("a probe of %s on loopback", path)
		case scheme != "" && (probe == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Scheme != scheme):
			t.Errorf("probe of %s: %v", path, probe)
		}
	}
}

func checkConsoleKubeconfig(t *testing.T, kubeconfig string, impersonates bool) {
	t.Helper()
	parsed := testkit.Must(clientcmd.Load([]byte(kubeconfig)))(t)
	if err := clientcmd.ConfirmUsable(*parsed, ""); err == nil || !strings.Contains(err.Error(), "/etc/docket/cluster/ca.crt") || strings.Contains(err.Error(), "invalid configuration: [") {
		t.Errorf("the kubeconfig lacks more than the file of the pod: %v", err)
	}
	user := parsed.AuthInfos[parsed.Contexts[parsed.CurrentContext].AuthInfo]
	if user == nil || user.TokenFile != map[bool]string{true: "/etc/docket/cluster/token"}[impersonates] {
		t.Errorf("the kubeconfig has the user %v", user)
	}
}

// TestConsolePage renders the example of docs/start/console.md.
func TestConsolePage(t *testing.T) {
	t.Parallel()
	_, example, found := strings.Cut(text(t, filepath.Join(root, "docs", "start", "console.md")), "```yaml\n")
	example, _, ended := strings.Cut(example, "```")
	if !found || !ended {
		t.Fatal("docs/start/console.md has no values")
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	testkit.NoError(t, os.WriteFile(path, []byte(example), 0o600))
	all := parse(t, run(t, helmTool, "template", "docket", "chart", "--namespace", namespace, "--values", path))
	pod := convert[appsv1.Deployment](t, all["Deployment "+consoleName]).Spec.Template.Spec
	if len(pod.Containers) != 2 || !slices.Contains(pod.Containers[0].Args, "--listen=127.0.0.1:8001") || !slices.Contains(pod.Containers[1].Args, "--upstream=http://127.0.0.1:8001") {
		t.Errorf("the proxy does not reach the console: %v", pod.Containers)
	}
}

// TestConsoleRoles: the console may be somebody else, within what values name, and may do nothing else.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	const group, on = "authentication.k8s.io", "impersonate-on:user-info:"
	rule := func(group, resource, verbs string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resource, ","), ResourceNames: names, Verbs: strings.Split(verbs, ",")}
	}
	const onUsers, onGroups, anybody = "console.headers.impersonateUsers={alice@example.com}", "console.headers.impersonateGroups={dev,ops}", "console.headers.impersonateAnybody=true"
	for name, test := range map[string]struct {
		values []string
		want   []rbacv1.PolicyRule
	}{
		"users":             {[]string{onUsers}, []rbacv1.PolicyRule{rule("", "users", "impersonate", "alice@example.com")}},
		"users and groups":  {[]string{onUsers, onGroups}, []rbacv1.PolicyRule{rule("", "users", "impersonate", "alice@example.com"), rule("", "groups", "impersonate", "dev", "ops")}},
		"anybody":           {[]string{anybody}, []rbacv1.PolicyRule{rule("", "users", "impersonate"), rule("", "groups", "impersonate")}},
		"anybody in groups": {[]string{anybody, onGroups}, []rbacv1.PolicyRule{rule("", "users", "impersonate"), rule("", "groups", "impersonate", "dev", "ops")}},
		"anybody, constrained": {[]string{anybody, "console.headers.constrained=true"}, []rbacv1.PolicyRule{
			rule(group, "users", "impersonate:user-info"), rule(group, "groups", "impersonate:user-info"),
			rule("results.docket.dev", "*", on+"get,"+on+"list,"+on+"create"),
			rule("wgpolicyk8s.io", "policyreports,clusterpolicyreports", on+"get,"+on+"watch"),
			rule("openreports.io", "reports,clusterreports", on+"get,"+on+"watch"),
			rule("", "namespaces", on+"list"),
			rule(group, "selfsubjectreviews", on+"create"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := helm(t, namespace, append(slices.DeleteFunc(consoleValues()["headers"], func(v string) bool { return v == onUsers }), test.values...)...)
			if diff := gocmp.Diff(test.want, convert[rbacv1.ClusterRole](t, all["ClusterRole docket:console"]).Rules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			for key := range all {
				if strings.Contains(key, "Role") && strings.Contains(key, "console") && key != "ClusterRole docket:console" && key != "ClusterRoleBinding docket:console" {
					t.Errorf("there is %s", key)
				}
			}
		})
	}
	for key := range helm(t, namespace) {
		if strings.Contains(key, "console") {
			t.Errorf("there is %s without the console", key)
		}
	}
}

// TestConsoleRefuses gives values that would let in whom nobody has signed in, or nobody; the error names what to give.
func TestConsoleRefuses(t *testing.T) {
	t.Parallel()
	path := testenv.Program(t, helmTool)
	const hosts, tls = "console.enabled=true,console.hosts={docket.example.com},", "console.tls.secretName=x,"
	const proxied = hosts + tls + "console.signIn=headers,console.headers.clientCASecret=x,console.headers.clientNames={x}"
	for values, want := range map[string]string{
		"console.signIn=link":                                                   "/console/signIn",
		"console.hosts={https://a}":                                             "/console/hosts/0",
		"console.enabled=true":                                                  "console.hosts: name the host",
		hosts + "console.signIn=token":                                          "console.tls.secretName: name a Secret",
		hosts + "console.signIn=headers":                                        "console.tls.secretName: name a Secret",
		hosts + "console.signIn=headers,console.unencrypted=true":               "console.headers.clientCASecret: who is in these headers",
		hosts + tls + "console.signIn=headers":                                  "console.headers.clientCASecret: who is in these headers",
		hosts + tls + "console.signIn=headers,console.headers.clientCASecret=x": "console.headers.clientNames",
		hosts + tls + "console.headers.clientCASecret=x":                        "it is for console.signIn=headers",
		hosts + tls + "console.sidecars[0].name=a":                              "leave console.tls.secretName",
		hosts + "console.sidecars[0].name=a":                                    "the name proxy",
		proxied:                                                                 "console.headers.impersonateUsers: name the people",
		proxied + ",console.headers.impersonateGroups={dev}":                    "impersonateGroups alone",
		proxied + ",console.headers.constrained=true":                           "console.headers.impersonateUsers: name the people",
		"console.headers.impersonateGroups={system:masters}":                    "/console/headers/impersonateGroups/0",
	} {
		_, err := command(t.Context(), path, "template", "docket", "chart", "--set", values)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "'", ""), want) {
			t.Errorf("%s: %v, want an error with %q", values, err, want)
		}
	}
}
