// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/client-go/rest"
)

// profile decides who callers are, what they may do with registered group versions, and
// what the cluster sees of them.
type profile interface {
	// caller returns who makes a request for the gateway itself or for a registered group
	// version; nil without credentials. Its errors are Statuses.
	caller(r *http.Request) (*caller, error)
	// pass decides whether a request may go to the cluster, and returns what changes its
	// headers on the way.
	pass(r *http.Request) (func(http.Header), error)
	// namespace returns a namespace of the cluster as a caller sees it.
	namespace(ctx context.Context, c *caller, name string) (*corev1.Namespace, error)
	// upstream is the configuration of the transport of these requests.
	upstream() *rest.Config
	authorizer.Authorizer
}

// reasonNoCredentials tells callers without credentials what to do.
const reasonNoCredentials = "docket gateway: this path needs credentials; give a bearer token, as the kubeconfig of the gateway does"

// newAuthenticator returns the authenticator for the filters of k8s.io/apiserver. The router
// has authenticated the caller already; only requests for public paths have none.
func newAuthenticator() authenticator.Request {
	nobody := anonymous.NewAuthenticator(nil)
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if c := callerFrom(r.Context()); c != nil {
			return &authenticator.Response{User: c.user}, true, nil
		}
		return nobody.AuthenticateRequest(r)
	})
}

// publicPaths are open to everyone who can reach the address.
func publicPaths() []string {
	return []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}
}

// newAuthorizer allows everyone to read public paths and all callers to see what is registered,
// and asks the profile about the rest.
func newAuthorizer(p profile) (authorizer.Authorizer, error) {
	public, err := path.NewAuthorizer(publicPaths())
	if err != nil {
		return nil, fmt.Errorf("public paths: %w", err)
	}
	read := authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() != "get" {
			return authorizer.DecisionNoOpinion, "", nil
		}
		return public.Authorize(ctx, a)
	})
	// A request without a caller is for a public path, or from this process, whose token the filters know.
	process := authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if callerFrom(ctx) == nil && a.GetUser() != nil && slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	return union.New(process, read, authorizer.AuthorizerFunc(seeRegistrations), p), nil
}

// seeRegistrations allows all authenticated callers to see which servers are registered and what
// state they are in. The cluster would be asked about cluster-wide permissions, which those who
// share a gateway usually lack. Discovery shows them as much, and an APIService contains no secret.
func seeRegistrations(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if callerFrom(ctx) == nil || who == nil || !slices.Contains(who.GetGroups(), user.AllAuthenticated) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	reads := slices.Contains([]string{"get", "list", "watch"}, a.GetVerb())
	registrations := a.IsResourceRequest() && a.GetAPIGroup() == registrationGroup && a.GetResource() == "apiservices"
	const servers, health = "/apiservers", "/apiservers/healthz"
	states := !a.IsResourceRequest() && (a.GetPath() == servers || a.GetPath() == health || strings.HasPrefix(a.GetPath(), health+"/"))
	if reads && (registrations || states) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// authorizeSelf asks the cluster in the caller's own name, and in the same way about a user
// whom the caller impersonates: the cluster decides about both.
func authorizeSelf(ctx context.Context, ask *asker, a authorizer.Attributes) (authorizer.Decision, string, error) {
	c := callerFrom(ctx)
	if c == nil {
		return authorizer.DecisionNoOpinion, reasonNoCredentials, nil
	}
	var other user.Info
	if !sameUser(a.GetUser(), c.user) {
		other = a.GetUser()
	}
	answer, err := ask.may(ctx, c.token, other, reviewSpec(a))
	return decision(answer), answer.reason, err
}

func decision(v verdict) authorizer.Decision {
	if v.allowed {
		return authorizer.DecisionAllow
	}
	return authorizer.DecisionNoOpinion
}

func sameUser(a, b user.Info) bool {
	return a.GetName() == b.GetName() && a.GetUID() == b.GetUID() && reflect.DeepEqual(a.GetGroups(), b.GetGroups()) &&
		reflect.DeepEqual(a.GetExtra(), b.GetExtra())
}
