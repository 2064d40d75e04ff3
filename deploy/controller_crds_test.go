// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/up"
)

// upServer is a `docket up` in this process.
type upServer struct {
	kubeconfig string
	dynamic    dynamic.Interface
	discovery  discovery.CachedDiscoveryInterface
	mapper     *restmapper.DeferredDiscoveryRESTMapper
}

func startUp(t *testing.T) *upServer {
	t.Helper()
	options := testkit.Must(up.NewOptions())(t)
	options.Dir, options.Listen = filepath.Join(t.TempDir(), "state"), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	reader, writer := io.Pipe()
	go func() {
		err := options.Run(ctx, writer, writer, clock.RealClock{}, time.Now())
		ended <- err
		_ = writer.CloseWithError(io.EOF) // It never fails.
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("docket up: %v", err)
		}
	})
	waitForReady(t, reader)
	u := &upServer{kubeconfig: filepath.Join(options.Dir, statedir.KubeconfigFile)}
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", u.kubeconfig))(t)
	config.QPS = -1
	u.dynamic = testkit.Must(dynamic.NewForConfig(config))(t)
	client := testkit.Must(discovery.NewDiscoveryClientForConfig(config))(t)
	u.discovery = memory.NewMemCacheClient(client)
	u.mapper = restmapper.NewDeferredDiscoveryRESTMapper(u.discovery)
	return u
}

// waitForReady reads what a server prints until it is ready, and drops the rest.
func waitForReady(t *testing.T, output io.Reader) {
	t.Helper()
	ready := make(chan string, 1)
	go func() {
		var text strings.Builder
		buffer := make([]byte, 4096)
		for !strings.Contains(text.String(), "is ready at") {
			n, err := output.Read(buffer)
			text.Write(buffer[:n])
			if err != nil {
				ready <- text.String()
				return
			}
		}
		close(ready)
		_, _ = io.Copy(io.Discard, output) // Ends with the server.
	}()
	if text, failed := testkit.Receive(t, "docket up is ready", ready); failed {
		t.Fatalf("docket up ended: %s", text)
	}
}

// create makes an object, once its kind is served.
func (u *upServer) create(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	resource, err := u.resource(ctx, kind)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = u.dynamic.Resource(resource)
	if namespace := object.GetNamespace(); namespace != "" {
		client = u.dynamic.Resource(resource).Namespace(namespace)
	}
	got, err := client.Create(ctx, object, metav1.CreateOptions{})
	if err == nil {
		object.Object = got.Object
	}
	return err
}

func (u *upServer) resource(ctx context.Context, kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	var found schema.GroupVersionResource
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		mapping, err := u.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			u.mapper.Reset()
			return false, nil //nolint:nilerr // A definition that was just made is not served yet.
		}
		found = mapping.Resource
		// It is in discovery a moment before it answers.
		_, err = u.dynamic.Resource(found).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	})
	if err != nil {
		return found, fmt.Errorf("%s is not served: %w", kind, err)
	}
	return found, nil
}

func parseOne(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	all := parse(t, []byte(manifest))
	if len(all) != 1 {
		t.Fatalf("%d objects in %s", len(all), manifest)
	}
	for _, object := range all {
		return object
	}
	return nil
}

// crds returns the definitions that a user would apply.
func crds(t *testing.T) objects {
	t.Helper()
	all := kustomize(t, "controller/crds")
	if len(all) != 12 {
		t.Fatalf("%d definitions", len(all))
	}
	return all
}

