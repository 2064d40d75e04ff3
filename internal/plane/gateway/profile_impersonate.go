// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

const systemPrefix = "system:"

// impersonator is the profile in which the cluster sees the gateway, which names the
// caller by Impersonate-* headers.
type impersonator struct {
	config *rest.Config
	own    *asker
	access authorizer.Authorizer
	// certificates is nil when none are accepted.
	certificates authenticator.Request
	groups       []string
}

var _ profile = &impersonator{}

// newImpersonator returns the profile. Of callers' groups only the given ones are passed
// on. Client certificates of the authorities that verify returns are accepted, unless
// it is nil.
func newImpersonator(config *rest.Config, groups []string, verify x509.VerifyOptionFunc) (*impersonator, error) {
	if isImpersonated(config) {
		return nil, fmt.Errorf("--kubeconfig: it acts as %q, so that the gateway can't act as its callers: "+
			"give one without `as`, whose user may impersonate", config.Impersonate.UserName)
	}
	own, err := newAsker(config)
	if err != nil {
		return nil, err
	}
	access, err := newDelegated(own)
	if err != nil {
		return nil, err
	}
	p := &impersonator{config: config, own: own, access: access, groups: groups}
	if verify != nil {
		p.certificates = x509.NewDynamic(verify, x509.CommonNameUserConversion)
	}
	return p, nil
}

func (p *impersonator) caller(r *http.Request) (*caller, error) {
	if impersonates(r.Header) {
		return nil, forbidden("the profile impersonate accepts no Impersonate-* headers from callers; act as yourself, or connect to the cluster directly")
	}
	who, err := p.authenticate(r)
	if who == nil || err != nil {
		return nil, err
	}
	return &caller{user: who}, nil
}

// authenticate returns the caller with the groups that may be passed on.
func (p *impersonator) authenticate(r *http.Request) (user.Info, error) {
	if token := bearerToken(r); token != "" {
		who, err := p.own.whoIs(r.Context(), token)
		if err != nil {
			return nil, err
		}
		return p.reduce(who, serviceaccount.ServiceAccountUsernamePrefix)
	}
	if !hasCertificate(r) {
		return nil, nil // Without credentials.
	}
	if p.certificates == nil {
		return nil, unauthorized("docket gateway: client certificates are not accepted; give a bearer token, or start it with --client-ca-file")
	}
	response, ok, err := p.certificates.AuthenticateRequest(r)
	if err != nil || !ok {
		return nil, unauthorized("docket gateway: the client certificate is not signed by an authority in --client-ca-file")
	}
	return p.reduce(response.User, "")
}

// reduce keeps the groups that may be passed on, and refuses system identities: a caller who
// can act as one of them can act as the cluster. The cluster itself has named the users whose name
// begins with trusted.
func (p *impersonator) reduce(who user.Info, trusted string) (user.Info, error) {
	name := who.GetName()
	account := trusted != "" && strings.HasPrefix(name, trusted)
	if name == "" || strings.HasPrefix(name, systemPrefix) && !account {
		return nil, forbidden("%q can't be impersonated: names that begin with %q belong to the cluster; use an account of your own", name, systemPrefix)
	}
	var groups []string
	for _, group := range who.GetGroups() {
		switch {
		case group == user.AllAuthenticated:
			// The cluster adds it by itself.
		case strings.HasPrefix(group, systemPrefix):
			if !account || !isAccountGroup(group) {
				return nil, forbidden("%q is in group %q, which can't be impersonated: groups that begin with %q belong to the cluster", name, group, systemPrefix)
			}
			groups = append(groups, group)
		case slices.Contains(p.groups, group):
			groups = append(groups, group)
		}
	}
	return &user.DefaultInfo{Name: name, UID: who.GetUID(), Groups: append(groups, user.AllAuthenticated), Extra: who.GetExtra()}, nil
}

// isAccountGroup reports whether every service account has such a group.
func isAccountGroup(group string) bool {
	return group == serviceaccount.AllServiceAccountsGroup || strings.HasPrefix(group, serviceaccount.ServiceAccountGroupPrefix)
}

func (p *impersonator) pass(r *http.Request) (func(http.Header), error) {
	c, err := p.caller(r)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, unauthorized(reasonNoCredentials)
	}
	return func(h http.Header) {
		aggregator.DropToken(h)
		impersonate(h, c.user)
	}, nil
}

func (p *impersonator) namespace(ctx context.Context, c *caller, name string) (*corev1.Namespace, error) {
	return p.own.namespace(ctx, "", c.user, name)
}

func (p *impersonator) upstream() *rest.Config { return p.config }

// Authorize implements authorizer.Authorizer.
func (p *impersonator) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return p.access.Authorize(ctx, a)
}
