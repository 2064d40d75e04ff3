// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/registry"
	"github.com/docket-project/docket/controller/internal/policy/registry/registrytest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// imageCompiler asks registries, and reads Secrets of the cluster if there is one.
func imageCompiler(tb testing.TB, cluster kubernetes.Interface, images base.Images) *Compiler {
	tb.Helper()
	if images.Registries == nil {
		images.Registries = registry.NewClient(registry.Config{})
	}
	config := base.Config{Images: &images, ExceptionNamespaces: []string{policy.AllNamespaces}, Timeout: 5 * time.Minute}
	if cluster != nil {
		config.Kubernetes, config.Client, config.Mapper = cluster, dynamicfake.NewSimpleDynamicClient(scheme.Scheme), meta.NewDefaultRESTMapper(nil)
	}
	return testkit.Must(NewCompiler(config))(tb)
}

const (
	signedMessage = "the image is not signed"
	predicateType = "https://example.com/scan/v1"
	// inlineValidation demands a signature, attestedValidation a statement about each image.
	signedValidation   = `{expression: "images.containers.all(i, verifyImageSignatures(i, [attestors.key]) > 0)", message: ` + signedMessage + `}`
	attestedValidation = `{expression: "images.containers.all(i, verifyAttestationSignatures(i, attestations.scan, [attestors.key]) > 0 && extractPayload(i, attestations.scan).predicate.clean == true)", message: not scanned}`
)

// imagePolicyText is a policy about all images of Pods.
func imagePolicyText(key *registrytest.Key, validation, more string) string {
	return fmt.Sprintf(`
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: signed}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchImageReferences: [{glob: "*"}]
  attestors: [{name: key, cosign: {key: {data: %q}, ctlog: {insecureIgnoreTlog: true, insecureIgnoreSCT: true}}}]
  attestations: [{name: scan, intoto: {type: %q}}]
  validations: [%s]
%s`, key.PEM, predicateType, validation, more)
}

// verifyRule is the same as a rule of a ClusterPolicy.
func verifyRule(key *registrytest.Key, more string) string {
	return enginetest.ClusterPolicy(enginetest.PodRule(fmt.Sprintf(`verifyImages: [{imageReferences: ["*"], attestors: [{entries: [{keys: {publicKeys: %q, rekor: {ignoreTlog: true}, ctlog: {ignoreSCT: true}}}]}]%s}]`, key.PEM, more)))
}

// podOf has a container for each image.
func podOf(tb testing.TB, images ...string) policy.Subject {
	tb.Helper()
	containers := make([]string, len(images))
	for i, image := range images {
		containers[i] = fmt.Sprintf("{name: c%d, image: %q}", i, image)
	}
	return enginetest.Subject(tb, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {containers: ["+strings.Join(containers, ", ")+"]}}")
}

