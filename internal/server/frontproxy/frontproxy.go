// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"
)

// authorized is the user of a request that the front proxy has authorized.
type authorized struct{ user.Info }

// Authenticator returns an authenticator of requests from the front proxy that config
// describes, whose users it marks; all other requests are passed to next.
func Authenticator(config *authenticatorfactory.RequestHeaderConfig, next authenticator.Request) authenticator.Request {
	front := group.NewAuthenticatedGroupAdder(&certificates{
		options: config.CAContentProvider.VerifyOptions,
		names:   config.AllowedClientNames,
		next:    headerrequest.NewDynamic(config.UsernameHeaders, config.UIDHeaders, config.GroupHeaders, config.ExtraHeaderPrefixes),
		clock:   clock.RealClock{},
	})
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		// No one else sends these headers, so checking the certificate would be wasted.
		if !slices.ContainsFunc(config.UsernameHeaders.Value(), func(name string) bool { return r.Header.Get(name) != "" }) {
			return next.AuthenticateRequest(r)
		}
		response, ok, err := front.AuthenticateRequest(r)
		if err != nil || !ok {
			return next.AuthenticateRequest(r)
		}
		marked := *response
		marked.User = authorized{response.User}
		return &marked, true, nil
	})
}

// Authorizer returns an authorizer that allows what the front proxy has authorized, and asks next
// about everything else: other requests, and permissions that a request needs in addition, such
// as to create an object that an apply does not find.
func Authorizer(next authorizer.Authorizer) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if _, ok := a.GetUser().(authorized); ok && isOwn(ctx, a) {
			return authorizer.DecisionAllow, "authorized by the API server that sent the request", nil
		}
		return next.Authorize(ctx, a)
	})
}

// isOwn reports whether the attributes describe the request itself, and the request is for a resource.
func isOwn(ctx context.Context, a authorizer.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	return ok && info.IsResourceRequest && a.IsResourceRequest() &&
		info.Verb == a.GetVerb() && info.APIGroup == a.GetAPIGroup() && info.APIVersion == a.GetAPIVersion() &&
		info.Resource == a.GetResource() && info.Subresource == a.GetSubresource() &&
		info.Namespace == a.GetNamespace() && info.Name == a.GetName()
}
