// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/rest"
)

// reasonCertificate is why a client certificate is useless: TLS ends here, and without
// the certificate the cluster would see an anonymous user.
const reasonCertificate = "docket gateway: a client certificate can't be passed on to the cluster; " +
	"give a bearer token, for example from `kubectl create token`, or connect to the cluster directly"

// tokens is the profile that passes the caller's bearer token to the cluster.
type tokens struct {
	config *rest.Config
	// self asks with the callers' tokens.
	self *asker
	// own asks with the gateway's credentials; nil when callers are asked for themselves.
	own    *asker
	access authorizer.Authorizer
}

var _ profile = &tokens{}

// newTokens returns the profile. With delegated, the gateway's own credentials answer
// who callers are and what they may do, else the callers' own.
func newTokens(config *rest.Config, delegated bool) (*tokens, error) {
	bare := rest.AnonymousClientConfig(config)
	self, err := newAsker(bare)
	if err != nil {
		return nil, err
	}
	p := &tokens{config: bare, self: self}
	if !delegated {
		return p, nil
	}
	if p.own, err = newAsker(config); err != nil {
		return nil, err
	}
	p.access, err = newDelegated(p.own)
	return p, err
}

// newDelegated asks the cluster by SubjectAccessReviews.
func newDelegated(own *asker) (authorizer.Authorizer, error) {
	access, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: own.client.AuthorizationV1(),
		AllowCacheTTL:             answerLifetime,
		DenyCacheTTL:              answerLifetime,
		WebhookRetryBackoff:       &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 4},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorizer of the cluster: %w", err)
	}
	return access, nil
}

func (p *tokens) caller(r *http.Request) (*caller, error) {
	token := bearerToken(r)
	if token == "" {
		if hasCertificate(r) {
			return nil, unauthorized(reasonCertificate)
		}
		return nil, nil // Without credentials.
	}
	ask := p.self.whoAmI
	if p.own != nil {
		ask = p.own.whoIs
	}
	who, err := ask(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return &caller{token: token, user: who}, nil
}

// pass lets everything through as it is: the cluster knows what to do with tokens, and
// with requests that have none.
func (p *tokens) pass(r *http.Request) (func(http.Header), error) {
	if hasCertificate(r) && r.Header.Get(authorization) == "" && bearerToken(r) == "" {
		return nil, unauthorized(reasonCertificate)
	}
	return func(http.Header) {}, nil
}

func (p *tokens) namespace(ctx context.Context, c *caller, name string) (*corev1.Namespace, error) {
	return p.self.namespace(ctx, c.token, nil, name)
}

func (p *tokens) upstream() *rest.Config { return p.config }

// Authorize implements authorizer.Authorizer.
func (p *tokens) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if p.access != nil {
		return p.access.Authorize(ctx, a)
	}
	return authorizeSelf(ctx, p.self, a)
}
