// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"github.com/kyverno/kyverno/pkg/config"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

const (
	// maxContextBytes bounds what a rule loads into its context, and the answer of one API
	// call. Kyverno allows 2 MiB, which a list of a few thousand objects exceeds. The subject
	// does not count, and neither does what the context cache shares (see [sharedVariables]).
	maxContextBytes = 16 << 20
)

// Compiler makes policies that the classic engine evaluates. It is safe for concurrent use.
type Compiler struct {
	*base.Setup
	settings config.Configuration
	jmespath *expressions
	client   engineapi.Client
	contexts engineapi.ContextLoaderFactory
}

var _ policy.Compiler = (*Compiler)(nil)

// NewCompiler returns a compiler.
func NewCompiler(setup *base.Setup) (*Compiler, error) {
	settings := config.NewDefaultConfiguration(false)
	out := &Compiler{Setup: setup, settings: settings, jmespath: newExpressions(settings, !setup.CompatibleOperands)}
	fromCluster := factories.DefaultContextLoaderFactory(&configMaps{client: setup.Kubernetes, entries: setup.Entries})
	out.contexts = refusing(fromCluster, setup)
	var err error
	if out.client, err = newClient(setup.Config); err != nil {
		return nil, err
	}
	return out, nil
}

// Compile is that of [policy.Compiler], for ClusterPolicy and Policy.
func (c *Compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	return base.CompileProtected(object, func(kind schema.GroupKind) policy.Policy {
		if kind.Group != policy.KyvernoGroup || kind.Kind != policy.ClusterPolicy && kind.Kind != policy.NamespacedPolicy {
			return nil
		}
		return c.compileClassic(object, exceptions)
	})
}
