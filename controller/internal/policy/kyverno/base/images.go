// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/kyverno/sdk/extensions/registryclient"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// Images says how registries are asked about images.
type Images struct {
	// Registries asks them.
	Registries *registry.Client
	// AllowInsecure allows plain HTTP for registries that don't speak HTTPS.
	AllowInsecure bool
	// PullSecrets are Secrets with credentials, as NAMESPACE/NAME, or as NAME in Kyverno's namespace.
	PullSecrets []string
	// CredentialHelpers are those of clouds: default, google, amazon, azure, github.
	CredentialHelpers []string
	// NamespacedProviders lets namespaced policies name such helpers, which have the identity of the controller.
	NamespacedProviders bool
}

// ErrNoImages says why images are not verified, and how they are.
var ErrNoImages = fmt.Errorf("images are not verified: %w; --registry asks them", registry.ErrNone)

// RegistryAccess asks registries for policies.
type RegistryAccess struct {
	Images
	secrets *secretCache
}

// newRegistryAccess returns nil if registries are not to be asked.
func newRegistryAccess(c Config) *RegistryAccess {
	if c.Images == nil {
		return nil
	}
	return &RegistryAccess{Images: *c.Images, secrets: newSecretCache(c.Kubernetes)}
}

// Session returns one for an evaluation of a policy with a scope; nil if registries are not asked. That of a namespaced
// policy shares no answers with any that has credentials.
func (a *RegistryAccess) Session(scope reach.Scope) *registry.Session {
	if a == nil {
		return nil
	}
	session := a.Registries.Session(a.AllowInsecure)
	if scope.Namespace != "" {
		session = session.As("anonymous").Confined()
	}
	return session
}

// CheckCredentials returns an error for what a namespaced policy may not say of registries.
func (a *RegistryAccess) CheckCredentials(scope reach.Scope, insecure bool, providers int) error {
	switch {
	case scope.Namespace == "":
		return nil
	case insecure:
		return errInsecure
	case providers > 0 && !a.NamespacedProviders:
		return errProviders
	default:
		return nil
	}
}

var (
	errInsecure  = errors.New("allowInsecureRegistry: a namespaced policy asks registries over https: leave it out")
	errProviders = errors.New("credentials.providers: a namespaced policy has no credentials but those in Secrets of its namespace, since providers give those of the controller: use secrets, or have it run with --registry-namespaced-providers")
)

// Lister reads Secrets for the evaluation of a context.
func (a *RegistryAccess) Lister(ctx context.Context, scope reach.Scope) *SecretLister {
	return &SecretLister{Context: ctx, scope: scope, cache: a.secrets}
}

// Keychain has the credentials for policies that have none of their own: those of the controller, and none for a
// namespaced policy.
func (a *RegistryAccess) Keychain(ctx context.Context, scope reach.Scope) authn.Keychain {
	if scope.Namespace != "" {
		return authn.NewMultiKeychain()
	}
	return registryclient.New(
		registryclient.WithSecretLister(a.Lister(ctx, reach.Scope{}), KyvernoNamespace()),
		registryclient.WithImagePullSecrets(a.PullSecrets...), registryclient.WithCredentialHelpers(a.CredentialHelpers...),
	).Keychain()
}

// NameOptions lets plain HTTP do if the policy, or the configuration, says so.
func (a *RegistryAccess) NameOptions(insecure bool) []name.Option {
	if insecure || a.AllowInsecure {
		return []name.Option{name.Insecure}
	}
	return nil
}

// Options of requests that have the credentials for policies without.
func (a *RegistryAccess) Options(ctx context.Context, scope reach.Scope, session *registry.Session) []remote.Option {
	return append([]remote.Option{remote.WithAuthFromKeychain(a.Keychain(ctx, scope))}, session.Options(ctx)...)
}

// Undecided makes errors of failures that may be due to a registry that has not answered: the
// libraries that verify signatures take that for a missing signature.
func Undecided(results []policy.Result, session *registry.Session) []policy.Result {
	if session == nil {
		return results
	}
	trouble := session.Trouble()
	if trouble == nil {
		return results
	}
	out := slices.Clone(results)
	for i := range out {
		if out[i].Outcome == report.OutcomeFail || out[i].Outcome == report.OutcomeError {
			out[i].Outcome, out[i].Message = report.OutcomeError, fmt.Sprintf("the image can't be verified: %v", trouble)
		}
	}
	return out
}
