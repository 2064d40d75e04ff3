// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"github.com/kyverno/kyverno/pkg/config"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// maxContextBytes bounds what a rule loads into its context, and the answer of one API
	// call. Kyverno allows 2 MiB, which a list of a few thousand objects exceeds. The subject
	// does not count, and neither does what the context cache shares (see [sharedVariables]).
	maxContextBytes = 16 << 20
)

// classicCompiler makes policies that the classic engine evaluates. It is safe for concurrent use.
type classicCompiler struct {
	*setup
	settings config.Configuration
	jmespath *expressions
	// client and contexts answer with errors if there is no cluster.
	client   engineapi.Client
	contexts engineapi.ContextLoaderFactory
}

var _ policy.Compiler = (*classicCompiler)(nil)

// newClassicCompiler returns a compiler. The setup is that of the configuration.
func newClassicCompiler(c Config, with *setup) (*classicCompiler, error) {
	settings := config.NewDefaultConfiguration(false)
	out := &classicCompiler{setup: with, settings: settings, jmespath: newExpressions(settings)}
	if !c.hasCluster() {
		out.client, out.contexts = absentClient{}, absentContexts(c.Entries, c.Images != nil)
		return out, nil
	}
	var err error
	if out.client, err = newClient(c); err != nil {
		return nil, err
	}
	out.contexts = clusterContexts(c.Kubernetes, c.Entries, with.services, c.Images != nil)
	return out, nil
}

// Compile is that of [policy.Compiler], for ClusterPolicy and Policy.
func (c *classicCompiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	return compileProtected(object, func(kind schema.GroupKind) policy.Policy {
		if kind.Group != policy.KyvernoGroup || kind.Kind != policy.ClusterPolicy && kind.Kind != policy.NamespacedPolicy {
			return nil
		}
		return c.compileClassic(object, exceptions)
	})
}
