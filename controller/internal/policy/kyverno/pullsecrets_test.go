// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/registry/registrytest"
)

// TestNamespacedPoliciesHaveNoCredentials: what the controller may pull, or has just read for a policy of the cluster,
// a namespaced policy does not see; nor does it choose credentials of the controller, or plain HTTP.
func TestNamespacedPoliciesHaveNoCredentials(t *testing.T) {
	t.Parallel()
	images, key := registrytest.New(t), registrytest.NewKey(t)
	images.Protect("user", "password")
	signed := images.Push(t, "signed")
	images.Sign(t, signed, key)
	c := imageCompiler(t, fake.NewClientset(pullSecret("kyverno", "global", images.Host, "password")), base.Images{PullSecrets: []string{"global"}, AllowInsecure: true})
	pod := podOf(t, signed)
	namespaced := func(text string) string {
		return strings.NewReplacer("kind: Image", "kind: NamespacedImage", "kind: ClusterPolicy", "kind: Policy", "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy",
			"{name: signed}", "{name: signed, namespace: team}", "{name: p", "{namespace: team, name: p").Replace(text)
	}
	metadata := celBomb(nil, "image.GetMetadata(object.spec.containers[0].image) != null")
	call := strings.Replace(callRule("x"), "apiCall: x", `imageRegistry: {reference: "{{ request.object.spec.containers[0].image }}"MORE}`, 1)
	for name, test := range map[string]struct{ policy, more, refusal string }{
		"image policy":  {imagePolicyText(key, signedValidation, "MORE"), "  credentials: {providers: [google]}", "--registry-namespaced-providers"},
		"verifying":     {verifyRule(key, "MORE"), ", imageRegistryCredentials: {providers: [google]}", "--registry-namespaced-providers"},
		"plain":         {verifyRule(key, "MORE"), ", imageRegistryCredentials: {allowInsecureRegistry: true}", "over https"},
		"plain policy":  {imagePolicyText(key, signedValidation, "MORE"), "  credentials: {allowInsecureRegistry: true}", "over https"},
		"context":       {call, ", imageRegistryCredentials: {providers: [google]}", "--registry-namespaced-providers"},
		"plain context": {call, ", imageRegistryCredentials: {allowInsecureRegistry: true}", "over https"},
		"CEL":           {metadata, "", ""},
	} {
		without := strings.Replace(test.policy, "MORE", "", 1)
		if results, _ := enginetest.Evaluate(t, enginetest.Compile(t, c, without), pod); len(results) != 1 || results[0].Outcome == report.OutcomeError {
			t.Errorf("%s in the cluster: %v", name, results)
		}
		results, _ := enginetest.Evaluate(t, enginetest.Compile(t, c, namespaced(without)), pod)
		if len(results) != 1 || results[0].Outcome != report.OutcomeError || !strings.Contains(results[0].Message, "401") {
			t.Errorf("%s in a namespace: %v, want an error with 401", name, results)
		}
		if test.refusal == "" {
			continue
		}
		results, _ = enginetest.Evaluate(t, enginetest.CompileAny(t, c, namespaced(strings.Replace(test.policy, "MORE", test.more, 1))), pod)
		if len(results) != 1 || results[0].Outcome != report.OutcomeError || !strings.Contains(results[0].Message, test.refusal) {
			t.Errorf("%s with %s: %v, want an error with %q", name, test.more, results, test.refusal)
		}
	}
}

func pullSecret(namespace, name, host, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte("user:" + password))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, auth)},
	}
}

// TestPullSecrets: credentials of the controller, of a policy, and of a pod; and what is said without.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	images.Protect("user", "password")
	signed := images.Push(t, "signed")
	images.Sign(t, signed, key)
	cluster := fake.NewClientset(
		pullSecret("kyverno", "global", images.Host, "password"), pullSecret("other", "wrong", images.Host, "no"),
		pullSecret("team", "own", images.Host, "password"),
	)
	cluster.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if get, ok := action.(clienttesting.GetAction); ok && get.GetName() == "secret" {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "secret", nil)
		}
		return false, nil, nil
	})
	pod := podOf(t, signed)
	withSecret := enginetest.Subject(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {imagePullSecrets: [{name: own}], containers: [{name: c, image: %q}]}}", signed))
	credentials := func(secret string) string { return "  credentials: {secrets: [" + secret + "]}" }
	for _, test := range []struct {
		name, policy string
		global       []string
		subject      policy.Subject
		outcome      report.Outcome
		message      string
	}{
		{"none", imagePolicyText(key, signedValidation, ""), nil, pod, report.OutcomeError, "401"},
		{"global", imagePolicyText(key, signedValidation, ""), []string{"global"}, pod, report.OutcomePass, ""},
		{"wrong", imagePolicyText(key, signedValidation, ""), []string{"other/wrong"}, pod, report.OutcomeError, "401"},
		{"of the policy", imagePolicyText(key, signedValidation, credentials("global")), nil, pod, report.OutcomePass, ""},
		{"wrong of the policy", imagePolicyText(key, signedValidation, credentials("other/wrong")), []string{"global"}, pod, report.OutcomeError, "401"},
		{"forbidden", imagePolicyText(key, signedValidation, credentials("secret")), nil, pod, report.OutcomeError, "the Secret kyverno/secret with credentials can't be read"},
		{"rule, none", verifyRule(key, ""), nil, pod, report.OutcomeError, "401"},
		{"rule, global", verifyRule(key, ""), []string{"global"}, pod, report.OutcomePass, ""},
		{"rule, of the policy", verifyRule(key, ", imageRegistryCredentials: {secrets: [global]}"), nil, pod, report.OutcomePass, ""},
		{"rule, of the pod", verifyRule(key, ""), nil, withSecret, report.OutcomePass, ""},
		{"rule, forbidden", verifyRule(key, ", imageRegistryCredentials: {secrets: [secret]}"), nil, pod, report.OutcomeError, "the Secret kyverno/secret with credentials can't be read"},
		{"of others", strings.NewReplacer("kind: Image", "kind: NamespacedImage", "{name: signed}", "{name: signed, namespace: team}").Replace(imagePolicyText(key, signedValidation, credentials("kyverno/global"))),
			[]string{"global"}, pod, report.OutcomeError, "a namespaced policy may only read its own namespace"},
		{"own", strings.NewReplacer("kind: Image", "kind: NamespacedImage", "{name: signed}", "{name: signed, namespace: team}").Replace(imagePolicyText(key, signedValidation, credentials("team/own"))),
			nil, pod, report.OutcomePass, ""},
		{"rule, own", strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "{name: p", "{namespace: team, name: p").Replace(verifyRule(key, ", imageRegistryCredentials: {secrets: [own]}")),
			nil, pod, report.OutcomePass, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.Compile(t, imageCompiler(t, cluster, base.Images{PullSecrets: test.global, AllowInsecure: true}), test.policy)
			results, outcomes := enginetest.Evaluate(t, p, test.subject)
			if len(results) != 1 || results[0].Outcome != test.outcome || !strings.Contains(results[0].Message, test.message) {
				t.Errorf("%v %+v, want %s with %q", outcomes, results, test.outcome, test.message)
			}
		})
	}
}
