// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// admitting starts a controller whose webhook kube-apiserver calls on this machine. It has the
// rights of deploy/controller and its component admission, and no others.
func admitting(t *testing.T, c *controlled, arguments ...string) (port int) {
	t.Helper()
	applyAdmission(t, c)
	kubectl := c.cluster.Kubectl(t, deployNamespace)
	token := strings.TrimSpace(kubectl.Run(t, "create", "token", "docket-controller"))
	port = testenv.FreePort(t)
	c.controller = harness.RunController(t, c.cluster.KubeconfigOf(t, "docket-controller", token), append([]string{
		"--leader-elect-namespace", deployNamespace, "--admission", "--webhook-namespace", deployNamespace,
		fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", port), fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port),
	}, arguments...)...)
	return port
}

// applyAdmission applies what docs/controller/admission.md tells to, without Docket itself.
func applyAdmission(t *testing.T, c *controlled) {
	t.Helper()
	c.cluster.EnsureNamespace(t, deployNamespace)
	folder := t.TempDir()
	base := testkit.Must(filepath.Rel(folder, filepath.Dir(harness.PolicyCRDs(t))))(t)
	kustomization := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", base, filepath.Join(base, "admission"))
	testkit.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600))
	c.kubectl.Run(t, "apply", "-k", folder)
}

// waitRegistered waits until kube-apiserver asks about a policy: its effect is all that tells.
func (c *controlled) waitRegistered(t *testing.T, refused string) {
	t.Helper()
	waitUntil(t, "the webhook is asked", func() bool {
		return c.kubectl.Try(t, refused, "create", "--dry-run=server", "-f", "-").Code != 0
	})
}

// enforcedLabel denies ConfigMaps of the namespace strict without the label team.
func enforcedLabel(name string) string {
	return fmt.Sprintf(`---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [strict]}}]}
    validate:
      failureAction: Enforce
      message: label team is required
      pattern: {metadata: {labels: {team: "?*"}}}
`, name)
}

// admissionOnly gives results at admission only, because it asks who made the request.
func admissionOnly(name, namespace string) string {
	return fmt.Sprintf(`---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  background: false
  rules:
  - name: user
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [%s]}}]}
    validate:
      message: "made by {{ request.userInfo.username }}"
      deny: {conditions: {any: [{key: "{{ request.object.data.owner || '' }}", operator: NotEquals, value: "{{ request.userInfo.username }}"}]}}
`, name, namespace)
}

func ownedMap(name, owner string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: owned}\ndata: {owner: %s}\n", name, owner)
}

// TestAdmission has kube-apiserver ask the controller.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := startControlledEverywhere(t)
	admitting(t, c)
	for _, namespace := range []string{"strict", "owned"} {
		c.cluster.EnsureNamespace(t, namespace)
	}
	t.Run("enforce", func(t *testing.T) { admissionEnforce(t, c) })
	t.Run("CEL", func(t *testing.T) { admissionCEL(t, c) })
	c.kubectl.RunInput(t, admissionOnly("owners", "owned"), "apply", "-f", "-")
	// Reports of what nobody denies show that the policy is asked.
	n := 0
	waitUntil(t, "admission is reported", func() bool {
		n++
		c.kubectl.RunInput(t, ownedMap(fmt.Sprintf("probe-%d", n), "admin"), "create", "-f", "-")
		return len(c.results(t, "owned")) > 0
	})
	c.kubectl.Run(t, "delete", "configmaps", "-n", "owned", "--all")
	c.wantResults(t, "owned", map[string]string{})
	t.Run("results", func(t *testing.T) { admissionResults(t, c) })
	t.Run("requests that leave nothing", func(t *testing.T) { admissionNothing(t, c) })
	t.Run("restart", func(t *testing.T) { admissionRestart(t, c) })
	t.Run("context cache", func(t *testing.T) { admissionCached(t, c) })
	t.Run("subresource", func(t *testing.T) { admissionSubresource(t, c) })
	t.Run("resize", func(t *testing.T) { admissionResize(t, c) })
}

func admissionEnforce(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, enforcedLabel("labels"), "apply", "-f", "-")
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}}"
	good := "{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: strict, labels: {team: a}}}"
	c.waitRegistered(t, bad)
	c.kubectl.Refused(t, bad, []string{"labels", "label team is required", "strict/bad"}, "create", "-f", "-")
	c.kubectl.RunInput(t, good, "create", "-f", "-")
	c.kubectl.Refused(t, good, []string{"label team is required"}, "label", "-f", "-", "team-")
	c.kubectl.RunInput(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: else, namespace: default}}", "create", "-f", "-")
	c.kubectl.Run(t, "delete", "configmap", "-n", "strict", "good")
	c.kubectl.Run(t, "delete", "clusterpolicy", "labels")
	waitUntil(t, "nobody refuses any more", func() bool { return c.kubectl.Try(t, bad, "create", "--dry-run=server", "-f", "-").Code == 0 })
}

