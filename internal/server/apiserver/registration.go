// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/results/resultsapi"
	"github.com/docket-project/docket/internal/server/registration"
)

const (
	// registrationCheckFlag names the flag of RegistrationCheckInterval.
	registrationCheckFlag = "registration-check-interval"
	// registrationCheckInterval costs the cluster six small answers from its memory.
	registrationCheckInterval = 30 * time.Second
)

// addClusterFlags adds the flags of a server that belongs to a cluster.
func (o *Options) addClusterFlags(fs *pflag.FlagSet) {
	o.CoreAPI.AddFlags(fs)
	o.addAdoptFlag(fs)
	fs.DurationVar(&o.RegistrationCheckInterval, registrationCheckFlag, o.RegistrationCheckInterval,
		"How often to check by discovery that the cluster's clients get this server's reports, not those of a CRD. 0 is never.")
}

func (o *Options) validateRegistration() []error {
	if o.RegistrationCheckInterval < 0 {
		return []error{fmt.Errorf("--%s: %s is below 0; give 0 to turn it off", registrationCheckFlag, o.RegistrationCheckInterval)}
	}
	return nil
}

// applyRegistration makes what looks how the cluster sees the served groups.
func (o CompletedOptions) applyRegistration(c *Config) (err error) {
	if o.RegistrationCheckInterval == 0 {
		return nil
	}
	c.Registration, err = registration.New(registration.Config{
		Cluster: c.Generic.ClientConfig, Served: c.served, Unserved: c.unserved(),
		Interval: o.RegistrationCheckInterval, Clock: clock.RealClock{},
	})
	if err != nil {
		return fmt.Errorf("--%s: %w", registrationCheckFlag, err)
	}
	return nil
}

// served are the group versions of this server, with their resources: those of reports and of definitions as they are
// now, and that of results.
func (c *Config) served() []registration.Served {
	var all []registration.Served
	for _, kind := range c.kinds() {
		version := kind.GroupVersion()
		i := slices.IndexFunc(all, func(s registration.Served) bool { return s.GroupVersion == version })
		if i < 0 {
			i = len(all)
			all = append(all, registration.Served{GroupVersion: version})
		}
		all[i].Resources = append(all[i].Resources, kind.Resource)
	}
	slices.SortStableFunc(all, func(a, b registration.Served) int { return strings.Compare(a.Group, b.Group) })
	if c.ServesResults() {
		all = append(all, registration.Served{GroupVersion: v1alpha1.SchemeGroupVersion, Resources: resultsapi.Resources()})
	}
	return all
}

// unserved are the group versions that nobody answers for if the cluster sends them here.
func (c *Config) unserved() []registration.Unserved {
	why := c.withoutResults()
	if why == "" {
		return nil
	}
	return []registration.Unserved{{GroupVersion: v1alpha1.SchemeGroupVersion, Why: why}}
}