// somePolicies are one of each kind and version, with fields that the definitions of Kyverno's
// kinds don't know. Spaces at the end tell keys apart.
func somePolicies() map[string]string {
	const rules = `{rules: [{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {spec: {x: "?*"}}}, unknown: {deep: [x]}}], unknown: x}`
	const cel = `{matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: "true", unknown: x}], unknown: x}`
	const images = `{matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, matchImageReferences: [{glob: "*"}], attestors: [{name: a, cosign: {key: {data: b}}, unknown: x}], validations: [{expression: "true"}], unknown: x}`
	const mutating = `{matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[]"}, unknown: x}], unknown: x}`
	const exception = `{exceptions: [{policyName: a, ruleNames: [a]}], match: {any: [{resources: {kinds: [Pod]}}]}, unknown: x}`
	const global = `{apiCall: {urlPath: /api/v1/pods, refreshInterval: 1m, unknown: x}, projections: [{name: a, jmesPath: b, unknown: x}], unknown: x}`
	const cached = `{allowNamespacedPolicies: true, projections: [{name: a, jmesPath: b}], indexes: [{name: c, jmesPath: d}], resource: {group: apis/networking.k8s.io, version: v1, kind: ingresses, namespace: apps, labelSelector: a=b, fieldSelector: metadata.name=c, filter: d}}`
	const called = `{apiCall: {url: "https://svc.kyverno/example", method: POST, data: [{key: a, value: {b: [1]}}], headers: [{key: a, value: b}], caBundle: x, refreshIntervalSeconds: 10}}`
	const celException = `{policyRefs: [{kind: ValidatingPolicy, name: a}], matchConditions: [{name: a, expression: "true"}], unknown: x}`
	return map[string]string{
		"kyverno.io/v1 ClusterPolicy": rules, "kyverno.io/v2beta1 ClusterPolicy": rules,
		"kyverno.io/v1 Policy in": rules, "kyverno.io/v2beta1 Policy in": rules,
		"kyverno.io/v2 PolicyException in": exception, "kyverno.io/v2beta1 PolicyException in": exception,
		"policies.kyverno.io/v1 ValidatingPolicy": cel, "policies.kyverno.io/v1beta1 ValidatingPolicy": cel, "policies.kyverno.io/v1alpha1 ValidatingPolicy": cel,
		"policies.kyverno.io/v1 NamespacedValidatingPolicy in": cel, "policies.kyverno.io/v1beta1 NamespacedValidatingPolicy in": cel,
		"policies.kyverno.io/v1 ImageValidatingPolicy": images, "policies.kyverno.io/v1beta1 ImageValidatingPolicy": images, "policies.kyverno.io/v1alpha1 ImageValidatingPolicy": images,
		"policies.kyverno.io/v1 NamespacedImageValidatingPolicy in": images, "policies.kyverno.io/v1beta1 NamespacedImageValidatingPolicy in": images,
		"policies.kyverno.io/v1 MutatingPolicy": mutating, "policies.kyverno.io/v1beta1 MutatingPolicy": mutating, "policies.kyverno.io/v1alpha1 MutatingPolicy": mutating,
		"policies.kyverno.io/v1 NamespacedMutatingPolicy in": mutating, "policies.kyverno.io/v1beta1 NamespacedMutatingPolicy in": mutating,
		"policies.kyverno.io/v1 PolicyException in": celException, "policies.kyverno.io/v1beta1 PolicyException in": celException,
		"policies.kyverno.io/v1alpha1 PolicyException in": celException,
		"kyverno.io/v2 GlobalContextEntry":                global, "kyverno.io/v2beta1 GlobalContextEntry": global, "kyverno.io/v2alpha1 GlobalContextEntry": global,
		"kyverno.io/v2alpha1 CachedContextEntry": cached, "kyverno.io/v2alpha1 CachedContextEntry ": called,
	}
}

// TestControllerCRDs applies the definitions to `docket up` and makes policies.
func TestControllerCRDs(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for key, crd := range crds(t) {
		if err := u.create(t.Context(), crd); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	number := 0
	for what, spec := range somePolicies() {
		number++
		object := policyObject(t, what, spec, fmt.Sprintf("p-%d", number))
		want := asStored(t, object.Object["spec"])
		if err := u.create(t.Context(), object); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got, _ := object.Object["spec"].(map[string]any)
		for _, added := range []string{"background", "admission"} {
			delete(got, added)
		}
		if diff := gocmp.Diff(want, any(got)); diff != "" {
			t.Errorf("%s (-given +kept):\n%s", what, diff)
		}
	}
	for what, spec := range map[string]string{
		"kyverno.io/v1 ClusterPolicy":                `{background: "yes"}`,
		"kyverno.io/v1 ClusterPolicy ":               `{rules: [{name: a, validate: {message: no}}]}`,
		"kyverno.io/v1 ClusterPolicy  ":              `{rules: [{name: a, validate: {podSecurity: {version: 1.24}}}]}`,
		"policies.kyverno.io/v1 MutatingPolicy":      `{matchConstraints: {resourceRules: [{apiGroups: [no]}]}}`,
		"kyverno.io/v1 Policy in":                    `{rules: {name: a}}`,
		"policies.kyverno.io/v1 ValidatingPolicy":    `{validations: [{message: no expression}]}`,
		"kyverno.io/v2 PolicyException in":           `{match: {}}`,
		"kyverno.io/v2alpha1 CachedContextEntry":     `{}`,
		"kyverno.io/v2alpha1 CachedContextEntry ":    `{resource: {kind: pods}, apiCall: {url: "https://x"}}`,
		"kyverno.io/v2alpha1 CachedContextEntry  ":   `{resource: {group: apps}}`,
		"kyverno.io/v2alpha1 CachedContextEntry   ":  `{apiCall: {url: "https://x", refreshIntervalSeconds: 0}}`,
		"kyverno.io/v2alpha1 CachedContextEntry\t":   `{apiCall: {url: "https://x", data: [{key: a, value: b}]}}`,
		"kyverno.io/v2alpha1 CachedContextEntry\t ":  `{apiCall: {url: "https://x", urlPath: /api}}`,
		"kyverno.io/v2alpha1 CachedContextEntry\t\t": `{apiCall: {url: "https://x"}, indexes: [{name: a, jmesPath: b}]}`,
	} {
		if err := u.create(t.Context(), policyObject(t, what, spec, "wrong")); !apierrors.IsInvalid(err) {
			t.Errorf("%s %s: %v, want it to be refused", what, spec, err)
		}
	}
	t.Run("short names", func(t *testing.T) { checkShortNames(t, u) })
	t.Run("examples", func(t *testing.T) { applyExamples(t, u) })
	t.Run("the chart leaves them alone", func(t *testing.T) { checkForeignCRDs(t, u) })
}

// asStored returns a value with the types of numbers that the API has.
func asStored(t *testing.T, value any) any {
	t.Helper()
	data := testkit.Must(json.Marshal(value))(t)
	var stored any
	testkit.NoError(t, utiljson.Unmarshal(data, &stored))
	return stored
}

// policyObject makes an object of "group/version Kind" and, if a third word follows, in a namespace.
func policyObject(t *testing.T, what, spec, name string) *unstructured.Unstructured {
	t.Helper()
	words := strings.Fields(what)
	object := parseOne(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}, spec: %s}", words[0], words[1], name, spec))
	if len(words) > 2 {
		object.SetNamespace("default")
	}
	return object
}

