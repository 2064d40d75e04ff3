// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// askedServer is an API server that answers everything and records the requests.
type askedServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newAskedServer(t *testing.T) *askedServer {
	t.Helper()
	s := &askedServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *askedServer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		return
	case "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		return
	case "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[
			{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["get","list"]},
			{"name":"nodes","kind":"Node","namespaced":false,"verbs":["get","list"]}]}`)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"deny":"bad"},"items":[],"status":{"allowed":true}}`)
}

// take returns what was asked for since the last time.
func (s *askedServer) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asked = nil }()
	return s.asked
}

// compilerFor returns a compiler for the server. Its clients are not guarded: what is refused here is
// refused before it gets to a transport.
func (s *askedServer) compilerFor(t *testing.T) *Compiler {
	t.Helper()
	return compilerOf(t, s.URL, call.Config{})
}

// callRule is a rule that reads a call.
func callRule(call string) string {
	return enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, apiCall: ` + call + `}]
validate: {deny: {conditions: {any: [{key: "{{ to_string(c) }}", operator: Equals, value: none}]}}}
`))
}

// celRuleOf is a rule in CEL with a parameter.
func celRuleOf(reference string) string {
	return enginetest.ClusterPolicy(enginetest.PodRule(`
validate:
  cel:
    paramKind: ` + reference + `
    expressions: [{expression: "params.metadata.name != 'x'"}]
`))
}

// celText is a policy in CEL in the namespace team, or in none.
func celText(expression string, namespaced bool) string {
	text := strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"`+expression+`", m`, 1)
	if !namespaced {
		return text
	}
	text = strings.Replace(text, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	return strings.Replace(text, "metadata: {", "metadata: {namespace: team, ", 1)
}

// TestNamespacedPolicyStaysInItsNamespace: whatever a namespaced policy asks for, nothing is read
// outside its namespace, and nothing is written at all. The answer is an error, also where there
// is a default.
func TestNamespacedPolicyStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	server := newAskedServer(t)
	c := server.compilerFor(t)
	policies := map[string]string{}
	for _, call := range []string{
		`{urlPath: "/api/v1/configmaps?x=/namespaces/team/"}`,
		`{urlPath: "/api/v1/configmaps?labelSelector=a&fieldSelector=/namespaces/team/"}`,
		`{urlPath: "/api/v1/configmaps?x=/namespaces/team/", default: [none]}`,
		`{urlPath: "/api/v1/nodes/n/proxy/namespaces/team/pods"}`,
		`{urlPath: "/api/v1/namespaces/team/pods/x/proxy/secret"}`,
		`{urlPath: "/api/v1/watch/namespaces/team/configmaps"}`,
		`{urlPath: "/api/v1/namespaces/team/configmaps?watch=true"}`,
		`{urlPath: "/api/v1/namespaces/team"}`,
		`{urlPath: "/api/v1/namespaces/team/status"}`,
		`{urlPath: "/api/v1/namespaces/team/%2e%2e/other/configmaps"}`,
		`{urlPath: "/api/v1/namespaces/team/../other/configmaps"}`,
		`{urlPath: "/api/v1//namespaces/team/configmaps"}`,
		`{urlPath: "/api/v1/namespaces/other/configmaps"}`,
		`{urlPath: "/api/v1/{{ request.object.metadata.annotations.none || 'configmaps?x=' }}/namespaces/team/"}`,
		`{urlPath: "/api/v1/namespaces/team/configmaps", method: POST, data: [{key: a, value: b}]}`,
		`{urlPath: "/apis/authorization.k8s.io/v1/subjectaccessreviews?x=/apis/v1/namespaces/team/a", method: POST}`,
		`{service: {url: "` + server.URL + `/"}}`,
	} {
		policies[call] = enginetest.InTeam(callRule(call))
	}
	for _, reference := range []string{
		"{apiVersion: v1, kind: ConfigMap}\n    paramRef: {name: settings, namespace: other, parameterNotFoundAction: Deny}",
		"{apiVersion: v1, kind: Node}\n    paramRef: {name: n, parameterNotFoundAction: Deny}",
	} {
		policies[reference] = enginetest.InTeam(celRuleOf(reference))
	}
	for _, expression := range []string{
		"resource.List('v1', '../other/configmaps').kind != 'a'",
		"resource.List('v1', '../../configmaps').kind != 'a'",
		"resource.Get('v1', '../other/configmaps', 'settings').kind != 'a'",
		"resource.List('v1/..', 'configmaps').kind != 'a'",
		"resource.Post('v1', 'configmaps', {'metadata': dyn({'name': 'x'})}).kind != 'a'",
		"resource.Post('authorization.k8s.io/v1', '../../subjectaccessreviews', {'spec': dyn({})}).kind != 'a'",
	} {
		policies[expression] = celText(expression, true)
	}
	for name, text := range policies {
		p := c.Compile(enginetest.Object(t, text), nil)
		results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, enginetest.BadPod))
		if len(results) != 1 || results[0].Outcome != "error" {
			t.Errorf("%s: %+v, want an error", name, results)
		}
		if asked := server.take(); len(asked) > 0 {
			t.Errorf("%s: the server was asked: %v", name, asked)
		}
	}
}