func admissionCEL(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: not-by-name}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, DELETE], resources: [configmaps]}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: strict}}}
  validations: [{expression: "request.operation == 'DELETE' ? oldObject.metadata.name != 'precious' : object.metadata.name != 'evil'", messageExpression: "'no ' + request.operation + ' by ' + request.userInfo.username"}]
`, "apply", "-f", "-")
	c.waitRegistered(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: evil, namespace: strict}}")
	precious := "{apiVersion: v1, kind: ConfigMap, metadata: {name: precious, namespace: strict}}"
	c.kubectl.RunInput(t, precious, "create", "-f", "-")
	// What was registered for the policy before this one, creations, may still be there.
	waitUntil(t, "the webhook is asked about deletions", func() bool {
		return c.kubectl.Try(t, precious, "delete", "--dry-run=server", "-f", "-").Code != 0
	})
	c.kubectl.Refused(t, precious, []string{"no DELETE by admin"}, "delete", "-f", "-")
	c.kubectl.Run(t, "delete", "validatingpolicies.policies.kyverno.io", "not-by-name")
	waitUntil(t, "it can be deleted", func() bool { return c.kubectl.Try(t, precious, "delete", "-f", "-").Code == 0 })
}

func owners(names map[string]string) map[string]string {
	results := map[string]string{}
	for name, outcome := range names {
		results["owners user ConfigMap/"+name] = outcome
	}
	return results
}

// admissionResults: creation, change, a name that the API server makes, and deletion.
func admissionResults(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, ownedMap("mine", "admin")+ownedMap("other", "somebody"), "create", "-f", "-")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass", "other": "fail"}))
	wantOutput(t, textOf(t, c.reports(t)), "made by admin")
	c.kubectl.RunInput(t, ownedMap("other", "admin"), "apply", "-f", "-")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass", "other": "pass"}))
	created := c.kubectl.RunInput(t, "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-, namespace: owned}, data: {owner: admin}}", "create", "-f", "-", "-o", "name")
	made := strings.TrimPrefix(strings.TrimSpace(created), "configmap/")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass", "other": "pass", made: "pass"}))
	c.kubectl.Run(t, "delete", "configmap", "-n", "owned", made, "other")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass"}))
	// What replicas hand to the leader does not stay.
	waitUntil(t, "no EphemeralReport is left", func() bool { return c.ephemeral(t) == 0 })
}

func (c *controlled) ephemeral(t *testing.T) int {
	t.Helper()
	kind := schema.GroupVersionResource{Group: "reports.kyverno.io", Version: "v1", Resource: "ephemeralreports"}
	list := testkit.Must(c.client.Resource(kind).List(t.Context(), metav1.ListOptions{}))(t)
	return len(list.Items)
}

// admissionNothing: a dry run, and objects that somebody else rejects after the webhook was asked:
// quota is the last to decide.
func admissionNothing(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, ownedMap("dry", "admin"), "create", "--dry-run=server", "-f", "-")
	count := c.count(t, "configmaps")
	c.kubectl.RunInput(t, fmt.Sprintf("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full, namespace: owned}, spec: {hard: {count/configmaps: %q}}}", "1"), "create", "-f", "-")
	waitUntil(t, "the quota rejects", func() bool {
		return c.kubectl.Try(t, ownedMap("rejected", "admin"), "create", "-f", "-").Code != 0
	})
	c.kubectl.Run(t, "delete", "resourcequota", "-n", "owned", "full")
	if got := c.count(t, "configmaps"); got != count {
		t.Fatalf("%d ConfigMaps instead of %d", got, count)
	}
	// Later requests are merged later: when this one is there, the others have been looked at.
	c.kubectl.RunInput(t, ownedMap("last", "admin"), "create", "-f", "-")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass", "last": "pass"}))
	c.kubectl.Run(t, "delete", "configmap", "-n", "owned", "last")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass"}))
}

// admissionRestart: results of requests outlive the process, unless their object is gone.
func admissionRestart(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, ownedMap("goes", "admin"), "create", "-f", "-")
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass", "goes": "pass"}))
	c.controller.Stop(t)
	// The policy does not enforce, so nobody has to be asked.
	c.kubectl.Run(t, "delete", "configmap", "-n", "owned", "goes")
	c.controller.Start(t)
	c.wantResults(t, "owned", owners(map[string]string{"mine": "pass"}))
}

// admissionCached: the second policy of the motivation of the resource cache's document.
func admissionCached(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, `---
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: all-ingresses}
spec: {resource: {kind: Ingress}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: unique-hosts}
spec:
  rules:
  - name: host
    match: {any: [{resources: {kinds: [Ingress], operations: [CREATE]}}]}
    context:
    - name: hosts
      cachedContextEntry: {name: all-ingresses, jmespath: "items[].spec.rules[].host"}
    validate:
      failureAction: Enforce
      message: another Ingress has the host
      deny: {conditions: {any: [{key: "{{ request.object.spec.rules[].host }}", operator: AnyIn, value: "{{ hosts }}"}]}}
