// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/subtle"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

// single is the profile of one person: the holder of the gateway's token acts with the
// kubeconfig of its owner, and may do what the owner may do.
type single struct {
	token  string
	config *rest.Config
	ask    *asker
}

var _ profile = &single{}

func newSingle(token string, config *rest.Config) (*single, error) {
	ask, err := newAsker(config)
	return &single{token: token, config: config, ask: ask}, err
}

// admit returns nil for requests of the owner.
func (s *single) admit(r *http.Request) error {
	switch given := bearerToken(r); {
	case given == "" && hasCertificate(r):
		return unauthorized("docket gateway: client certificates are not used here; give the bearer token in the gateway's kubeconfig")
	case given == "":
		return unauthorized(reasonNoCredentials)
	case subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) != 1:
		return unauthorized("docket gateway: this is not its token; use the kubeconfig that it wrote at startup")
	case isImpersonated(s.config) && impersonates(r.Header):
		// The client library would send these headers instead of the kubeconfig's.
		return forbidden("the owner's kubeconfig acts as %q: no one can act as someone else on top of that; omit --as, or give the gateway a kubeconfig without `as`",
			s.config.Impersonate.UserName)
	}
	return nil
}

// isImpersonated reports whether a kubeconfig impersonates a user (`as`, `as-groups` …).
func isImpersonated(config *rest.Config) bool {
	as := config.Impersonate
	return as.UserName != "" || as.UID != "" || len(as.Groups) > 0 || len(as.Extra) > 0
}

func (s *single) caller(r *http.Request) (*caller, error) {
	if err := s.admit(r); err != nil {
		return nil, err
	}
	owner, err := s.owner(r.Context())
	if err != nil {
		return nil, err
	}
	return &caller{user: owner}, nil
}

// owner is the kubeconfig's user as the cluster knows them.
func (s *single) owner(ctx context.Context) (user.Info, error) { return s.ask.whoAmI(ctx, "") }

func (s *single) pass(r *http.Request) (func(http.Header), error) {
	return aggregator.DropToken, s.admit(r)
}

func (s *single) namespace(ctx context.Context, _ *caller, name string) (*corev1.Namespace, error) {
	return s.ask.namespace(ctx, "", nil, name)
}

func (s *single) upstream() *rest.Config { return s.config }

// Authorize implements authorizer.Authorizer. The gateway itself is its owner's, whatever
// the cluster says: its registrations, health and documents. About the resources of
// registered servers the cluster decides.
func (s *single) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	own := !a.IsResourceRequest() || a.GetAPIGroup() == registrationGroup
	if c := callerFrom(ctx); own && c != nil && sameUser(a.GetUser(), c.user) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizeSelf(ctx, s.ask, a)
}