// TestPoliciesWriteNothing: a cluster policy reads what it likes and writes nothing. What it may post
// are questions.
func TestPoliciesWriteNothing(t *testing.T) {
	t.Parallel()
	server := newAskedServer(t)
	c := server.compilerFor(t)
	for text, asks := range map[string][]string{
		callRule(`{urlPath: "/api/v1/namespaces/other/configmaps", method: POST, data: [{key: a, value: b}]}`):                  nil,
		callRule(`{urlPath: "/api/v1/namespaces/other/serviceaccounts/x/token", method: POST, data: [{key: a, value: b}]}`):     nil,
		callRule(`{urlPath: "/apis/authorization.k8s.io/v1/subjectaccessreviews/../../../../api/v1/namespaces", method: POST}`): nil,
		celText("resource.Post('v1', 'configmaps', 'other', {'metadata': dyn({'name': 'x'})}).kind != 'a'", false):              nil,
		celText("resource.Post('authorization.k8s.io/v1', '../../../api/v1/namespaces', {'spec': dyn({})}).kind != 'a'", false): nil,
		callRule(`{urlPath: "/api/v1/configmaps?limit=5"}`):                                                                     {"GET /api/v1/configmaps?limit=5"},
		callRule(`{urlPath: "/version"}`): {"GET /version"},
		callRule(`{urlPath: "/apis/authorization.k8s.io/v1/subjectaccessreviews", method: POST, data: [{key: spec, value: {}}]}`):        {"POST /apis/authorization.k8s.io/v1/subjectaccessreviews"},
		celText("resource.Post('authentication.k8s.io/v1', 'tokenreviews', {'spec': dyn({})}).kind != 'a'", false):                       {"POST /apis/authentication.k8s.io/v1/tokenreviews"},
		enginetest.InTeam(callRule(`{urlPath: "/api/v1/namespaces/team/configmaps?labelSelector=a%3Db"}`)):                               {"GET /api/v1/namespaces/team/configmaps?labelSelector=a%3Db"},
		celText("resource.List('v1', 'configmaps').kind != 'a'", true):                                                                   {"GET /api/v1/namespaces/team/configmaps"},
		celText("resource.Post('authorization.k8s.io/v1', 'localsubjectaccessreviews', {'spec': dyn({})}).kind != 'a'", true):            {"POST /apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews"},
		enginetest.InTeam(celRuleOf("{apiVersion: v1, kind: ConfigMap}\n    paramRef: {name: settings, parameterNotFoundAction: Deny}")): {"GET /api/v1/namespaces/team/configmaps/settings"},
		enginetest.InTeam(withContext(`configMap: {name: settings, namespace: team}`)):                                                   {"GET /api/v1/namespaces/team/configmaps/settings"},
	} {
		p := c.Compile(enginetest.Object(t, text), nil)
		results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, enginetest.BadPod))
		if refused := len(results) == 1 && results[0].Outcome == "error"; refused == (asks != nil) {
			t.Errorf("%s: %+v", text, results)
		}
		if asked := server.take(); !slices.Equal(asked, asks) {
			t.Errorf("%s: the server was asked %v, want %v", text, asked, asks)
		}
	}
}

// TestSignedManifests: what checks signatures of manifests has clients of its own, which nobody guards.
func TestSignedManifests(t *testing.T) {
	t.Parallel()
	rule := func(more string) string {
		return enginetest.ClusterPolicy(enginetest.PodRule("validate:\n  manifests:\n    attestors: [{entries: [{keys: {publicKeys: x}}]}]\n" + more))
	}
	for text, part := range map[string]string{
		enginetest.InTeam(rule("")):                            "ClusterPolicy",
		rule("    dryRun: {enable: true, namespace: other}\n"): "dryRun",
	} {
		if problem := compileAny(t, text).Problem(); problem == nil || !strings.Contains(problem.Error(), part) {
			t.Errorf("%s: %v", text, problem)
		}
	}
	compile(t, rule(""))
}
