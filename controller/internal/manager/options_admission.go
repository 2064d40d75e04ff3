// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
)

// The values of [Options.AdmissionPolicies].
const (
	neededPolicies = "needed"
	allPolicies    = "all"
)

const (
	defaultCacheMemory = "256Mi"
	webhookName        = "docket-controller-webhook"
	minWebhookTimeout  = time.Second
	maxWebhookTimeout  = 30 * time.Second
)

// CacheOptions are the flags of the context cache, which `docket-controller scan` has, too. Make
// them with [NewCacheOptions].
type CacheOptions struct {
	CacheMemory      resource.QuantityValue
	CacheMaxStale    time.Duration
	CacheCallTimeout time.Duration
	CacheAllowRanges []string
	CacheBlockRanges []string
}

// NewCacheOptions returns the defaults.
func NewCacheOptions() CacheOptions {
	return CacheOptions{
		CacheMemory:   resource.QuantityValue{Quantity: resource.MustParse(defaultCacheMemory)},
		CacheMaxStale: contextcache.DefaultMaxStale, CacheCallTimeout: contextcache.DefaultCallTimeout,
	}
}

// AddFlags adds the flags, which set o.
func (o *CacheOptions) AddFlags(fs *pflag.FlagSet) {
	fs.Var(&o.CacheMemory, "context-cache-memory", "Memory that cached data of policies' contexts may take, estimated. What was not used for longest goes first; 0 means no limit")
	fs.DurationVar(&o.CacheMaxStale, "context-cache-max-staleness", o.CacheMaxStale, "How long cached data are used after they were last known to be right")
	fs.DurationVar(&o.CacheCallTimeout, "context-cache-call-timeout", o.CacheCallTimeout, "How long a service may take to answer, for the cache or for a policy that calls it")
	fs.StringSliceVar(&o.CacheAllowRanges, "context-cache-allow-ranges", o.CacheAllowRanges, "Addresses, as 10.0.0.0/8, that the cache and policies may call although loopback, link-local and metadata addresses may not be called")
	fs.StringSliceVar(&o.CacheBlockRanges, "context-cache-block-ranges", o.CacheBlockRanges, "Addresses, as 10.0.0.0/8, that neither the cache nor policies may call")
}

// Validate returns one error for each flag that is wrong.
func (o *CacheOptions) Validate() []error {
	var errs []error
	if o.CacheMemory.Sign() < 0 {
		errs = append(errs, fmt.Errorf("--context-cache-memory: %s is negative; give 0 for no limit", o.CacheMemory.String()))
	}
	if o.CacheMaxStale < time.Second {
		errs = append(errs, fmt.Errorf("--context-cache-max-staleness: %v is too short; give 1s or more", o.CacheMaxStale))
	}
	if o.CacheCallTimeout < time.Second {
		errs = append(errs, fmt.Errorf("--context-cache-call-timeout: %v is too short; give 1s or more", o.CacheCallTimeout))
	}
	if _, err := parseRanges("context-cache-allow-ranges", o.CacheAllowRanges); err != nil {
		errs = append(errs, err)
	}
	if _, err := parseRanges("context-cache-block-ranges", o.CacheBlockRanges); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// Apply sets what the flags say in a config.
func (o *CacheOptions) Apply(config *contextcache.Config) error {
	var err error
	if config.AllowRanges, err = parseRanges("context-cache-allow-ranges", o.CacheAllowRanges); err != nil {
		return err
	}
	if config.BlockRanges, err = parseRanges("context-cache-block-ranges", o.CacheBlockRanges); err != nil {
		return err
	}
	config.MemoryLimit, config.MaxStale, config.CallTimeout = o.CacheMemory.Value(), o.CacheMaxStale, o.CacheCallTimeout
	return nil
}

func parseRanges(flag string, texts []string) ([]netip.Prefix, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--%s: %q is not like 10.0.0.0/8", flag, text)
		}
		ranges = append(ranges, prefix)
	}
	return ranges, nil
}

// AdmissionOptions are the flags of the webhook.
type AdmissionOptions struct {
	Admission                  bool
	AdmissionPolicies          string
	AdmissionExcludeNamespaces []string
	AdmissionExcludeUsers      []string

	WebhookBindAddress string
	WebhookNamespace   string
	WebhookService     string
	WebhookURL         string
	WebhookSecret      string
	WebhookCertDir     string
	WebhookInjectFrom  string
	WebhookClientCA    string
	WebhookClientNames []string
	WebhookTimeout     time.Duration
}

func newAdmissionOptions() AdmissionOptions {
	return AdmissionOptions{
		AdmissionPolicies: neededPolicies, AdmissionExcludeNamespaces: []string{"kube-system"},
		WebhookBindAddress: ":9443", WebhookService: webhookName, WebhookSecret: webhookName, WebhookTimeout: policy.DefaultReviewTimeout,
	}
}

