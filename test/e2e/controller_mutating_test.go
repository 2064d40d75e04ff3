// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// mutatingPolicies give ConfigMaps a label: one of Kubernetes' own, one of Kyverno's.
const mutatingPolicies = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  matchConditions: [{name: ours, expression: "object.metadata.name != 'kube-root-ca.crt'"}]
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team-binding}
spec: {policyName: team}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: owner}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    excludeResourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps], resourceNames: [kube-root-ca.crt]}]
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'owner': 'b'}}}"}}]
`

// TestControllerMutatingPolicies: a resource that a policy would change fails until it is changed. What
// kube-apiserver makes of a copy agrees.
func TestControllerMutatingPolicies(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	c.kubectl.Run(t, "create", "namespace", "shop")
	c.kubectl.RunInput(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: shop}}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: done, namespace: shop, labels: {team: a, owner: b}}}", "apply", "-f", "-")
	c.kubectl.RunInput(t, mutatingPolicies, "apply", "-f", "-")
	c.controller.Start(t)
	c.wantResults(t, "shop", map[string]string{
		"team team-binding ConfigMap/old": "fail", "team team-binding ConfigMap/done": "pass",
		"owner  ConfigMap/old": "fail", "owner  ConfigMap/done": "pass",
	})
	// The API server sees new policies after a while.
	waitUntil(t, "kube-apiserver gives a copy the label", func() bool {
		object := testkit.Must(c.client.Resource(configMapKind).Namespace("shop").Get(t.Context(), "old", metav1.GetOptions{}))(t)
		object.SetName("copy")
		object.SetResourceVersion("")
		object.SetUID("")
		mutated, err := c.client.Resource(configMapKind).Namespace("shop").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && mutated.GetLabels()["team"] == "a"
	})
	c.kubectl.Run(t, "-n", "shop", "label", "configmap", "old", "team=a", "owner=b")
	c.wantResults(t, "shop", map[string]string{
		"team team-binding ConfigMap/old": "pass", "team team-binding ConfigMap/done": "pass",
		"owner  ConfigMap/old": "pass", "owner  ConfigMap/done": "pass",
	})
	c.kubectl.Run(t, "delete", "mutatingadmissionpolicybinding", "team-binding")
	c.wantResults(t, "shop", map[string]string{"owner  ConfigMap/old": "pass", "owner  ConfigMap/done": "pass"})
}

// signedImages is an image registry with one image that is signed and one that is not.
type signedImages struct {
	signed, unsigned, key string
}

// startImages serves images as registries do, and signs one as cosign does.
func startImages(t *testing.T) signedImages {
	t.Helper()
	private := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	public := testkit.Must(x509.MarshalPKIXPublicKey(private.Public()))(t)
	stored := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := stored[r.URL.Path]
		switch {
		case r.URL.Path == "/v2/":
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", digestOf(body))
			_, _ = w.Write(body)
		}
	}))
	t.Cleanup(server.Close)
	blob := func(content []byte) map[string]any {
		stored["/v2/shop/app/blobs/"+digestOf(content)] = content
		return map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digestOf(content), "size": len(content)}
	}
	push := func(tag, config string, layers ...any) string {
		manifest := asJSON(t, map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": blob([]byte(config)), "layers": append([]any{}, layers...),
		})
		stored["/v2/shop/app/manifests/"+digestOf(manifest)], stored["/v2/shop/app/manifests/"+tag] = manifest, manifest
		return digestOf(manifest)
	}
	const config = `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"config":{"User":"%s"}}`
	signed, unsigned := push("signed", fmt.Sprintf(config, "a")), push("unsigned", fmt.Sprintf(config, "b"))
	message := asJSON(t, map[string]any{"critical": map[string]any{
		"identity": map[string]any{"docker-reference": "shop/app"}, "image": map[string]any{"docker-manifest-digest": signed}, "type": "cosign container image signature",
	}})
	hash := sha256.Sum256(message)
	signature := testkit.Must(ecdsa.SignASN1(rand.Reader, private, hash[:]))(t)
	layer := blob(message)
	layer["mediaType"] = "application/vnd.dev.cosign.simplesigning.v1+json"
	layer["annotations"] = map[string]any{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
	push(strings.Replace(signed, ":", "-", 1)+".sig", fmt.Sprintf(config, "c"), layer)
	image := strings.TrimPrefix(server.URL, "http://") + "/shop/app@"
	return signedImages{image + signed, image + unsigned, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	return testkit.Must(json.Marshal(value))(t)
}

// TestControllerImages: signatures are verified in a registry, by both kinds of policies.
func TestControllerImages(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	images := startImages(t)
	c.kubectl.Run(t, "create", "namespace", "shop")
	for name, image := range map[string]string{"signed": images.signed, "unsigned": images.unsigned} {
		c.kubectl.RunInput(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: shop}, spec: {selector: {matchLabels: {a: b}},
 template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: %q}]}}}}`, name, image), "apply", "-f", "-")
	}
	c.kubectl.RunInput(t, fmt.Sprintf(`
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: images}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchImageReferences: [{glob: "*"}]
  attestors: [{name: key, cosign: {key: {data: %[1]q}, ctlog: {insecureIgnoreTlog: true, insecureIgnoreSCT: true}}}]
  validations: [{expression: "images.containers.all(i, verifyImageSignatures(i, [attestors.key]) > 0)", message: sign it}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: signatures}
spec:
  rules:
  - name: key
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages:
    - imageReferences: ["*"]
      mutateDigest: false
      attestors: [{entries: [{keys: {publicKeys: %[1]q, rekor: {ignoreTlog: true}, ctlog: {ignoreSCT: true}}}]}]
`, images.key), "apply", "-f", "-")
	c.controller = harness.NewController(t, c.cluster.Kubeconfig(), "--leader-elect=false", "--context-cache-allow-ranges=127.0.0.0/8")
	c.controller.Start(t)
	c.wantResults(t, "shop", map[string]string{
		"images images Deployment/signed": "pass", "images images Deployment/unsigned": "fail",
		"signatures autogen-key Deployment/signed": "pass", "signatures autogen-key Deployment/unsigned": "fail",
	})
	if asked := c.controller.Metric(t, "docket_controller_registry_requests_total", map[string]string{"result": "ok"}); asked == 0 {
		t.Error("no request to the registry is counted")
	}
}
