// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// invalid objects of a resource, and the fields that the answer is about.
type invalid struct{ resource, object, fields string }

const podSpec = `{"containers":[{"name":"c","image":"i"}]}`

func invalidCore() []invalid {
	return []invalid{
		{"configmaps", `"data":{"a/b":""}`, "data[a/b]"},
		{"configmaps", `"data":{"a":""},"binaryData":{"a":""}`, "data[a]"},
		{"secrets", `"type":"kubernetes.io/tls","data":{"tls.crt":""}`, "data[tls.key]"},
		{"services", `"spec":{}`, "spec.ports"},
		{"services", `"spec":{"type":"ExternalName"}`, "spec.externalName spec.externalName"},
		{"services", `"spec":{"type":"Other","ports":[{"port":0}]}`, "spec.type spec.ports[0].port"},
		{"services", `"spec":{"ports":[{"name":"a","port":1},{"name":"a","port":2,"protocol":"X"},{"port":3}]}`, "spec.ports[1].protocol spec.ports[1].name spec.ports[2].name"},
		{"events", `"involvedObject":{"namespace":"other"}`, "involvedObject.namespace"},
		{"pods", `"spec":{}`, "spec.containers"},
		{"pods", `"spec":{"containers":[{"name":"c","image":"i"},{"name":"c"}]}`, "spec.containers[1].name spec.containers[1].image"},
	}
}

func invalidOthers() []invalid {
	const deployments, jobs = "apps/v1/deployments", "batch/v1/jobs"
	const slices, budgets = "discovery.k8s.io/v1/endpointslices", "policy/v1/poddisruptionbudgets"
	const rbac, admission = "rbac.authorization.k8s.io/v1/", "admissionregistration.k8s.io/v1/"
	return []invalid{
		{deployments, `"spec":{"template":{"spec":` + podSpec + `}}`, "spec.selector"},
		{deployments, `"spec":{"replicas":-1,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":` + podSpec + `}}`, "spec.replicas spec.template.metadata.labels"},
		{jobs, `"spec":{"template":{"spec":` + podSpec + `}}`, "spec.template.spec.restartPolicy"},
		{"batch/v1/cronjobs", `"spec":{"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}`, "spec.schedule"},
		{slices, `"addressType":"x"`, "addressType"},
		{budgets, `"spec":{"minAvailable":1,"maxUnavailable":1}`, "spec.maxUnavailable"},
		{"coordination.k8s.io/v1/leases", `"spec":{"leaseDurationSeconds":0}`, "spec.leaseDurationSeconds"},
		{rbac + "roles", `"rules":[{"resources":["pods"],"nonResourceURLs":["/x"]}]`, "rules[0].verbs rules[0].nonResourceURLs rules[0].nonResourceURLs"},
		{rbac + "clusterroles", `"rules":[{"verbs":["get"]}]`, "rules[0].apiGroups rules[0].resources"},
		{rbac + "clusterrolebindings", `"roleRef":{"kind":"Role"},"subjects":[{"kind":"X"}]`, "roleRef.kind roleRef.name subjects[0].kind subjects[0].name"},
		{admission + "validatingwebhookconfigurations", `"webhooks":[{"name":"a"}]`,
			"webhooks[0].name webhooks[0].sideEffects webhooks[0].admissionReviewVersions webhooks[0].clientConfig"},
		{admission + "mutatingwebhookconfigurations",
			`"webhooks":[{"name":"a.b.c","sideEffects":"Some","timeoutSeconds":31,"admissionReviewVersions":["v1"],"clientConfig":{"url":"http://x"}}]`,
			"webhooks[0].sideEffects webhooks[0].timeoutSeconds webhooks[0].clientConfig.url"},
		{admission + "validatingadmissionpolicies", `"spec":{}`, "spec.matchConstraints.resourceRules spec.validations"},
		{admission + "mutatingadmissionpolicies", `"spec":{"mutations":[{"patchType":"JSONPatch"}]}`, "spec.matchConstraints.resourceRules spec.mutations[0].jsonPatch"},
		{admission + "validatingadmissionpolicybindings", `"spec":{"paramRef":{}}`, "spec.policyName spec.paramRef spec.paramRef.parameterNotFoundAction spec.validationActions"},
	}
}

// TestInvalid: the answer names each field that is wrong.
func TestInvalid(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	for _, test := range slices.Concat(invalidCore(), invalidOthers()) {
		code, _, body := server.request(t, "POST", pathOf(t, test.resource), `{"metadata":{"name":"x"},`+test.object+`}`)
		var status metav1.Status
		if err := json.Unmarshal([]byte(body), &status); err != nil || code != 422 || status.Details == nil {
			t.Errorf("%s %s: %d %s", test.resource, test.object, code, body)
			continue
		}
		var got []string
		for _, cause := range status.Details.Causes {
			got = append(got, cause.Field)
		}
		testkit.NoDiff(t, cmp.Diff(test.fields, strings.Join(got, " ")), "%s %s (-want +got)", test.resource, test.object)
	}
}

// pathOf returns the collection of a resource, named as plural or group/version/plural.
func pathOf(t *testing.T, name string) string {
	t.Helper()
	for _, row := range resources() {
		prefix := "/apis/" + row.GroupVersion().String()
		if row.GroupVersionKind.Group == "" {
			prefix = "/api/v1"
		}
		if name != row.Resource && name != row.GroupVersion().String()+"/"+row.Resource {
			continue
		}
		if row.Namespaced {
			prefix += "/namespaces/rules"
		}
		return prefix + "/" + row.Resource
	}
	t.Fatalf("no resource %s", name)
	return ""
}

