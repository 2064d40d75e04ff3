// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	selfReview = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	// consoleGroup may view team-b.
	consoleGroup = "team-b-viewers"
)

// seenPolicy is the policy of a result in an answer; it is called as its report.
var seenPolicy = regexp.MustCompile(`"policy":\s?"(of-[a-z-]+)"`)

// visitor is somebody at a console for a team.
type visitor struct {
	name   string
	header http.Header // what the proxy sends
	// kubectl is the same person's.
	kubectl *harness.Kubectl
	// sees are the namespaces whose results the person may read.
	sees []string
}

// testConsole: at a console for a team people see what kubectl shows them, and nothing else.
func (b *bootstrapped) testConsole(t *testing.T) {
	t.Run("token", b.testConsoleTokens)
	b.kubectl.Run(t, "create", "serviceaccount", "docket-console", "--namespace", bootstrapNamespace)
	b.kubectl.Run(t, "create", "rolebinding", consoleGroup, "--namespace", "team-b", "--clusterrole=view", "--group="+consoleGroup)
	b.kubectl.Run(t, "create", "clusterrolebinding", "boss", "--clusterrole=cluster-admin", "--user=boss")
	t.Run("headers", func(t *testing.T) {
		b.testConsoleHeaders(t, "console.headers.impersonateUsers={viewer,member,auditor}", "console.headers.impersonateGroups={other,"+consoleGroup+"}")
	})
	t.Run("headers constrained", func(t *testing.T) {
		b.testConsoleHeaders(t, "console.headers.impersonateAnybody=true", "console.headers.constrained=true")
	})
}

// testConsoleTokens gives the console the kubeconfig of an administrator: it must count for nobody.
func (b *bootstrapped) testConsoleTokens(t *testing.T) {
	console := harness.StartConsole(t, b.Kubeconfig(), "--sign-in=token")
	var people []visitor
	for _, namespace := range []string{"team-a", "team-b"} {
		b.kubectl.Run(t, "create", "serviceaccount", "person", "--namespace", namespace)
		b.kubectl.Run(t, "create", "rolebinding", "person", "--namespace", namespace, "--clusterrole=view", "--serviceaccount="+namespace+":person")
		token := strings.TrimSpace(b.kubectl.Run(t, "create", "token", "person", "--namespace", namespace))
		people = append(people, visitor{
			name: "system:serviceaccount:" + namespace + ":person", header: http.Header{"Authorization": {"Bearer " + token}},
			kubectl: harness.KubectlMerged(t, "", b.KubeconfigOf(t, "person", token)), sees: []string{namespace},
		})
	}
	b.visit(t, console, people)
	for name, header := range map[string]http.Header{
		"without a token":    {"X-Forwarded-User": {"auditor"}},
		"with a wrong token": {"Authorization": {"Bearer of-nobody"}, "Impersonate-User": {"auditor"}},
	} {
		if code, text := console.Ask(t, http.MethodGet, "/api/v1/namespaces", "", header); code != http.StatusUnauthorized {
			t.Errorf("somebody %s: %d %s", name, code, text)
		}
	}
}

// testConsoleHeaders: the console has the rights that the chart gives it, and no others.
func (b *bootstrapped) testConsoleHeaders(t *testing.T, values ...string) {
	role := helm(t, "", append([]string{"template", "docket", filepath.Join(deployFolder, "chart"), "--namespace", bootstrapNamespace, "--show-only", "templates/console/rbac.yaml"},
		withSet(append(values, "console.enabled=true", "console.hosts={localhost}", "console.signIn=headers", "console.tls.secretName=tls",
			"console.headers.clientCASecret=ca", "console.headers.clientNames={proxy}"))...)...)
	b.kubectl.RunInput(t, role, "apply", "-f", "-")
	token := strings.TrimSpace(b.kubectl.Run(t, "create", "token", "docket-console", "--namespace", bootstrapNamespace))
	kubeconfig := b.KubeconfigOf(t, "console", token)
	console := harness.StartConsole(t, kubeconfig, "--sign-in=headers", "--group-headers=X-Forwarded-Groups")
	b.visit(t, console, []visitor{
		{"viewer", http.Header{"X-Forwarded-User": {"viewer"}}, b.kubectl.As("viewer"), []string{"team-a"}},
		{"member", http.Header{"X-Forwarded-User": {"member"}, "X-Forwarded-Groups": {"other," + consoleGroup}}, b.kubectl.As("member", "other", consoleGroup), []string{"team-b"}},
		{"auditor", http.Header{"X-Forwarded-User": {"auditor"}}, b.kubectl.As("auditor"), []string{"team-a", "team-b", "nobody"}},
	})
	for want, header := range map[int]http.Header{
		http.StatusUnauthorized: {"Impersonate-User": {"auditor"}, "Authorization": {"Bearer " + token}},
		http.StatusForbidden:    {"X-Forwarded-User": {"viewer"}, "X-Forwarded-Groups": {"system:masters"}},
	} {
		if code, text := console.Ask(t, http.MethodGet, "/api/v1/namespaces", "", header); code != want {
			t.Errorf("%v: %d %s, want %d", header, code, text, want)
		}
	}
	askAsPages(t, console)
	own := harness.KubectlMerged(t, "", kubeconfig)
	for _, resource := range []string{"wgpolicyk8s.io/v1alpha2/policyreports", "wgpolicyk8s.io/v1alpha2/clusterpolicyreports", "openreports.io/v1alpha1/reports"} {
		own.Run(t, "--as=auditor", "get", "--raw", "/apis/"+resource+"?watch=true&timeoutSeconds=1") // As the console does for a live page.
	}
	checkStolenToken(t, own)
}

