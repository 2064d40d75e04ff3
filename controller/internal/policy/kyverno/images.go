// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine/adapters"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/sdk/extensions/regcreds"
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

var errNoImages = fmt.Errorf("images are not verified: %w; --registry asks them", registry.ErrNone)

// registryAccess asks registries for policies.
type registryAccess struct {
	Images
	secrets *secretCache
}

// newRegistryAccess returns nil if registries are not to be asked.
func newRegistryAccess(c Config) *registryAccess {
	if c.Images == nil {
		return nil
	}
	return &registryAccess{Images: *c.Images, secrets: newSecretCache(c.Kubernetes)}
}

// session returns one for an evaluation; nil if registries are not asked.
func (a *registryAccess) session() *registry.Session {
	if a == nil {
		return nil
	}
	return a.Registries.Session()
}

// factory returns what makes the clients of rules; nil if registries are not asked.
func (a *registryAccess) factory(scope reach.Scope) engineapi.RegistryClientFactory {
	if a == nil {
		return nil
	}
	return &clientFactory{access: a, scope: scope}
}

// lister reads Secrets for the evaluation of a context.
func (a *registryAccess) lister(ctx context.Context, scope reach.Scope) *secretLister {
	return &secretLister{ctx: ctx, scope: scope, cache: a.secrets}
}

// keychain has the credentials for policies that have none of their own. They are not the policy's, so
// that its scope does not matter.
func (a *registryAccess) keychain(ctx context.Context) authn.Keychain {
	return registryclient.New(
		registryclient.WithSecretLister(a.lister(ctx, reach.Scope{}), config.KyvernoNamespace()),
		registryclient.WithImagePullSecrets(a.PullSecrets...), registryclient.WithCredentialHelpers(a.CredentialHelpers...),
	).Keychain()
}

func (a *registryAccess) nameOptions(insecure bool) []name.Option {
	if insecure || a.AllowInsecure {
		return []name.Option{name.Insecure}
	}
	return nil
}

// options of requests that have the credentials for policies without.
func (a *registryAccess) options(ctx context.Context, session *registry.Session) []remote.Option {
	return append([]remote.Option{remote.WithAuthFromKeychain(a.keychain(ctx))}, session.Options(ctx)...)
}

// clientFactory makes the clients of rules that verify images. It is the engine's
// RegistryClientFactory.
type clientFactory struct {
	access *registryAccess
	scope  reach.Scope
}

// GetClient is that of the engine's factories. The session is that of the context.
func (f *clientFactory) GetClient(
	ctx context.Context, credentials *kyvernov1.ImageRegistryCredentials, namespace string, pullSecrets []string,
) (engineapi.RegistryClient, error) {
	session, err := registry.From(ctx)
	if err != nil {
		return nil, err
	}
	out := &registryClient{access: f.access, session: session}
	if credentials == nil && len(pullSecrets) == 0 {
		out.keychain = f.access.keychain(ctx)
		return adapters.RegistryClient(out), nil
	}
	// Secrets of the policy are in Kyverno's namespace, those of a pod beside it.
	if namespace == "" {
		namespace = config.KyvernoNamespace()
	}
	own := f.access.lister(ctx, f.scope)
	out.session = session.As(fmt.Sprintf("%s %v %s %v", f.scope.Namespace, credentials, namespace, pullSecrets))
	var chains []authn.Keychain
	if credentials != nil {
		out.insecure = credentials.AllowInsecureRegistry
		helpers := make([]string, 0, len(credentials.Providers))
		for _, provider := range credentials.Providers {
			helpers = append(helpers, string(provider))
		}
		chains = append(chains, regcreds.NewSecretsKeychain(own, config.KyvernoNamespace(), credentials.Secrets...))
		chains = append(chains, regcreds.KeychainsForProviders(helpers...)...)
	}
	chains = append(chains, regcreds.NewSecretsKeychain(own, namespace, pullSecrets...))
	out.keychain = authn.NewMultiKeychain(chains...)
	return adapters.RegistryClient(out), nil
}

// registryClient is the client of a rule. It is the library's for registries.
type registryClient struct {
	access   *registryAccess
	session  *registry.Session
	keychain authn.Keychain
	insecure bool
}

var _ registryclient.Client = (*registryClient)(nil)

// Keychain is that of the library's clients, as are the next ones.
func (c *registryClient) Keychain() authn.Keychain { return c.keychain }

// NameOptions says whether plain HTTP will do.
func (c *registryClient) NameOptions() []name.Option { return c.access.nameOptions(c.insecure) }

// Options has all requests made by the session.
func (c *registryClient) Options(ctx context.Context) ([]remote.Option, []name.Option, error) {
	return append([]remote.Option{remote.WithAuthFromKeychain(c.keychain)}, c.session.Options(ctx)...), c.NameOptions(), nil
}

// FetchImageDescriptor asks for the manifest of an image.
func (c *registryClient) FetchImageDescriptor(ctx context.Context, image string) (*remote.Descriptor, error) {
	reference, err := name.ParseReference(image, c.NameOptions()...)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	options, _, err := c.Options(ctx)
	if err != nil {
		return nil, err
	}
	descriptor, err := remote.Get(reference, options...)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	return descriptor, nil
}

// undecided makes errors of failures that may be due to a registry that has not answered: the
// libraries that verify signatures take that for a missing signature.
func undecided(results []policy.Result, session *registry.Session) []policy.Result {
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
