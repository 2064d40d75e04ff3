// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// credentialHelpers are those that Kyverno has.
var credentialHelpers = []string{"default", "google", "amazon", "azure", "github"}

// RegistryOptions are the flags of image registries, which `docket-controller scan` has, too. Kyverno's
// flags have the same names in its own spelling. Make them with [NewRegistryOptions].
type RegistryOptions struct {
	// Registry lets registries be asked.
	Registry            bool
	AllowInsecure       bool
	PullSecrets         []string
	CredentialHelpers   []string
	NamespacedProviders bool
	// AllowRanges are ranges of addresses.
	AllowRanges []string
	CacheAge    time.Duration
}

// NewRegistryOptions returns the defaults.
func NewRegistryOptions(asked bool) RegistryOptions {
	return RegistryOptions{Registry: asked, CacheAge: registry.DefaultAge}
}

// AddFlags adds the flags, which set o.
func (o *RegistryOptions) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Registry, "registry", o.Registry, "Ask image registries: verify images, and show policies what registries know of them. If false, rules and policies that verify images are left out, and others that ask registries give errors")
	fs.BoolVar(&o.AllowInsecure, "allow-insecure-registry", o.AllowInsecure, "Ask registries over plain HTTP if they don't speak HTTPS. Not for production")
	fs.StringSliceVar(&o.PullSecrets, "image-pull-secrets", o.PullSecrets, "Secrets with credentials for registries, as NAMESPACE/NAME, or NAME for one in Kyverno's namespace (KYVERNO_NAMESPACE, or kyverno). Needs the right to get each")
	fs.StringSliceVar(&o.CredentialHelpers, "registry-credential-helpers", o.CredentialHelpers, "Where else credentials for registries come from: "+strings.Join(credentialHelpers, ", ")+". Without any, and without --image-pull-secrets, from the configuration of Docker")
	fs.BoolVar(&o.NamespacedProviders, "registry-namespaced-providers", o.NamespacedProviders, "Let namespaced policies name providers of credentials, which give those of the controller")
	fs.StringSliceVar(&o.AllowRanges, "registry-allow-ranges", o.AllowRanges, "Addresses, as 10.0.0.0/8, where registries may be although they are not public: those that namespaced policies ask, and those to which another registry sends on")
	fs.DurationVar(&o.CacheAge, "registry-cache-age", o.CacheAge, "How long answers of registries are used")
}

// Ranges returns what AllowRanges says.
func (o *RegistryOptions) Ranges() ([]netip.Prefix, error) {
	return parseRanges("registry-allow-ranges", o.AllowRanges)
}

// Validate returns one error for each flag that is wrong.
func (o *RegistryOptions) Validate() []error {
	var errs []error
	for _, secret := range o.PullSecrets {
		parts := strings.Split(secret, "/")
		valid := len(parts) <= 2 && len(validation.IsDNS1123Subdomain(parts[len(parts)-1])) == 0 && len(validation.IsDNS1123Subdomain(parts[0])) == 0
		if !valid {
			errs = append(errs, fmt.Errorf("--image-pull-secrets: %q is not like NAMESPACE/NAME", secret))
		}
	}
	for _, helper := range o.CredentialHelpers {
		if !slices.Contains(credentialHelpers, helper) {
			errs = append(errs, fmt.Errorf("--registry-credential-helpers: %q is none of %s", helper, strings.Join(credentialHelpers, ", ")))
		}
	}
	if _, err := o.Ranges(); err != nil {
		errs = append(errs, err)
	}
	if o.CacheAge < time.Second {
		errs = append(errs, fmt.Errorf("--registry-cache-age: %v is too short; give 1s or more", o.CacheAge))
	}
	return errs
}