// TestImagesAsInKyverno compares results, with their messages, with those of the scanner of Kyverno's
// reports controller.
func TestImagesAsInKyverno(t *testing.T) {
	images := registrytest.New(t)
	key, other := registrytest.NewKey(t), registrytest.NewKey(t)
	signed, unsigned, foreign := images.Push(t, "signed"), images.Push(t, "unsigned"), images.Push(t, "foreign")
	images.Sign(t, signed, key)
	images.Sign(t, foreign, other)
	images.Attest(t, signed, key, predicateType, map[string]any{"clean": true})
	images.Attest(t, foreign, other, predicateType, map[string]any{"clean": true})
	dirty := images.Push(t, "dirty")
	images.Sign(t, dirty, key)
	images.Attest(t, dirty, key, predicateType, map[string]any{"clean": false})
	c := imageCompiler(t, nil, base.Images{})
	statement := fmt.Sprintf(`, attestations: [{type: %q, attestors: [{entries: [{keys: {publicKeys: %q, rekor: {ignoreTlog: true}, ctlog: {ignoreSCT: true}}}]}], conditions: [{all: [{key: "{{ clean }}", operator: Equals, value: true}]}]}]`, predicateType, key.PEM)
	tag, _, _ := strings.Cut(signed, "@")
	for _, test := range []struct {
		name, policy string
		subject      policy.Subject
		outcome      report.Outcome
	}{
		{"signed", imagePolicyText(key, signedValidation, ""), podOf(t, signed), report.OutcomePass},
		{"unsigned", imagePolicyText(key, signedValidation, ""), podOf(t, unsigned), report.OutcomeFail},
		{"wrong key", imagePolicyText(key, signedValidation, ""), podOf(t, foreign), report.OutcomeFail},
		{"one of two", imagePolicyText(key, signedValidation, ""), podOf(t, signed, unsigned), report.OutcomeFail},
		{"no digest", imagePolicyText(key, signedValidation, ""), podOf(t, tag), report.OutcomeFail},
		{"tag", imagePolicyText(key, signedValidation, "  validationConfigurations: {verifyDigest: false}"), podOf(t, tag), report.OutcomePass},
		{"nobody verifies", imagePolicyText(key, `{expression: "true"}`, ""), podOf(t, signed), report.OutcomeFail},
		{"required false", imagePolicyText(key, `{expression: "true"}`, "  validationConfigurations: {required: false}"), podOf(t, signed), report.OutcomePass},
		// Kyverno's verifier wants a transparency log for statements, whatever the policy says.
		{"attested", imagePolicyText(key, attestedValidation, ""), podOf(t, signed), report.OutcomeFail},
		{"attested otherwise", imagePolicyText(key, attestedValidation, ""), podOf(t, dirty), report.OutcomeFail},
		{"not attested", imagePolicyText(key, attestedValidation, ""), podOf(t, unsigned), report.OutcomeFail},
		{"attested by others", imagePolicyText(key, attestedValidation, ""), podOf(t, foreign), report.OutcomeFail},
		{"no such image", imagePolicyText(key, signedValidation, ""), podOf(t, strings.Replace(signed, "/signed:", "/absent:", 1)), report.OutcomeError},
		{"does not match", imagePolicyText(key, signedValidation, `  matchConditions: [{name: only, expression: "object.metadata.name == 'other'"}]`), podOf(t, unsigned), ""},
		{"audit annotation", imagePolicyText(key, signedValidation, `  auditAnnotations: [{key: pod, valueExpression: "'pod ' + string(object.metadata.name)"}]`), podOf(t, signed), report.OutcomePass},
		{"rule, signed", verifyRule(key, ""), podOf(t, signed), report.OutcomePass},
		{"rule, unsigned", verifyRule(key, ""), podOf(t, unsigned), report.OutcomeFail},
		{"rule, wrong key", verifyRule(key, ""), podOf(t, foreign), report.OutcomeFail},
		{"rule, tag", verifyRule(key, ""), podOf(t, tag), report.OutcomePass},
		{"rule, two images", verifyRule(key, ""), podOf(t, signed, unsigned), report.OutcomeFail},
		{"rule, attested", verifyRule(key, statement), podOf(t, signed), report.OutcomePass},
		{"rule, attested otherwise", verifyRule(key, statement), podOf(t, dirty), report.OutcomeFail},
		{"rule, not attested", verifyRule(key, statement), podOf(t, foreign), report.OutcomeFail},
		{"rule, no image of it", verifyRule(key, `, skipImageReferences: ["*"]`), podOf(t, unsigned), report.OutcomeSkip},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := enginetest.Compile(t, c, test.policy)
			// Twice: the second time nothing is compiled, and nothing asked.
			got := scanned(t, p, test.subject)
			enginetest.WantEqual(t, "the same once more", got, scanned(t, p, test.subject))
			theirs := kyvernoScan(t, test.policy, test.subject, nil)
			for i := range theirs { // What a registry says beside the code is not passed on.
				theirs[i] = strings.TrimSuffix(theirs[i], "Unknown name")
			}
			enginetest.WantEqual(t, "Kyverno's scan and ours", theirs, got)
			if test.outcome == "" && len(got) > 0 || test.outcome != "" && !strings.Contains(strings.Join(got, "\n"), ": "+string(test.outcome)+": ") {
				t.Errorf("%q, want %q", got, test.outcome)
			}
		})
	}
}