// askAsPages sends what pages ask besides lists of results, as somebody who may read everything.
func askAsPages(t *testing.T, console *harness.Console) {
	t.Helper()
	const reports = "/apis/wgpolicyk8s.io/v1alpha2/"
	for path, body := range map[string]string{
		reports + "namespaces/team-a/policyreports/of-team-a":                      "",
		reports + "clusterpolicyreports/of-nobody":                                 "",
		"/apis/" + resultsGroup + "/v1alpha1/namespaces/team-a/localresultqueries": query("LocalResultQuery"),
		"/apis/" + resultsGroup + "/v1alpha1/resultqueries":                        query("ResultQuery"),
	} {
		method, want := http.MethodGet, http.StatusOK
		if body != "" {
			method, want = http.MethodPost, http.StatusCreated
		}
		if code, text := console.Ask(t, method, path, body, http.Header{"X-Forwarded-User": {"auditor"}}); code != want {
			t.Errorf("%s: %d %.300s, want %d", path, code, text, want)
		}
	}
}

// checkStolenToken: the token of the console does not open the cluster.
func checkStolenToken(t *testing.T, token *harness.Kubectl) {
	t.Helper()
	for _, test := range []struct {
		who *harness.Kubectl
		ask string
	}{
		{token.As("boss"), "/api/v1/namespaces/kube-system/secrets"},
		{token.As("viewer", "system:masters"), "/api/v1/namespaces/kube-system/secrets"},
		{token.As("viewer", "system:masters"), "/apis/" + resultsGroup + "/v1alpha1/policyresults"},
		{token.As("system:serviceaccount:kube-system:generic-garbage-collector"), "/api/v1/namespaces"},
		{token, "/apis/" + resultsGroup + "/v1alpha1/policyresults"},
	} {
		if got := test.who.Try(t, "", "get", "--raw", test.ask); got.Code == 0 || !strings.Contains(got.Stderr, "orbidden") {
			t.Errorf("%s with the token of the console: %.300s%s", test.ask, got.Stdout, got.Stderr)
		}
	}
}

// visit compares what people see at a console with what kubectl shows them.
func (b *bootstrapped) visit(t *testing.T, console *harness.Console, people []visitor) {
	t.Helper()
	const group = "/apis/" + resultsGroup + "/v1alpha1"
	for _, person := range people {
		header := person.header.Clone()
		// What the person's browser may add.
		header.Set("Impersonate-User", "auditor")
		header.Set("Impersonate-Group", "system:masters")
		if code, text := console.Ask(t, http.MethodPost, selfReview, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, header); code != http.StatusCreated ||
			!strings.Contains(text, `"username":"`+person.name+`"`) {
			t.Errorf("%s is known as %d %s", person.name, code, text)
		}
		everywhere := slices.Contains(person.sees, "nobody")
		for path, want := range map[string]bool{
			group + "/namespaces/team-a/policyresults": slices.Contains(person.sees, "team-a"),
			group + "/namespaces/team-b/policyresults": slices.Contains(person.sees, "team-b"),
			group + "/policyresults":                   everywhere,
			group + "/clusterpolicyresults":            everywhere,
			"/api/v1/namespaces":                       everywhere,
		} {
			code, text := console.Ask(t, http.MethodGet, path, "", header)
			shown := person.kubectl.Try(t, "", "get", "--raw", path)
			if want != (code == http.StatusOK) || want != (shown.Code == 0) || !want && code != http.StatusForbidden {
				t.Errorf("%s at %s: the console says %d %.300s, kubectl %d %s; want rights: %t", person.name, path, code, text, shown.Code, shown.Stderr, want)
			}
			if got, want := policies(text), policies(shown.Stdout); !slices.Equal(got, want) {
				t.Errorf("%s at %s: the console shows %v, kubectl %v", person.name, path, got, want)
			}
		}
	}
}

// policies returns the policies of the results in an answer.
func policies(text string) []string {
	var found []string
	for _, match := range seenPolicy.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}
