// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"crypto/subtle"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/path"
	authorizerunion "k8s.io/apiserver/pkg/authorization/union"
)

const (
	ownerName  = "owner"
	ownerGroup = "docket:owners"
)

// newAuthenticators recognize the owner by the token: in requests, where everyone else is
// anonymous, and in TokenReviews. A wrong token is an error, not anonymous.
func newAuthenticators(ownerToken string) (authenticator.Request, authenticator.Token) {
	owner := &user.DefaultInfo{Name: ownerName, Groups: []string{ownerGroup, user.AllAuthenticated}}
	tokens := authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		if subtle.ConstantTimeCompare([]byte(token), []byte(ownerToken)) != 1 {
			return nil, false, nil
		}
		return &authenticator.Response{User: owner}, true, nil
	})
	// Browsers can't set headers of WebSocket requests; they give the token as a
	// subprotocol.
	return union.NewFailOnError(bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens), anonymous.NewAuthenticator(nil)), tokens
}

// ownerRule allows everything to the owner and to the server's own loopback client,
// whose group no one else can have.
type ownerRule struct{}

// Authorize implements authorizer.Authorizer.
func (ownerRule) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if mayAll(a.GetUser()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "only the owner may do that; the token is in the kubeconfig", nil
}

// RulesFor implements authorizer.RuleResolver.
func (ownerRule) RulesFor(_ context.Context, who user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	all := []string{"*"}
	if mayAll(who) {
		return []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{Verbs: all, APIGroups: all, Resources: all}},
			[]authorizer.NonResourceRuleInfo{&authorizer.DefaultNonResourceRuleInfo{Verbs: all, NonResourceURLs: all}}, false, nil
	}
	return nil, []authorizer.NonResourceRuleInfo{
		&authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: publicPaths()},
	}, false, nil
}

func mayAll(who user.Info) bool {
	return slices.Contains(who.GetGroups(), ownerGroup) || slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// publicPaths are open to everyone who can reach the address.
func publicPaths() []string {
	return []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/version"}
}

func newAuthorizer() (authorizer.Authorizer, error) {
	public, err := path.NewAuthorizer(publicPaths())
	if err != nil {
		return nil, err
	}
	readPublic := authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() != "get" {
			return authorizer.DecisionNoOpinion, "", nil
		}
		return public.Authorize(ctx, a)
	})
	return authorizerunion.New(ownerRule{}, readPublic), nil
}