func (o *AdmissionOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Admission, "admission", o.Admission, "Answer admission requests: deny what policies with Enforce or Deny refuse, and report about policies for admission only")
	fs.StringVar(&o.AdmissionPolicies, "admission-policies", o.AdmissionPolicies, "Which policies are evaluated for requests: those for which they are needed (needed), or all that don't exclude admission (all)")
	fs.StringSliceVar(&o.AdmissionExcludeNamespaces, "admission-exclude-namespaces", o.AdmissionExcludeNamespaces, "Namespaces in which nothing is asked, beside the own one")
	fs.StringSliceVar(&o.AdmissionExcludeUsers, "admission-exclude-users", o.AdmissionExcludeUsers, "Users whose requests are not asked about, as system:node:*")
	fs.StringVar(&o.WebhookBindAddress, "webhook-bind-address", o.WebhookBindAddress, "Address for admission requests over HTTPS")
	fs.StringVar(&o.WebhookNamespace, "webhook-namespace", o.WebhookNamespace, "Namespace of the Service and the Secret. Without it, that of the pod")
	fs.StringVar(&o.WebhookService, "webhook-service", o.WebhookService, "Service that kube-apiserver calls")
	fs.StringVar(&o.WebhookURL, "webhook-url", o.WebhookURL, "Address that kube-apiserver calls instead of the Service, as https://10.0.0.1:9443")
	fs.StringVar(&o.WebhookSecret, "webhook-secret", o.WebhookSecret, "Secret in which the certificates are kept")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", o.WebhookCertDir, "Folder with tls.crt and tls.key, and ca.crt if the authority is to be registered, instead of the Secret")
	fs.StringVar(&o.WebhookInjectFrom, "webhook-inject-from", o.WebhookInjectFrom, "Certificate of cert-manager, as NAMESPACE/NAME, whose authority cert-manager is to register")
	fs.StringVar(&o.WebhookClientCA, "webhook-client-ca-file", o.WebhookClientCA, "File with the authorities of those who may send admission requests. Without it, everybody who reaches the port may")
	fs.StringSliceVar(&o.WebhookClientNames, "webhook-client-names", o.WebhookClientNames, "Common names of the certificates with which admission requests may be sent. Without it, every certificate of --webhook-client-ca-file is good")
	fs.DurationVar(&o.WebhookTimeout, "webhook-timeout", o.WebhookTimeout, "How long kube-apiserver waits for an answer, unless a policy asks for more")
}

func (o *AdmissionOptions) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains([]string{neededPolicies, allPolicies}, o.AdmissionPolicies) {
		bad("--admission-policies: %q is not %s or %s", o.AdmissionPolicies, neededPolicies, allPolicies)
	}
	for _, name := range o.AdmissionExcludeNamespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			bad("--admission-exclude-namespaces: %q is not the name of a namespace", name)
		}
	}
	if _, _, err := net.SplitHostPort(o.WebhookBindAddress); err != nil {
		bad("--webhook-bind-address: %w; give one such as :9443", err)
	}
	for flag, name := range map[string]string{"webhook-namespace": o.WebhookNamespace, "webhook-service": o.WebhookService} {
		if problems := validation.IsDNS1123Label(name); name != "" && len(problems) > 0 {
			bad("--%s: %q is not a name", flag, name)
		}
	}
	if problems := validation.IsDNS1123Subdomain(o.WebhookSecret); len(problems) > 0 {
		bad("--webhook-secret: %q is not the name of a Secret", o.WebhookSecret)
	}
	if o.WebhookURL != "" {
		parsed, err := url.Parse(o.WebhookURL)
		switch {
		case err == nil && (parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != ""):
			bad("--webhook-url: give https://host:port, without user, query and fragment")
		case err != nil || parsed.Scheme != "https" || parsed.Host == "":
			bad("--webhook-url: %q is not like https://10.0.0.1:9443", o.WebhookURL)
		}
	}
	if o.WebhookInjectFrom != "" && len(strings.Split(o.WebhookInjectFrom, "/")) != 2 {
		bad("--webhook-inject-from: %q is not the NAMESPACE/NAME of a Certificate", o.WebhookInjectFrom)
	}
	for _, pattern := range o.AdmissionExcludeUsers {
		if pattern == "" || pattern == "*" {
			bad("--admission-exclude-users: %q would exclude nobody or everybody; give names", pattern)
		}
	}
	if o.Admission && o.WebhookClientCA == "" && len(o.WebhookClientNames) > 0 {
		bad("--webhook-client-names: says nothing without --webhook-client-ca-file; give both")
	}
	if o.Admission && o.WebhookService == "" && o.WebhookURL == "" {
		bad("--webhook-service: is required to register the webhook; or give --webhook-url")
	}
	if o.WebhookTimeout < minWebhookTimeout || o.WebhookTimeout > maxWebhookTimeout {
		bad("--webhook-timeout: %v is not from %v to %v", o.WebhookTimeout, minWebhookTimeout, maxWebhookTimeout)
	}
	return errs
}
