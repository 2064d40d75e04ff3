// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/frontproxy"
)

const lifetime = time.Hour

func authority(t *testing.T) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority("authority", time.Now(), lifetime))(t)
}

func client(t *testing.T, issuer *certificate.Pair, name string) *x509.Certificate {
	t.Helper()
	pair := testkit.Must(certificate.NewClient(issuer, name, time.Now(), lifetime))(t)
	return pair.Certificate
}

// asked is a request for a report, with a client's certificate and the headers of alice.
func asked(t *testing.T, method, path string, peer *x509.Certificate) *http.Request {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), method, "https://docket"+path, http.NoBody))(t)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{peer}}
	r.Header.Set("X-Remote-User", "alice")
	r.Header.Set("X-Remote-Group", "team")
	return r
}

// answers has alice authenticated by somebody else, where the front proxy's certificate is not what a
// request came with.
func answers(front *certificate.Pair) authenticator.Request {
	return frontproxy.Authenticator(&authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   static(front),
		AllowedClientNames:  headerrequest.StaticStringSlice{"front-proxy-client"},
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
		UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
	}, authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "alice", Groups: []string{"team"}}}, true, nil
	}))
}

func static(pair *certificate.Pair) dynamiccertificates.CAContentProvider {
	provider, err := dynamiccertificates.NewStaticCAContent("front", pair.CertificatePEM)
	if err != nil {
		panic(err)
	}
	return provider
}

// decide runs a request through authentication, and asks about what edit makes of its own attributes.
// It returns whether somebody else was asked.
func decide(t *testing.T, authenticate authenticator.Request, r *http.Request, edit func(*authorizer.AttributesRecord)) bool {
	t.Helper()
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info := testkit.Must(resolver.NewRequestInfo(r))(t)
	response, ok, err := authenticate.AuthenticateRequest(r)
	if err != nil || !ok {
		t.Fatalf("authentication: %v, %v", ok, err)
	}
	if response.User.GetName() != "alice" || response.User.GetGroups()[0] != "team" {
		t.Errorf("the user is %q of %q", response.User.GetName(), response.User.GetGroups())
	}
	ctx := request.WithUser(request.WithRequestInfo(t.Context(), info), response.User)
	own := testkit.Must(filters.GetAuthorizerAttributes(ctx))(t)
	attributes, ok := own.(*authorizer.AttributesRecord)
	if !ok {
		t.Fatalf("attributes are a %T", own)
	}
	if edit != nil {
		edit(attributes)
	}
	next := false
	decision, _, err := frontproxy.Authorizer(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		next = true
		return authorizer.DecisionDeny, "", nil
	})).Authorize(ctx, attributes)
	if err != nil || (decision == authorizer.DecisionAllow) == next {
		t.Errorf("the decision is %v, %v, and somebody else was asked: %v", decision, err, next)
	}
	return next
}

// TestWhoIsAsked: what the front proxy has let through is not asked about again; what another client
// says in its headers is, and so is all that the request itself does not say.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	const report = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/a/policyreports/x"
	front, stranger := authority(t), authority(t)
	proxy := client(t, front, "front-proxy-client")
	type attributes = authorizer.AttributesRecord
	for name, test := range map[string]struct {
		peer   *x509.Certificate
		path   string
		change func(*http.Request)
		edit   func(*attributes)
		asked  bool
	}{
		"the front proxy":            {peer: proxy, path: report},
		"a list":                     {peer: proxy, path: "/apis/wgpolicyk8s.io/v1alpha2/policyreports?labelSelector=a%3Db&watch=1"},
		"another name":               {peer: client(t, front, "somebody"), path: report, asked: true},
		"another authority":          {peer: client(t, stranger, "front-proxy-client"), path: report, asked: true},
		"no headers":                 {peer: proxy, path: report, change: func(r *http.Request) { r.Header.Del("X-Remote-User") }, asked: true},
		"discovery":                  {peer: proxy, path: "/apis/wgpolicyk8s.io/v1alpha2", asked: true},
		"another verb":               {peer: proxy, path: report, edit: func(a *attributes) { a.Verb = "create" }, asked: true},
		"another namespace":          {peer: proxy, path: report, edit: func(a *attributes) { a.Namespace = "b" }, asked: true},
		"another object":             {peer: proxy, path: report, edit: func(a *attributes) { a.Name = "" }, asked: true},
		"another resource":           {peer: proxy, path: report, edit: func(a *attributes) { a.Resource = "reports" }, asked: true},
		"another subresource":        {peer: proxy, path: report, edit: func(a *attributes) { a.Subresource = "status" }, asked: true},
		"another group":              {peer: proxy, path: report, edit: func(a *attributes) { a.APIGroup = "openreports.io" }, asked: true},
		"another version":            {peer: proxy, path: report, edit: func(a *attributes) { a.APIVersion = "v1" }, asked: true},
		"not a resource":             {peer: proxy, path: report, edit: func(a *attributes) { a.ResourceRequest = false }, asked: true},
		"another user":               {peer: proxy, path: report, edit: func(a *attributes) { a.User = &user.DefaultInfo{Name: "bob"} }, asked: true},
		"the same user, not its own": {peer: proxy, path: report, edit: func(a *attributes) { a.User = &user.DefaultInfo{Name: "alice"} }, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := asked(t, http.MethodGet, test.path, test.peer)
			if test.change != nil {
				test.change(r)
			}
			if got := decide(t, answers(front), r, test.edit); got != test.asked {
				t.Errorf("somebody else was asked: %v", got)
			}
		})
	}
}

// TestGroups: the front proxy's users have the group of all who are authenticated, as the library's.
func TestGroups(t *testing.T) {
	t.Parallel()
	front := authority(t)
	response, ok, err := answers(front).AuthenticateRequest(asked(t, http.MethodGet, "/", client(t, front, "front-proxy-client")))
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if got := response.User.GetGroups(); len(got) != 2 || got[1] != user.AllAuthenticated {
		t.Errorf("groups are %q", got)
	}
}
