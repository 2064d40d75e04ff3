// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
)

const (
	// reviewTimeout bounds a request to the cluster, reviewLifetime how long its answer is cached.
	reviewTimeout  = 10 * time.Second
	reviewLifetime = 10 * time.Second
)

// guard admits requests whose bearer token the cluster accepts and whose user may get the path, as all components of
// Kubernetes with metrics do.
type guard struct {
	who authenticator.Request
	may authorizer.Authorizer
}

// newGuard returns a guard that asks by TokenReviews and SubjectAccessReviews.
func newGuard(client kubernetes.Interface) (*guard, error) {
	backoff := &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3}
	who, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff: backoff, CacheTTL: reviewLifetime,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authentication of /metrics: %w", err)
	}
	may, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), WebhookRetryBackoff: backoff,
		AllowCacheTTL: reviewLifetime, DenyCacheTTL: reviewLifetime,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorization of /metrics: %w", err)
	}
	return &guard{who: who, may: may}, nil
}

// protect returns a handler that calls next for permitted requests.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known, err := g.who.AuthenticateRequest(r)
		if err != nil || !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "give the bearer token of an account of the cluster", http.StatusUnauthorized)
			return
		}
		decision, _, err := g.may.Authorize(r.Context(), authorizer.AttributesRecord{User: answer.User, Verb: "get", Path: r.URL.Path})
		switch {
		case err != nil:
			http.Error(w, "the cluster could not be asked who may do this", http.StatusInternalServerError)
		case decision != authorizer.DecisionAllow:
			http.Error(w, fmt.Sprintf("%q may not get the path %s: bind it to a ClusterRole with nonResourceURLs: [%s]",
				answer.User.GetName(), r.URL.Path, r.URL.Path), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// transport returns TLS with a certificate that only this process has: eavesdroppers see neither tokens nor metrics. As
// with the controllers of Kubernetes, no client can verify it. An attacker who can answer in place of this process gets
// the tokens of clients and their rights: give their account only the right to read metrics.
func transport() (*tls.Config, error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("docket-controller", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for /metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for /metrics: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
