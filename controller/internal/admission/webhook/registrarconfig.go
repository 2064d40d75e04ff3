// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// DefaultName is the name of the configuration of the manifests.
const DefaultName = "docket-controller"

const (
	servicePort     = 443
	defaultInterval = time.Minute
)

// RegistrarConfig is what a [Registrar] needs: all up to ExcludeUsers but Recorder, InjectFrom and URL.
type RegistrarConfig struct {
	Client kubernetes.Interface
	// Recorder takes Events on a configuration that is missing, or has no bundle; nil for none.
	Recorder record.EventRecorder
	// Name names the configuration; [DefaultName] if empty.
	Name string
	// URL is called, with a path added (--webhook-url); if it is empty, Service is.
	URL     string
	Service types.NamespacedName
	// FailPath and IgnorePath are where the handler answers for policies that are closed, and
	// for the others.
	FailPath, IgnorePath string
	// CABundle returns what the server's certificates are signed by, as PEM. If it returns nothing, the
	// configuration keeps what it has.
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
	// Serving says why requests can't be answered; nothing is registered before.
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
	// ExcludeUsers are whose requests are not sent; a * at the end stands for any text
	// (--admission-exclude-users). They must include the user of this pod.
	ExcludeUsers []string
	// OwnerClusterRole is the ClusterRole with which the configuration goes when Docket is
	// uninstalled; none if empty.
	OwnerClusterRole string

	// MaxRules is how many rules a webhook may have before it is sent all that there is and
	// conditions exclude what it must not see; 300 if 0.
	MaxRules int
	// Interval is how often the configuration is looked at without a cause; a minute if 0.
	Interval time.Duration
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// maxRules is the default of MaxRules: more than the groups of most clusters.
const maxRules = 300

func (c *RegistrarConfig) complete() {
	c.URL = strings.TrimSuffix(c.URL, "/")
	c.Name = cmp.Or(c.Name, DefaultName)
	c.Timeout = cmp.Or(c.Timeout, policy.DefaultReviewTimeout)
	c.MaxRules = cmp.Or(c.MaxRules, maxRules)
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	c.Clock = cmp.Or[clock.WithTicker](c.Clock, clock.RealClock{})
}
