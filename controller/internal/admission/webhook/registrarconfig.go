// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// The defaults of a [RegistrarConfig].
const (
	DefaultName     = "docket-controller"
	DefaultPort     = 443
	DefaultInterval = time.Minute
)

// Service is what kube-apiserver calls.
type Service struct {
	Namespace, Name string
	// Port is [DefaultPort] if 0.
	Port int32
}

// RegistrarConfig is what a [Registrar] needs. Required are Client, Service or URL, Policies and
// Catalog.
type RegistrarConfig struct {
	Client kubernetes.Interface
	// Recorder takes Events on a configuration that is missing, or has no bundle; nil for none.
	Recorder record.EventRecorder
	// Name names the configuration; [DefaultName] if empty.
	Name string
	// Service is called, or URL, to which the paths are added (--webhook-url): just one of both.
	Service *Service
	URL     string
	// FailPath and IgnorePath are where the handler answers for policies that are closed, and
	// for the others.
	FailPath, IgnorePath string
	// CABundle returns what the server's certificates are signed by, as PEM. If it is nil or
	// returns nothing, the configuration keeps what it has.
	CABundle func() []byte
	// InjectFrom is the namespace/name of a Certificate of cert-manager, which then writes the
	// bundle. Until it has done so, the configuration never makes kube-apiserver deny requests.
	InjectFrom string

	// Policies returns the policies of the cluster, and whether they are known. Nothing is written until then.
	Policies func() ([]policy.Policy, bool)
	// Catalog is what the API serves; nil while that is not known.
	Catalog func() *served.Catalog
	// Subscribe has a function called after each change of what the functions above return.
	Subscribe []func(changed func()) (unsubscribe func())
	// Serving says why requests can't be answered; nothing is registered before. It is nil if
	// they always can.
	Serving func() error

	// All reports whether the handler evaluates all policies (--admission-policies=all).
	All bool
	// Timeout is how long kube-apiserver waits, unless a policy asks for more; [policy.DefaultReviewTimeout]
	// if 0 (--webhook-timeout).
	Timeout time.Duration
	// Exclude are resources that are never sent, beside those that never are.
	Exclude policy.Exclusion
	// Requests in ExcludeNamespaces are not sent. They must include the namespace of this pod: its pods
	// could not start while nobody answers (--admission-exclude-namespaces).
	ExcludeNamespaces []string
	// ExcludeUsers and ExcludeGroups are whose requests are not sent; a * at the end stands for
	// any text (--admission-exclude-users). They must include the user of this pod.
	ExcludeUsers, ExcludeGroups []string
	// OwnerClusterRole is the ClusterRole with which the configuration goes when Docket is
	// uninstalled; none if empty.
	OwnerClusterRole string

	// MaxRules is how many rules a webhook may have before it is sent all that there is and
	// conditions exclude what it must not see; 300 if 0.
	MaxRules int
	// Interval is how often the configuration is looked at without a cause; [DefaultInterval] if 0.
	Interval time.Duration
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// maxRules is the default of MaxRules: more than the groups of most clusters.
const maxRules = 300

func (c *RegistrarConfig) complete() error {
	if c.Client == nil || c.Policies == nil || c.Catalog == nil {
		return errors.New("webhook: client, policies and catalog are required")
	}
	if err := c.completeEndpoint(); err != nil {
		return err
	}
	if c.InjectFrom != "" && len(strings.Split(c.InjectFrom, "/")) != 2 {
		return fmt.Errorf("webhook: %q is not the namespace/name of a certificate", c.InjectFrom)
	}
	for _, pattern := range slices.Concat(c.ExcludeUsers, c.ExcludeGroups) {
		if pattern == "" || pattern == wildcard {
			return fmt.Errorf("--admission-exclude-users: %q would exclude nobody or everybody; give names", pattern)
		}
	}
	if c.Timeout < 0 || c.Timeout > policy.MaxReviewTimeout {
		return fmt.Errorf("--webhook-timeout: %s is not from 1s to %s", c.Timeout, policy.MaxReviewTimeout)
	}
	c.Name = cmp.Or(c.Name, DefaultName)
	if c.CABundle == nil {
		c.CABundle = func() []byte { return nil }
	}
	if c.Serving == nil {
		c.Serving = func() error { return nil }
	}
	c.Timeout = cmp.Or(c.Timeout, policy.DefaultReviewTimeout)
	c.MaxRules = cmp.Or(c.MaxRules, maxRules)
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	c.Clock = cmp.Or[clock.WithTicker](c.Clock, clock.RealClock{})
	return nil
}

func (c *RegistrarConfig) completeEndpoint() error {
	if (c.Service == nil) == (c.URL == "") {
		return errors.New("webhook: either a service or a URL is required (--webhook-service, --webhook-url)")
	}
	if !strings.HasPrefix(c.FailPath, "/") || !strings.HasPrefix(c.IgnorePath, "/") || c.FailPath == c.IgnorePath {
		return errors.New("webhook: two different paths are required")
	}
	if c.Service == nil {
		parsed, err := url.Parse(c.URL)
		if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return errors.New("--webhook-url: give https://host:port, without user, query and fragment")
		}
		c.URL = strings.TrimSuffix(c.URL, "/")
		return nil
	}
	service := *c.Service
	if service.Name == "" || service.Namespace == "" {
		return errors.New("--webhook-service: name and namespace are required")
	}
	if !slices.Contains(c.ExcludeNamespaces, service.Namespace) {
		return fmt.Errorf("webhook: namespace %s of the service must be excluded: its pods could not start while nobody answers", service.Namespace)
	}
	service.Port = cmp.Or(service.Port, DefaultPort)
	c.Service = &service
	return nil
}