`, "apply", "-f", "-")
	c.kubectl.RunInput(t, ingress("strict", "first", "first.example.com"), "create", "-f", "-")
	c.waitRegistered(t, ingress("strict", "again", "first.example.com"))
	c.kubectl.RunInput(t, ingress("strict", "second", "second.example.com"), "create", "-f", "-")
	started := time.Now()
	waitUntil(t, "the new host is taken", func() bool {
		return c.kubectl.Try(t, ingress("strict", "again", "second.example.com"), "create", "--dry-run=server", "-f", "-").Code != 0
	})
	t.Logf("taken after %v, kubectl included", time.Since(started))
	c.kubectl.Run(t, "delete", "clusterpolicy/unique-hosts", "cce/all-ingresses")
}

// admissionSubresource: who may scale.
func admissionSubresource(t *testing.T, c *controlled) {
	c.kubectl.Run(t, "create", "deployment", "web", "-n", "strict", "--image=registry.k8s.io/pause:3.10")
	c.kubectl.RunInput(t, `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: scale}
spec:
  background: false
  rules:
  - name: few
    match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [strict]}}]}
    validate:
      failureAction: Enforce
      message: not more than 3
      pattern: {spec: {replicas: "<4"}}
`, "apply", "-f", "-")
	waitUntil(t, "scaling is refused", func() bool {
		result := c.kubectl.Try(t, "", "scale", "deployment", "-n", "strict", "web", "--replicas=4", "--dry-run=server")
		return result.Code != 0 && strings.Contains(result.Stderr, "not more than 3")
	})
	c.kubectl.Run(t, "scale", "deployment", "-n", "strict", "web", "--replicas=2")
	c.kubectl.Run(t, "delete", "clusterpolicy", "scale")
}

// admissionResize: a rule about pods that refuses a new pod also refuses to resize a running one to the same.
func admissionResize(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: small}
spec:
  background: false
  rules:
  - name: requests
    match: {any: [{resources: {kinds: [Pod], namespaces: [strict]}}]}
    validate:
      failureAction: Enforce
      message: at most one processor
      foreach:
      - list: request.object.spec.containers
        deny: {conditions: {any: [{key: "{{ element.resources.requests.cpu || '0' }}", operator: GreaterThan, value: "1"}]}}
`, "apply", "-f", "-")
	pod := func(cpu string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: sized, namespace: strict}, spec: {automountServiceAccountToken: false,
  containers: [{name: c, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "` + cpu + `"}, limits: {cpu: "4"}}}]}}`
	}
	waitUntil(t, "large pods are refused", func() bool {
		return c.kubectl.Try(t, pod("1500m"), "create", "--dry-run=server", "-f", "-").Code != 0
	})
	c.kubectl.RunInput(t, pod("500m"), "create", "-f", "-")
	resize := func(cpu string) []string {
		return []string{"patch", "pod", "-n", "strict", "sized", "--subresource", "resize", "-p", `{"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "` + cpu + `"}}}]}}`}
	}
	c.kubectl.Refused(t, "", []string{"at most one processor", "strict/sized"}, resize("1500m")...)
	c.kubectl.Run(t, resize("800m")...)
	c.kubectl.Run(t, "delete", "clusterpolicy", "small")
	c.kubectl.Run(t, "delete", "pod", "-n", "strict", "sized", "--force", "--grace-period=0")
}

