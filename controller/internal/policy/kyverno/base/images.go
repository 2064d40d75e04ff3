// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/kyverno/sdk/extensions/registryclient"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/reach"
	"github.com/docket-project/docket/controller/internal/registry"
)

// Images says how registries are asked about images.
type Images struct {
	// Registries asks them.
	Registries *registry.Client
	// AllowInsecure lets them be asked over plain HTTP if they don't speak HTTPS.
	AllowInsecure bool
	// PullSecrets are Secrets with credentials, as NAMESPACE/NAME, or as NAME in Kyverno's namespace.
	PullSecrets []string
	// CredentialHelpers are those of clouds: default, google, amazon, azure, github.
	CredentialHelpers []string
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

// Session returns one for an evaluation; nil if registries are not asked.
func (a *RegistryAccess) Session() *registry.Session {
	if a == nil {
		return nil
	}
	return a.Registries.Session()
}

// Lister reads Secrets for the evaluation of a context.
func (a *RegistryAccess) Lister(ctx context.Context, scope reach.Scope) *SecretLister {
	return &SecretLister{Context: ctx, scope: scope, cache: a.secrets}
}

// Keychain has the credentials for policies that have none of their own. They are not the policy's, so
// that its scope does not matter.
func (a *RegistryAccess) Keychain(ctx context.Context) authn.Keychain {
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
func (a *RegistryAccess) Options(ctx context.Context, session *registry.Session) []remote.Option {
	return append([]remote.Option{remote.WithAuthFromKeychain(a.Keychain(ctx))}, session.Options(ctx)...)
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
