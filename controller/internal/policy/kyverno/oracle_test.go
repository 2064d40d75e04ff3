// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	reports "github.com/kyverno/kyverno/pkg/controllers/report/utils"
	"github.com/kyverno/kyverno/pkg/engine"
	"github.com/kyverno/kyverno/pkg/engine/adapters"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	reportutils "github.com/kyverno/kyverno/pkg/utils/report"
	"github.com/kyverno/sdk/extensions/registryclient"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var reportEverything = sync.OnceFunc(func() {
	reportutils.NewReportingConfig(nil, "validate", "mutate", "mutateExisting", "imageVerify", "generate")
})

// kyvernoScan returns what the background scan of Kyverno's reports controller says about a subject: the
// results of one policy as "rule: outcome: message". No other test may compile policies meanwhile: Kyverno's
// compilers take their library from a variable.
func kyvernoScan(tb testing.TB, text string, s policy.Subject, converter patch.TypeConverterManager) []string {
	tb.Helper()
	settings := config.NewDefaultConfiguration(false)
	query := jmespath.New(settings)
	reportEverything()
	cluster := true
	clients := factories.DefaultRegistryClientFactory(adapters.RegistryClient(registryclient.New()), nil)
	evaluating := engine.NewEngine(settings, query, noClient{}, clients, nil, factories.DefaultContextLoaderFactory(nil), nil, &cluster)
	scanner := reports.NewScanner(logr.Discard(), evaluating, settings, query, nil, nil, nil, nil, converter)
	generic := genericPolicy(tb, text)
	var out []string
	for _, result := range scanner.ScanResource(tb.Context(), *s.Object.DeepCopy(), s.Resource, "", s.Namespace(), nil, nil, nil, generic) {
		if result.Error != nil {
			tb.Fatal(result.Error)
		}
		if result.EngineResponse == nil {
			continue
		}
		for i := range result.EngineResponse.PolicyResponse.Rules {
			out = append(out, described(base.ResultOf(&result.EngineResponse.PolicyResponse.Rules[i], nil)))
		}
	}
	slices.Sort(out)
	return out
}

// noClient has nobody to ask.
type noClient struct{ engineapi.Client }

func described(result policy.Result) string {
	return fmt.Sprintf("%s: %s: %s", result.Rule, result.Outcome, result.Message)
}

// scanned returns what this package says, in the same form.
func scanned(tb testing.TB, p policy.Policy, s policy.Subject) []string {
	tb.Helper()
	results, _ := enginetest.Evaluate(tb, p, s)
	var out []string
	for _, result := range results {
		out = append(out, described(result))
	}
	slices.Sort(out)
	return out
}

func genericPolicy(tb testing.TB, text string) engineapi.GenericPolicy {
	tb.Helper()
	written := enginetest.Object(tb, text)
	read := func(into any) {
		testkit.NoError(tb, base.Decode(written, into))
	}
	switch written.GetKind() {
	case policy.ImageValidatingPolicy:
		decoded := &policiesv1beta1.ImageValidatingPolicy{}
		read(decoded)
		return engineapi.NewImageValidatingPolicyFromLike(decoded)
	case policy.MutatingPolicy:
		decoded := &policiesv1beta1.MutatingPolicy{}
		read(decoded)
		return engineapi.NewMutatingPolicyFromLike(decoded)
	default:
		decoded := &kyvernov1.ClusterPolicy{}
		read(decoded)
		// The defaults of Kyverno's schema.
		for i := range decoded.Spec.Rules {
			for j := range decoded.Spec.Rules[i].VerifyImages {
				images := &decoded.Spec.Rules[i].VerifyImages[j]
				images.MutateDigest, images.VerifyDigest, images.Required, images.UseCache = true, true, true, true
			}
		}
		return engineapi.NewKyvernoPolicy(decoded)
	}
}