// TestAdmissionReplicas: a replica that does not lead answers, also while none leads, and what it
// found reaches the reports.
func TestAdmissionReplicas(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	applyAdmission(t, c)
	c.cluster.EnsureNamespace(t, "strict")
	c.cluster.EnsureNamespace(t, "owned")
	standby := testenv.FreePort(t)
	replicas := make([]*harness.Controller, 2)
	for i := range replicas {
		port := standby
		if i == 0 { // The first one leads. Only the other one is asked.
			port = testenv.FreePort(t)
		}
		replicas[i] = harness.RunController(t, c.cluster.Kubeconfig(), "--leader-elect-namespace", deployNamespace, "--admission", "--webhook-namespace", deployNamespace,
			fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", port), fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", standby))
	}
	c.controller = replicas[0]
	c.kubectl.RunInput(t, enforcedLabel("labels")+admissionOnly("owners", "owned"), "apply", "-f", "-")
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}}"
	c.waitRegistered(t, bad)
	want := map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("map-%d", i)
		c.kubectl.RunInput(t, ownedMap(name, "admin"), "create", "-f", "-")
		want[name] = "pass"
		c.kubectl.Refused(t, bad, []string{"label team is required"}, "create", "-f", "-")
	}
	c.wantResults(t, "owned", owners(want))
	if replicas[1].Metric(t, "docket_controller_admission_requests_total", nil) == 0 || replicas[0].Metric(t, "docket_controller_report_writes_total", nil) == 0 {
		t.Error("not the standby was asked, or not the leader has reported")
	}
	// The leader dies. The other one answers as before, and reports when it leads.
	replicas[0].Kill(t)
	c.controller = replicas[1]
	c.kubectl.Refused(t, bad, []string{"label team is required"}, "create", "-f", "-")
	c.kubectl.RunInput(t, ownedMap("after", "admin"), "create", "-f", "-")
	want["after"] = "pass"
	c.wantResults(t, "owned", owners(want))
}

// TestAdmissionFlood: 2,000 requests a second are answered or refused, and memory stays.
func TestAdmissionFlood(t *testing.T) {
	t.Parallel()
	c := startControlledEverywhere(t)
	port := admitting(t, c, "--webhook-timeout=3s")
	c.cluster.EnsureNamespace(t, "strict")
	slow := strings.Repeat("*a", 40)
	c.kubectl.RunInput(t, fmt.Sprintf(`
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: slow}
spec:
  rules:
  - name: slow
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [strict], operations: [CREATE]}}]}
    validate:
      failureAction: Enforce
      message: never
      pattern: {data: {text: "!%s*b"}}
`, slow), "apply", "-f", "-")
	bad := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: strict}, data: {text: %q}}", strings.Repeat("a", 4000))
	c.waitRegistered(t, bad)
	// The policy never ends: kube-apiserver gets our answer before its own time is up, when it would use other words.
	c.kubectl.Refused(t, bad, []string{"longer than"}, "create", "-f", "-")
	c.flood(t, port)
}

// flood asks the webhook itself, 2,000 times a second for 10 s, about what the slow policy is not
// about. Every request gets an answer, be it that there are too many.
func (c *controlled) flood(t *testing.T, port int) {
	t.Helper()
	const clients, rate, seconds = 64, 2000, 10
	client := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: clients, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
"name":"a","namespace":"strict","operation":"CREATE","userInfo":{"username":"u"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"strict","uid":"u"},"data":{"text":"` + strings.Repeat("x", 1000) + `"}}}}`
	memory := func() float64 { return c.controller.Metric(t, "process_resident_memory_bytes", nil) }
	before := memory()
	var answered, refused, failed atomic.Int64
	ticks := make(chan struct{}, rate)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range ticks {
				switch code := post(t, client, fmt.Sprintf("https://127.0.0.1:%d/validate/fail?timeout=3s", port), review); code {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					failed.Add(1)
				}
			}
		})
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	for range seconds * 100 {
		<-ticker.C
		for range rate / 100 {
			ticks <- struct{}{}
		}
	}
	ticker.Stop()
	close(ticks)
	group.Wait()
	after := memory()
	t.Logf("%d answered, %d refused; memory %.0f MB before and %.0f MB after", answered.Load(), refused.Load(), before/1e6, after/1e6)
	if failed.Load() > 0 || answered.Load() == 0 {
		t.Errorf("%d requests of %d failed", failed.Load(), rate*seconds)
	}
	if after > before+200e6 {
		t.Errorf("memory has grown from %.0f to %.0f MB", before/1e6, after/1e6)
	}
}

// post returns the status code, 0 if there was none.
func post(t *testing.T, client *http.Client, url, body string) int {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}