// TestDefaults: omitted fields are filled in where other programs read them without a check.
func TestDefaults(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	const rule = `[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods"]}]`
	const hook = `"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"rules":` + rule +
		`,"clientConfig":{"service":{"name":"s","namespace":"n"}}}]`
	const match = `"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{}`
	for _, test := range []struct{ resource, object, want string }{
		{"services", `"spec":{"ports":[{"port":80}]}`,
			`"ports":[{"protocol":"TCP","port":80,"targetPort":80}],"type":"ClusterIP","sessionAffinity":"None"`},
		{"secrets", `"stringData":{"a":"b"},"data":{"a":"eA==","c":"ZA=="}`, `"data":{"a":"Yg==","c":"ZA=="},"type":"Opaque"`},
		{"pods", `"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":1}]}]}`, `"ports":[{"containerPort":1,"protocol":"TCP"}]`},
		{"pods", `"spec":` + podSpec, `"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst"`},
		{"admissionregistration.k8s.io/v1/validatingwebhookconfigurations", hook, match + `,"sideEffects":"None","timeoutSeconds":10`},
		{"admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", hook, `"failurePolicy":"Fail",` + match},
		{"admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", hook, `"resources":["pods"],"scope":"*"`},
		{"admissionregistration.k8s.io/v1/validatingadmissionpolicies",
			`"spec":{"validations":[{"expression":"true"}],"matchConstraints":{"resourceRules":` + rule + `}}`,
			`"failurePolicy":"Fail"`},
		{"admissionregistration.k8s.io/v1/validatingadmissionpolicies",
			`"spec":{"validations":[{"expression":"true"}],"matchConstraints":{"resourceRules":` + rule + `}}`,
			`"matchConstraints":{"namespaceSelector":{},"objectSelector":{},"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"scope":"*"}],"matchPolicy":"Equivalent"}`},
		{"rbac.authorization.k8s.io/v1/rolebindings", `"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"}]`,
			`"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}`},
	} {
		code, _, body := server.request(t, "POST", pathOf(t, test.resource), `{"metadata":{"generateName":"x"},`+test.object+`}`)
		if code != 201 || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d\n%s\nhas no\n%s", test.resource, code, body, test.want)
		}
	}
}

// TestImmutable: what is declared immutable stays, and can still be labelled.
func TestImmutable(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	core := server.client.CoreV1()
	m, err := core.ConfigMaps("ns").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("m"), Immutable: new(true), Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := core.Secrets("ns").Create(t.Context(), &corev1.Secret{ObjectMeta: named("s"), Immutable: new(true), Data: map[string][]byte{"a": nil}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*corev1.ConfigMap, *corev1.Secret){
		"data":     func(m *corev1.ConfigMap, s *corev1.Secret) { m.Data["a"], s.Data["a"] = "c", []byte("c") },
		"new key":  func(m *corev1.ConfigMap, s *corev1.Secret) { m.Data["x"], s.Data["x"] = "c", []byte("c") },
		"the flag": func(m *corev1.ConfigMap, s *corev1.Secret) { m.Immutable, s.Immutable = nil, new(false) },
	} {
		changedMap, changedSecret := m.DeepCopy(), s.DeepCopy()
		change(changedMap, changedSecret)
		if _, err := core.ConfigMaps("ns").Update(t.Context(), changedMap, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("configmap, %s: %v", name, err)
		}
		if _, err := core.Secrets("ns").Update(t.Context(), changedSecret, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("secret, %s: %v", name, err)
		}
	}
	m.Labels = map[string]string{"a": "b"}
	if _, err := core.ConfigMaps("ns").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Errorf("a label: %v", err)
	}
	s.Type = "other"
	if _, err := core.Secrets("ns").Update(t.Context(), s, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the type of a secret changed: %v", err)
	}
}

func TestRoleRefIsImmutable(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	binding := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"x"},"roleRef":{"kind":"ClusterRole","name":%q}}`
	for _, step := range []struct {
		role string
		code int
	}{{"a", 201}, {"a", 200}, {"b", 422}} {
		if code, _, body := server.request(t, "PUT", path+"/x", fmt.Sprintf(binding, step.role)); code != step.code {
			t.Errorf("role %s: %d, want %d: %s", step.role, code, step.code, body)
		}
	}
}

// longAgo is a clock that is two hours late.
type longAgo struct{ clock.RealClock }

func (longAgo) Now() time.Time { return time.Now().Add(-2 * time.Hour) }

// TestEventsVanish: an event of two hours ago is gone before long, a configmap stays.
func TestEventsVanish(t *testing.T) {
	t.Parallel()
	server := newTestServerAt(t, longAgo{})
	core := server.client.CoreV1()
	testkit.Must(core.ConfigMaps("ns").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("x")}, metav1.CreateOptions{}))(t)
	event := &corev1.Event{ObjectMeta: named("x"), InvolvedObject: corev1.ObjectReference{Namespace: "ns"}}
	testkit.Must(core.Events("ns").Create(t.Context(), event, metav1.CreateOptions{}))(t)
	testkit.Succeeds(t, "the event is gone", func() error {
		events, err := core.Events("ns").List(t.Context(), metav1.ListOptions{})
		if err == nil && len(events.Items) > 0 {
			err = fmt.Errorf("there are %d", len(events.Items))
		}
		return err
	})
	if _, err := core.ConfigMaps("ns").Get(t.Context(), "x", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
