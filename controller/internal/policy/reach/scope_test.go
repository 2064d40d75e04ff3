// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package reach_test

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestCheck has what each kind of policy may ask for.
func TestCheck(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]struct{ namespaced, cluster bool }{
		"GET /api/v1/namespaces/team/configmaps":                                       {true, true},
		"GET /api/v1/namespaces/team/configmaps/settings":                              {true, true},
		"GET /api/v1/namespaces/team/configmaps?labelSelector=a%3Db&limit=5":           {true, true},
		"GET /api/v1/namespaces/team/pods/x/status":                                    {true, true},
		"GET /apis/apps/v1/namespaces/team/deployments":                                {true, true},
		"GET /apis/rbac.authorization.k8s.io/v1/namespaces/team/roles/system:x":        {true, true},
		"POST /apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews": {true, true},
		"GET /api/v1/namespaces":                                                       {false, true},
		"GET /api/v1/namespaces/team":                                                  {false, true},
		"GET /api/v1/namespaces/team/status":                                           {false, true},
		"GET /api/v1/namespaces/team/finalize":                                         {false, true},
		"GET /api/v1/namespaces/team/":                                                 {false, true},
		"GET /api/v1/namespaces/other/configmaps":                                      {false, true},
		"GET /api/v1/namespaces/team/../other/configmaps":                              {false, true},
		"GET /api/v1/namespaces/team/./configmaps":                                     {false, true},
		"GET /api/v1/namespaces/team%2f..%2fother/configmaps":                          {false, true},
		"GET /api/v1/namespaces/%74eam/configmaps":                                     {false, true},
		"GET /api/v1/namespaces/team/configmaps/%2e%2e/%2e%2e/other/configmaps":        {false, true},
		"GET /api/v1/namespaces//team/configmaps":                                      {false, true},
		`GET /api/v1/namespaces/team\configmaps/x`:                                     {false, true},
		"GET /api/v1/configmaps?x=/namespaces/team/":                                   {false, true},
		"GET /api/v1/configmaps#/namespaces/team/":                                     {false, true},
		"GET /api/v1/namespaces/team/configmaps?watch=true":                            {false, true},
		"GET /api/v1/namespaces/team/configmaps?a;b":                                   {false, true},
		"GET /api/v1/watch/namespaces/team/configmaps":                                 {false, true},
		"GET /api/v1/nodes/n/proxy/namespaces/team/x":                                  {false, true},
		"GET /api/v1/namespaces/team/pods/x/proxy":                                     {false, true},
		"GET /api/v1/namespaces/team/pods/x/proxy/namespaces/team":                     {false, true},
		"GET /api/v1/namespaces/team/pods/x/exec":                                      {false, true},
		"GET /apis/namespaces/team/deployments":                                        {false, true},
		"GET /version":                                                                 {false, true},
		"GET //other.test/api/v1/namespaces/team/configmaps":                           {},
		"GET https://other.test/api/v1/namespaces/team/configmaps":                     {},
		"GET api/v1/namespaces/team/configmaps":                                        {},
		"GET //":                                                                       {},
		"POST /?":                                                                      {},
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews":                      {false, true},
		"POST /apis/authentication.k8s.io/v1/tokenreviews":                             {false, true},
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews/../../../x":           {},
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews/x":                    {},
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews?dryRun=All":           {},
		"POST /apis/authorization.k8s.io.example/v1/subjectaccessreviews":              {},
		"POST /apis/rbac.authorization.k8s.io/v1/namespaces/team/roles":                {},
		"POST /api/v1/namespaces/team/configmaps":                                      {},
		"POST /api/v1/namespaces/team/serviceaccounts/x/token":                         {},
		"DELETE /api/v1/namespaces/team/configmaps/x":                                  {},
		"PATCH /api/v1/namespaces/team/configmaps/x":                                   {},
		"get /api/v1/namespaces/team/configmaps":                                       {},
	} {
		method, path, _ := strings.Cut(target, " ")
		for scope, want := range map[reach.Scope]bool{{Namespace: "team"}: want.namespaced, {}: want.cluster} {
			err := scope.Check(method, path)
			if (err == nil) != want || err != nil && !reach.Refused(err) {
				t.Errorf("%+v: %s: %v", scope, target, err)
			}
			if err != nil && scope.Namespace != "" && !strings.Contains(err.Error(), "own namespace") {
				t.Errorf("%+v: %s: %v does not say what is allowed", scope, target, err)
			}
		}
	}
}

// FuzzCheck: what a namespaced policy may ask for is read in its namespace by the code with which API
// servers read a request, in the form in which our library sends it; and what any policy may post is
// a review.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/namespaces/team/configmaps", "/api/v1/configmaps?x=/namespaces/team/", "/apis/apps/v1/namespaces/team/deployments/x/scale",
		"/api/v1/namespaces/team/..%2fother/configmaps", "/apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews",
		"/api/v1/watch/namespaces/team/pods", "/api/v1/namespaces/team/pods?watch=1", "//api/v1/namespaces/team/pods", "/api/v1/namespaces/team/status",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	client := testkit.Must(rest.RESTClientFor(sending()))(f)
	f.Fuzz(func(t *testing.T, path string, posts bool) {
		method := http.MethodGet
		if posts {
			method = http.MethodPost
		}
		for _, scope := range []reach.Scope{{Namespace: "team"}, {}} {
			if scope.Check(method, path) != nil {
				continue
			}
			if scope.Namespace == "" && !posts {
				continue
			}
			sent := client.Verb(method).RequestURI(path).URL().RequestURI()
			holds(t, scope, method, path, sent)
		}
	})
}

// holds fails unless an API server reads the request as the scope allows it.
func holds(t *testing.T, scope reach.Scope, method, path, sent string) {
	t.Helper()
	received, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + sent + " HTTP/1.1\r\nHost: a\r\n\r\n")))
	if err != nil {
		return // No server reads it.
	}
	factory := genericrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(received)
	if err != nil {
		return // Nor this.
	}
	reads := slices.Contains([]string{"get", "list"}, info.Verb)
	asks := info.Verb == "create" && strings.HasSuffix(info.Resource, "reviews") && info.Subresource == "" && info.Name == "" &&
		slices.Contains([]string{"authorization.k8s.io", "authentication.k8s.io"}, info.APIGroup)
	own := scope.Namespace == "" || info.Namespace == scope.Namespace && info.Resource != "namespaces"
	if !info.IsResourceRequest || !own || !reads && !asks {
		t.Errorf("%+v: %s %q is sent as %q, and read as %+v", scope, method, path, sent, info)
	}
}