// TestImagesOfWorkloads: policies for Pods are about the templates in other resources, too.
func TestImagesOfWorkloads(t *testing.T) {
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	signed, unsigned := images.Push(t, "signed"), images.Push(t, "unsigned")
	images.Sign(t, signed, key)
	c := imageCompiler(t, nil, base.Images{})
	text := imagePolicyText(key, signedValidation, "")
	p := enginetest.Compile(t, c, text)
	for image, outcome := range map[string]string{signed: "pass", unsigned: "fail"} {
		deployment := enginetest.Subject(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team}, spec: {template: {spec: {containers: [{name: c, image: %q}]}}}}`, image))
		enginetest.Want(t, p, deployment, "signed:"+outcome)
		enginetest.WantEqual(t, "Kyverno's scan and ours", kyvernoScan(t, text, deployment, nil), scanned(t, p, deployment))
	}
}

// TestSameImageTwice: Kyverno's own cache of images locks itself up when an image occurs twice before
// another one.
func TestSameImageTwice(t *testing.T) {
	t.Parallel()
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	signed, second := images.Push(t, "signed"), images.Push(t, "second")
	images.Sign(t, signed, key)
	images.Sign(t, second, key)
	p := enginetest.Compile(t, imageCompiler(t, nil, base.Images{}), imagePolicyText(key, signedValidation, ""))
	enginetest.Want(t, p, podOf(t, signed, signed, second), "signed:pass")
}

// TestImageMetadata: policies of both kinds see the manifest and the configuration of images.
func TestImageMetadata(t *testing.T) {
	t.Parallel()
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	signed := images.Push(t, "signed")
	images.Sign(t, signed, key)
	c := imageCompiler(t, nil, base.Images{})
	for layers, outcome := range map[int]string{1: "pass", 2: "fail"} {
		metadata := fmt.Sprintf("size(image.GetMetadata(i).manifest.layers) == %d", layers)
		enginetest.Want(t, enginetest.Compile(t, c, imagePolicyText(key, `{expression: "images.containers.all(i, verifyImageSignatures(i, [attestors.key]) > 0 && `+metadata+`)"}`, "")), podOf(t, signed), "signed:"+outcome)
		validating := "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec:\n" +
			"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n" +
			`  validations: [{expression: "object.spec.containers.map(c, string(c.image)).all(i, ` + metadata + `)"}]`
		enginetest.Want(t, enginetest.Compile(t, c, validating), podOf(t, signed), ":"+outcome)
	}
}

// TestImageExceptions: an exception gives skip.
func TestImageExceptions(t *testing.T) {
	t.Parallel()
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	unsigned := images.Push(t, "unsigned")
	p := enginetest.Compile(t, imageCompiler(t, nil, base.Images{}), imagePolicyText(key, signedValidation, ""),
		"{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: e, namespace: team}, spec: {policyRefs: [{name: signed, kind: ImageValidatingPolicy}], matchConditions: [{name: only, expression: \"object.metadata.name == 'p'\"}]}}")
	results := enginetest.Want(t, p, podOf(t, unsigned), "exception:skip")
	enginetest.WantEqual(t, "exceptions", map[string]string{"exceptions": "e"}, results[0].Properties)
}

// TestRegistryTrouble: what can't be known is an error, not a failure: the libraries that verify
// signatures know no difference.
func TestRegistryTrouble(t *testing.T) {
	t.Parallel()
	key := registrytest.NewKey(t)
	for name, policyText := range map[string]string{"policy": imagePolicyText(key, signedValidation, ""), "rule": verifyRule(key, "")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			images := registrytest.New(t)
			signed := images.Push(t, "signed")
			images.Sign(t, signed, key)
			only := func(status int, part string) func(http.ResponseWriter, *http.Request) bool {
				return func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, part) {
						return false
					}
					w.WriteHeader(status)
					return true
				}
			}
			for what, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
				"fails": only(http.StatusBadGateway, "/"), "fails about signatures": only(http.StatusServiceUnavailable, ".sig"),
				"too many": only(http.StatusTooManyRequests, ".sig"), "forbidden": only(http.StatusForbidden, ".sig"),
			} {
				images.Answer(answer)
				wantUndecided(t, enginetest.Compile(t, imageCompiler(t, nil, base.Images{}), policyText), podOf(t, signed), what)
			}
			images.Answer(nil)
			client := registry.NewClient(registry.Config{Age: time.Millisecond, Timeout: time.Second})
			p := enginetest.Compile(t, imageCompiler(t, nil, base.Images{Registries: client}), policyText)
			images.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
				<-r.Context().Done() // It never answers.
				return true
			})
			wantUndecided(t, p, podOf(t, signed), "never answers")
			images.Close()
			wantUndecided(t, p, podOf(t, signed), "away")
		})
	}
}

func wantUndecided(t *testing.T, p policy.Policy, s policy.Subject, what string) {
	t.Helper()
	results, outcomes := enginetest.Evaluate(t, p, s)
	if len(results) != 1 || results[0].Outcome != report.OutcomeError || !strings.Contains(results[0].Message, "the image can't be verified: ") {
		t.Errorf("%s: %v %+v, want one error", what, outcomes, results)
	}
}

// TestRegistryIsNotAskedTwice: many evaluations of one image ask as much as one.
func TestRegistryIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	key := registrytest.NewKey(t)
	for name, policyText := range map[string]string{"policy": imagePolicyText(key, signedValidation, ""), "rule": verifyRule(key, "")} {
		images := registrytest.New(t)
		signed := images.Push(t, "signed")
		images.Sign(t, signed, key)
		p := enginetest.Compile(t, imageCompiler(t, nil, base.Images{}), policyText)
		images.Asked()
		enginetest.Evaluate(t, p, podOf(t, signed))
		if len(images.Asked()) == 0 {
			t.Errorf("%s: nothing is asked", name)
		}
		for range 20 {
			enginetest.Evaluate(t, p, podOf(t, signed))
		}
		if again := images.Asked(); len(again) > 0 {
			t.Errorf("%s: asks %v once more", name, again)
		}
	}
}

// TestAnswersAreNotShared: a request without credentials does not get answers to one with credentials.
func TestAnswersAreNotShared(t *testing.T) {
	t.Parallel()
	images := registrytest.New(t)
	key := registrytest.NewKey(t)
	images.Protect("user", "password")
	signed := images.Push(t, "signed")
	images.Sign(t, signed, key)
	c := imageCompiler(t, fake.NewClientset(pullSecret("kyverno", "global", images.Host, "password")), base.Images{})
	enginetest.Want(t, enginetest.Compile(t, c, imagePolicyText(key, signedValidation, "  credentials: {secrets: [global]}")), podOf(t, signed), "signed:pass")
	wantUndecided(t, enginetest.Compile(t, c, imagePolicyText(key, signedValidation, "")), podOf(t, signed), "without credentials")
}

// TestImagesWithoutRegistries: nothing is evaluated, and that is said.
func TestImagesWithoutRegistries(t *testing.T) {
	t.Parallel()
	key := registrytest.NewKey(t)
	c := compiler(t)
	for _, text := range []string{imagePolicyText(key, signedValidation, ""), verifyRule(key, "")} {
		p := enginetest.Compile(t, c, text)
		enginetest.Want(t, p, podOf(t, "example.com/a:b"))
		if len(p.LeftOut()) != 1 || !strings.Contains(p.LeftOut()[0], "images are not verified: image registries are not asked; --registry asks them") {
			t.Errorf("%s: left out: %v", p.Identity(), p.LeftOut())
		}
	}
}

// TestImagesAtAdmission: requests don't wait for registries.
func TestImagesAtAdmission(t *testing.T) {
	t.Parallel()
	key := registrytest.NewKey(t)
	c := imageCompiler(t, nil, base.Images{})
	for _, text := range []string{imagePolicyText(key, signedValidation, ""), verifyRule(key, "")} {
		if admission := enginetest.Compile(t, c, text).Admission(); admission.Enabled || len(admission.Operations) > 0 {
			t.Errorf("%+v", admission)
		}
	}
}

// TestKeysOfNamespacedPolicies: what a policy in a namespace verifies with is in the policy.
func TestKeysOfNamespacedPolicies(t *testing.T) {
	t.Parallel()
	c := imageCompiler(t, nil, base.Images{})
	namespaced := strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "{name: p}", "{name: p, namespace: team}")
	for key, allowed := range map[string]bool{
		`keys: {publicKeys: "k8s://kube-system/keys", rekor: {ignoreTlog: true}}`:                                     false,
		`keys: {kms: "awskms:///alias/a", rekor: {ignoreTlog: true}}`:                                                 false,
		`keys: {secret: {name: a, namespace: b}, rekor: {ignoreTlog: true}}`:                                          false,
		`keys: {publicKeys: "/etc/passwd", rekor: {ignoreTlog: true}}`:                                                false,
		fmt.Sprintf(`keys: {publicKeys: %q, rekor: {url: "http://10.0.0.1"}}`, registrytest.NewKey(t).PEM):            false,
		fmt.Sprintf(`keys: {publicKeys: %q, rekor: {url: "https://rekor.sigstore.dev"}}`, registrytest.NewKey(t).PEM): true,
	} {
		text := namespaced.Replace(enginetest.ClusterPolicy(enginetest.PodRule(`verifyImages: [{imageReferences: ["*"], attestors: [{entries: [{` + key + `}]}]}]`)))
		problem := c.Compile(enginetest.Object(t, text), nil).Problem()
		if (problem == nil) != allowed || !allowed && !strings.Contains(problem.Error(), "keys and certificates in itself") {
			t.Errorf("%s: %v", key, problem)
		}
	}
}

// BenchmarkImages evaluates a policy for an image of which the registry's answers are known.
func BenchmarkImages(b *testing.B) {
	images := registrytest.New(b)
	key := registrytest.NewKey(b)
	signed := images.Push(b, "signed")
	images.Sign(b, signed, key)
	c := imageCompiler(b, nil, base.Images{})
	pod := podOf(b, signed)
	for name, text := range map[string]string{"policy": imagePolicyText(key, signedValidation, ""), "rule": verifyRule(key, "")} {
		p := enginetest.Compile(b, c, text)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				enginetest.Evaluate(b, p, pod)
			}
		})
		b.Run(name+" of Kyverno", func(b *testing.B) {
			for b.Loop() {
				kyvernoScan(b, text, pod, nil)
			}
		})
	}
}
