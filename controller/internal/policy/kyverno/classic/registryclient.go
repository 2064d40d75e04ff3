// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/engine/adapters"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/sdk/extensions/regcreds"
	"github.com/kyverno/sdk/extensions/registryclient"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// newClientFactory returns what makes the clients of rules; nil if registries are not asked.
func newClientFactory(access *base.RegistryAccess, scope reach.Scope) engineapi.RegistryClientFactory {
	if access == nil {
		return nil
	}
	return &clientFactory{access: access, scope: scope}
}

// clientFactory makes the clients of rules that verify images. It is the engine's RegistryClientFactory.
type clientFactory struct {
	access *base.RegistryAccess
	scope  reach.Scope
}

// GetClient returns a client with the session of the context.
func (f *clientFactory) GetClient(
	ctx context.Context, credentials *kyvernov1.ImageRegistryCredentials, namespace string, pullSecrets []string,
) (engineapi.RegistryClient, error) {
	session, err := registry.From(ctx)
	if err != nil {
		return nil, err
	}
	out := &registryClient{access: f.access, session: session}
	if credentials == nil && len(pullSecrets) == 0 {
		out.keychain = f.access.Keychain(ctx, f.scope)
		return adapters.RegistryClient(out), nil
	}
	// Secrets of a policy are in its own namespace, or in Kyverno's, those of a pod beside it.
	ownNamespace := cmp.Or(f.scope.Namespace, base.KyvernoNamespace())
	namespace = cmp.Or(namespace, ownNamespace)
	own := f.access.Lister(ctx, f.scope)
	out.session = session.As(fmt.Sprintf("%s %v %s %v", f.scope.Namespace, credentials, namespace, pullSecrets))
	var chains []authn.Keychain
	if credentials != nil {
		if err := f.access.CheckCredentials(f.scope, credentials.AllowInsecureRegistry, len(credentials.Providers)); err != nil {
			return nil, err
		}
		out.insecure = credentials.AllowInsecureRegistry
		helpers := make([]string, 0, len(credentials.Providers))
		for _, provider := range credentials.Providers {
			helpers = append(helpers, string(provider))
		}
		chains = append(chains, regcreds.NewSecretsKeychain(own, ownNamespace, credentials.Secrets...))
		chains = append(chains, regcreds.KeychainsForProviders(helpers...)...)
	}
	chains = append(chains, regcreds.NewSecretsKeychain(own, namespace, pullSecrets...))
	out.keychain = authn.NewMultiKeychain(chains...)
	return adapters.RegistryClient(out), nil
}

// registryClient is the client of a rule. It is the library's for registries.
type registryClient struct {
	access   *base.RegistryAccess
	session  *registry.Session
	keychain authn.Keychain
	insecure bool
}

var _ registryclient.Client = (*registryClient)(nil)

func (c *registryClient) Keychain() authn.Keychain { return c.keychain }

// NameOptions says whether plain HTTP will do.
func (c *registryClient) NameOptions() []name.Option { return c.access.NameOptions(c.insecure) }

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