// checkShortNames compares with what users of Kyverno type, and the version that is preferred.
func checkShortNames(t *testing.T, u *upServer) {
	u.discovery.Invalidate()
	lists := testkit.Must(u.discovery.ServerPreferredResources())(t)
	got := map[string]string{}
	for _, list := range lists {
		if !strings.Contains(list.GroupVersion, "kyverno.io/") || strings.HasPrefix(list.GroupVersion, "reports.") {
			continue
		}
		for i := range list.APIResources {
			got[list.GroupVersion+"/"+list.APIResources[i].Name] = strings.Join(list.APIResources[i].ShortNames, " ")
		}
	}
	want := map[string]string{
		"kyverno.io/v1/clusterpolicies": "cpol", "kyverno.io/v1/policies": "pol", "kyverno.io/v2/policyexceptions": "polex",
		"policies.kyverno.io/v1/validatingpolicies": "vpol", "policies.kyverno.io/v1/namespacedvalidatingpolicies": "nvpol",
		"policies.kyverno.io/v1/imagevalidatingpolicies": "ivpol", "policies.kyverno.io/v1/namespacedimagevalidatingpolicies": "nivpol",
		"policies.kyverno.io/v1/mutatingpolicies": "mpol", "policies.kyverno.io/v1/namespacedmutatingpolicies": "nmpol",
		"policies.kyverno.io/v1/policyexceptions": "", "kyverno.io/v2/globalcontextentries": "gctxentry", "kyverno.io/v2alpha1/cachedcontextentries": "cce",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("short names (-want +got):\n%s", diff)
	}
}

// applyExamples makes the objects of examples/ in the order of `kubectl apply -f`: that of the
// names of the files.
func applyExamples(t *testing.T, u *upServer) {
	found := 0
	for _, folder := range []string{"policies", "app"} {
		files, err := filepath.Glob(filepath.Join(root, "examples", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", folder, files, err)
		}
		slices.Sort(files)
		for _, file := range files {
			for _, object := range documents(t, file) {
				if err := u.create(t.Context(), object); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				found++
			}
		}
	}
	if found < 12 {
		t.Errorf("%d objects only", found)
	}
}

// documents returns the objects of a file in their order.
func documents(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	data := testkit.Must(os.ReadFile(path))(t)
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(string(data), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, object)
	}
	return all
}

// checkForeignCRDs lets the chart install its definitions where somebody else's are.
func checkForeignCRDs(t *testing.T, u *upServer) {
	path := testenv.Program(t, helmTool)
	_, err := command(t.Context(), path, "template", "docket", "chart", "--namespace", "default", "--kubeconfig", u.kubeconfig,
		"--dry-run=server", "--set", "controller.enabled=true,controller.crds.install=true")
	if err == nil || !strings.Contains(err.Error(), "set the value to false") {
		t.Errorf("%v, want a refusal that says what to do", err)
	}
}

// TestControllerCRDsOfChart compares the definitions of the chart with those of kustomize.
func TestControllerCRDsOfChart(t *testing.T) {
	t.Parallel()
	rendered := helm(t, "reports", "controller.enabled=true", "controller.crds.install=true")
	for key, want := range crds(t) {
		got := rendered[key]
		if got == nil {
			t.Errorf("the chart has no %s", key)
			continue
		}
		if got.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes when the chart goes, and all policies with it", key)
		}
		if diff := gocmp.Diff(normal(want), normal(got)); diff != "" {
			t.Errorf("%s: kustomize (-) and Helm (+) differ:\n%s", key, diff)
		}
	}
}
